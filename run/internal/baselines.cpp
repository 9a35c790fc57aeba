#include "run/internal/baselines.h"

#include "files/digest.h"
#include "files/internal/ascii.h"
#include "run/internal/run_directory.h"
#include "tokenizers/internal/json.h"

#include <heed/data/overlap.h>
#include <heed/formats/safetensors.h>

#include <set>
#include <string>

namespace heed {

std::filesystem::path baselines_path(const std::filesystem::path& run) { return run / "baselines.safetensors"; }

void write_baselines(const std::filesystem::path& run, const std::vector<Example>& training,
                     const Vocabulary& vocabulary) {
  const BagOfWords bag(training, vocabulary);
  std::set<std::uint64_t> numbers;
  for (const Example& example : training) numbers.insert(sentence_number(example));
  std::vector<std::string> digests;
  for (const std::uint64_t number : numbers) digests.push_back(hexadecimal(number));
  SafeTensors content;
  content.tensors.assign(bag.parameters().begin(), bag.parameters().end());
  content.metadata = {{"heed.sentences", format_json(digests)}, {"heed.none", bag.has_none() ? "yes" : "no"}};
  write_safetensors(baselines_path(run), content);
}

Baselines read_baselines(const std::filesystem::path& run) {
  const std::filesystem::path path = baselines_path(run);
  const std::string file = path.string();
  if (!std::filesystem::exists(path)) {
    if (!is_of_train(run))
      fail(
          "{}: is missing; only train writes baselines, and another program made this run; inspect "
          "evaluate and inspect heads work without",
          file);
    fail("{}: is missing; {} (where model.answer is candidate)", file, written_by_resuming(run));
  }
  const SafeTensors content = read_safetensors(path);
  try {
    Baselines result{.bag = BagOfWords(content["place"], content["own"], content.metadata.at("heed.none") == "yes"),
                     .training = {}};
    for (const Json& number : parse_json(content.metadata.at("heed.sentences"))) {
      const std::string text = number.get<std::string>();
      const auto value = parse_number<std::uint64_t>(text, 16);
      if (!value) fail("expected the digest of a sentence, got '{}'", text);
      result.training.insert(*value);
    }
    return result;
  } catch (const std::exception& error) {
    fail("{}: its baselines cannot be read: {}", file, message_of(error));
  }
}

}  // namespace heed
