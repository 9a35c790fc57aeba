// The fuzz targets on their seeds and on variants of these, without libFuzzer.
#include "tests/fuzz/fuzz.h"

#include "tests/catch.h"

#include <heed/files/file.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

using namespace heed;

namespace {

using Target = void (*)(std::string_view);
const std::map<std::string, Target> targets{{"babi", fuzz::babi},         {"dump", fuzz::dump},
                                            {"gguf", fuzz::gguf},         {"hugging_face", fuzz::hugging_face},
                                            {"jsonl", fuzz::jsonl},       {"model", fuzz::model},
                                            {"numpy", fuzz::numpy},       {"safetensors", fuzz::safetensors},
                                            {"settings", fuzz::settings}, {"tokenizer", fuzz::tokenizer},
                                            {"utf8", fuzz::utf8},         {"vocabulary", fuzz::vocabulary},
                                            {"written", fuzz::written},   {"yaml", fuzz::yaml}};

// Changes 1 to 4 places: replaces, removes, repeats or inserts a few bytes.
std::string variant(std::string text, std::mt19937& random) {
  const auto below = [&](std::size_t end) { return std::uniform_int_distribution<std::size_t>(0, end - 1)(random); };
  for (std::size_t changes = 1 + below(4); changes > 0 && !text.empty(); --changes) {
    const std::size_t place = below(text.size()), length = 1 + below(8);
    switch (below(4)) {
      case 0:
        text[place] = static_cast<char>(below(256));
        break;
      case 1:
        text.erase(place, length);
        break;
      case 2:
        text.insert(place, text.substr(below(text.size()), length));
        break;
      default:
        text.insert(place, 1, "\"\\{}[],:-09eE \n\t\x00\x7f\x80\xff"[below(20)]);
    }
  }
  return text;
}

}  // namespace

TEST_CASE("Each fuzz target accepts or rejects its seeds and variants of them") {
  std::size_t directories = 0;
  for (const auto& directory : std::filesystem::directory_iterator("tests/fuzz/seeds")) {
    ++directories;
    const std::string name = directory.path().filename().string();
    const Target target = targets.at(name);
    std::vector<std::filesystem::path> files;
    for (const auto& file : std::filesystem::directory_iterator(directory)) files.push_back(file.path());
    std::sort(files.begin(), files.end());
    for (const std::filesystem::path& file : files) {
      CAPTURE(file.string());
      const std::string seed = read_file(file);
      CHECK_NOTHROW(target(seed));
      std::mt19937 random(1);
      for (int i = 0; i < 300; ++i) {
        const std::string input = variant(seed, random);
        CAPTURE(i, input);
        CHECK_NOTHROW(target(input));
      }
    }
  }
  CHECK(directories == targets.size());
}
