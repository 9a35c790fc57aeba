#pragma once
#include "files/json.h"
#include "run/dump.h"

#include <heed/data/task.h>
#include <heed/data/tokenize.h>
#include <heed/nn/reader.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

// A model and all that it takes to read a sentence with it.
struct SavedModel {
  Parameters parameters;
  std::unique_ptr<Reader> reader;  // of these parameters
  Vocabulary vocabulary;
  Tokenizer tokenizer{};
  std::vector<std::string> queries;  // words asked about in training
  std::int64_t step = 0;
};

// {"max_length":12,"layers":2,...,"attention":{...}}: all of a configuration but its vocabulary, with what is as usual or, as
// in a saved model, without.
enum class Usual { left_out, written };
Json to_json(const ReaderConfig& config, Usual usual = Usual::left_out);

// RUN/model.safetensors
std::filesystem::path model_path(const std::filesystem::path& run);

// RUN/best.safetensors: the one with the smallest held-out loss, where train.patience asks for it.
std::filesystem::path best_model_path(const std::filesystem::path& run);

// RUN/held_out.jsonl: the sentences that the model did not learn from, as write_jsonl() writes them.
std::filesystem::path held_out_path(const std::filesystem::path& run);

// A safetensors file that describes itself: all parameters; metadata `heed.model` (ReaderConfig as JSON),
// `heed.vocabulary` and `heed.queries` (JSON arrays), `heed.unknown` (the word that stands for unknown ones), `heed.split` (and `heed.of` "text" for
// Tokenizer::of_text(), with its Subwords as `heed.subwords`, a JSON array of bytes), `heed.step`.
void save_model(const std::filesystem::path& path, const SavedModel& model);

// Error when the file is no such model or holds a value that is not finite; nothing is allocated that the file's own
// tensors do not justify.
SavedModel load_model(const std::filesystem::path& path);

// The step of the model in a file, without its parameters; 0 where it cannot be read, which load_model() says.
std::int64_t saved_step(const std::filesystem::path& path);

// Whether one of `tokens` holds `word` among other signs of a script without spaces: "它" in "因为它太累了".
bool is_run_together(const std::string& word, const std::vector<std::string>& tokens);

// `text` as a question: its last token `query`, or, when that is empty, its last token among model.queries; of a
// language model, its last token. Texts of
// several sentences (for models that count them) end in the question. For a model that chooses among candidates brackets mark
// them. Error for a word that the model does not know.
Example question(const SavedModel& model, std::string_view text, const std::string& query = "");

// The question that a dumped sentence is; its answer is not known.
Example question(const SentenceAttention& sentence);

ReaderInput reader_input(const Batch& batch);

// One example as a batch. Error when it is longer than the model reads or holds unknown words.
ReaderInput reader_input(const Reader& reader, const Vocabulary& vocabulary, const Example& example);

// What the model makes of an example: unrecorded, with its weights. NotFinite where that is infinite or NaN.
SentenceAttention attend(const Reader& reader, const Vocabulary& vocabulary, const Example& example);

// NotFinite that names the first value within the reader (nn/hook.h) that is infinite or NaN while it reads `input`.
[[noreturn]] void fail_not_finite(const Reader& reader, const ReaderInput& input);

// Whether it reads sentences of whole words as pieces of them, of which a dump is told as of_whole_words().
bool reads_pieces(const SavedModel& model);

// Error naming `file` unless the dump that it holds has the layers, heads and words of `model`.
void check_same_model(const Dump& dump, const SavedModel& model, const std::string& file);

}  // namespace heed
