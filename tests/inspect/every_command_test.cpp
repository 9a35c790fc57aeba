#include "run/internal/program.h"
#include "tests/catch.h"
#include "tests/inspect/inspected_run.h"
#include "tests/inspect/pretrained_model.h"
#include "tests/scratch.h"
#include "tokenizers/internal/json.h"

#include <heed/files/file.h>
#include <heed/formats/datasets/jsonl.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

// Every command of inspect with every kind of path: it prints something, or says what is wrong in one line.
using namespace heed;

namespace {

namespace fs = std::filesystem;

// The names of all commands, as `inspect --help` lists them; "" for `inspect RUN`.
std::vector<std::string> command_names() {
  std::vector<std::string> names;
  std::istringstream lines(shown({"--help"}));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  ") || line[2] == ' ') continue;
    const std::string name = line.substr(2, line.find(' ', 2) - 2);
    names.push_back(name == "RUN" ? "" : name);
  }
  return names;
}

struct Outcome {
  bool is_answer = false;
  std::string text;  // of the answer or of the error
};

// What the server throws in place of waiting for requests.
struct Served {};

Outcome outcome_of(const std::vector<std::string>& words) {
  std::vector<const char*> argv{"inspect"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  std::string written;
  const OnText write = [&](std::string_view text) -> bool {
    written += text;
    if (text.starts_with("http://")) throw Served();
    return true;
  };
  try {
    const std::string text = inspect(static_cast<int>(argv.size()), argv.data(), {}, {}, write);
    return {true, written + text};
  } catch (const Served&) {
    return {true, written};
  } catch (const UsageError& error) {
    return {false, fmt::format("usage: {}", error.what())};
  } catch (const std::exception& error) {
    return {false, error.what()};
  }
}

// Paths of each kind, and the text that their models can read.
struct Kinds {
  Scratch place;
  std::map<std::string, fs::path> paths;

  Kinds() {
    const fs::path run = place.path / "run";
    Model model = small_model();
    Example example = question(model, dog_sentence);
    example.antecedent = 1, example.distractor = 5;
    example.answer = "dog";
    fs::create_directories(run);
    write_dump(run, {0, {attend(model, example)}});
    save_model(model_path(run), model);
    write_file(run / "config.yaml", "data: {task: coreference}\n");
    write_jsonl(run / "held_out.jsonl", {dog_example(), dog_example(), dog_example()});
    fs::copy(run, place.path / "other", fs::copy_options::recursive);
    fs::copy(model_path(run), place.path / "alone.safetensors");
    fs::copy(pretrained("gpt2"), place.path / "hugging_face");
    write_file(place.path / "hugging_face" / "tokenizer.json", tokenizer_of_words());
    fs::create_directories(place.path / "empty");
    write_file(place.path / "plain", "some text\n");
    paths = {{"run", run},
             {"file of a run", model_path(run)},
             {"snapshot", dump_path(run, 0)},
             {"single file", place.path / "alone.safetensors"},
             {"model of Hugging Face", place.path / "hugging_face"},
             {"GGUF", "tests/golden/gguf/llama.gguf"},
             {"missing", place.path / "missing"},
             {"empty directory", place.path / "empty"},
             {"plain file", place.path / "plain"}};
  }

  // The words of a command for a kind of path.
  std::vector<std::string> words(const std::string& command, const std::string& kind, bool has_sentence) const {
    const std::string path = paths.at(kind).string();
    std::vector<std::string> words;
    const auto add = [&](std::vector<std::string> more) { words.insert(words.end(), more.begin(), more.end()); };
    if (!command.empty()) add({command});
    add({path});
    if (command == "match") add({kind == "run" ? (place.path / "other").string() : path});
    if (command == "compare") add({"--step", "0", "--step", "0"});
    if (command == "page") add({"--out", (place.path / "out.html").string(), "--force"});
    if (command == "export") add({"--csv", (place.path / "out.csv").string(), "--force"});
    if (command == "generate") add({"--prompt", "w1 w2", "--tokens", "2"});
    if (command == "pairs") add({"--task", "induction", "--count", "1"});
    if (command == "evaluate" || command == "heads") add({(place.path / "run" / "held_out.jsonl").string()});
    const bool is_pretrained_kind = kind == "model of Hugging Face" || kind == "GGUF";
    if (command == "verify" && is_pretrained_kind) add({"--against", golden_of("gpt2")});
    if (has_sentence || command == "steps") add({"--sentence", is_pretrained_kind ? "w1 w2 w3 w2" : dog_sentence});
    return words;
  }
};

bool takes_sentence(const std::string& command) {
  return shown(command.empty() ? std::vector<std::string>{"--help", "RUN"}
                               : std::vector<std::string>{command, "--help"})
             .find("--sentence") != std::string::npos;
}

}  // namespace

TEST_CASE("Every command of inspect answers for every kind of path, or says in one line what is wrong with it") {
  const Kinds kinds;
  std::map<std::string, std::set<std::string>> answered;  // by kind of path
  for (const std::string& command : command_names()) {
    for (const auto& [kind, path] : kinds.paths) {
      const bool is_path_of_model = kind != "missing" && kind != "empty directory" && kind != "plain file";
      for (const bool has_sentence : {false, true}) {
        if (has_sentence && (!takes_sentence(command) || command == "steps")) continue;
        const std::vector<std::string> words = kinds.words(command, kind, has_sentence);
        const Outcome outcome = outcome_of(words);
        CAPTURE(command, kind, has_sentence, outcome.text);
        if (outcome.is_answer) {
          CHECK(is_path_of_model);
          CHECK(!outcome.text.empty());
          answered[kind].insert(command);
          continue;
        }
        if (command == "verify" && (kind == "run" || kind == "GGUF")) continue;  // it lists files or differences
        CHECK(outcome.text.find('\n') == std::string::npos);
        CHECK(outcome.text.size() < 400);
        for (const char* raw :
             {"Not a directory", "No such file", "Is a directory", "filesystem error", "usage: ", "::"}) {
          CAPTURE(raw);
          CHECK(outcome.text.find(raw) == std::string::npos);
        }
        if (!is_path_of_model) CHECK(outcome.text.find(path.string()) != std::string::npos);
      }
    }
  }
  for (const char* kind : {"run", "file of a run", "single file", "model of Hugging Face", "GGUF"}) {
    CAPTURE(kind);
    for (const char* command : {"induction", "weights"}) CHECK(answered[kind].contains(command));
    CHECK(answered[kind].contains("steps") == (kind != std::string("GGUF")));  // this file has no tokenizer
  }
}
