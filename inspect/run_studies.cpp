#include "inspect/run_studies.h"

#include "run/dump.h"
#include "run/internal/run_directory.h"

#include <heed/files/file.h>
#include <heed/formats/datasets/candidates.h>
#include <heed/formats/datasets/jsonl.h>
#include <heed/models/reading.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

namespace heed {

namespace fs = std::filesystem;

namespace {

// Returns the saved models of a run in order of their steps, including the last model.
std::vector<fs::path> models_of(const fs::path& run) {
  std::vector<fs::path> files;
  std::vector<std::int64_t> steps = dumped_model_steps(run);
  for (const std::int64_t step : steps) files.push_back(dumped_model_path(run, step));
  if (files.empty()) {
    fail("{}: keeps only the last model, so earlier steps cannot be measured{}", run.string(),
         is_of_train(run) ? "; train with dump.weights: true"
                          : "; RunWriter keeps the others with {.keep_models = true}");
  }
  if (const fs::path last = model_path(run); fs::exists(last)) {
    if (saved_step(last) > steps.back()) files.push_back(last);
  }
  return files;
}

Model model_of_run(const fs::path& run) {
  if (!fs::is_directory(run)) fail("{}: is a single file; inspect match needs run directories", run.string());
  if (!fs::exists(model_path(run))) fail("{}: is missing; has the run been saved?", model_path(run).string());
  return load_model(model_path(run), {.merged = true});
}

using Question = std::pair<std::vector<std::string>, int>;  // the tokens, and the one to ask about
Question question_of(const Example& e) { return {e.tokens, e.query}; }

// Returns the files of sentences that exist in data.train, which config.yaml keeps as "a.jsonl,b.jsonl".
std::vector<std::string> training_files(const fs::path& run) {
  if (!is_of_train(run)) return {};
  const std::string text = read_file(run / "config.yaml"), key = "\n  train: \"";
  const std::size_t at = text.find(key), begin = at + key.size();
  std::istringstream names(at == text.npos ? "" : text.substr(begin, text.find('"', begin) - begin));
  std::vector<std::string> files;
  for (std::string name; std::getline(names, name, ',');) {
    if (name.ends_with(".jsonl") && fs::is_regular_file(name)) files.push_back(name);
  }
  return files;
}

// Throws Error when the run was trained on sentences of the file `test`.
void check_not_learned(const fs::path& run, const std::string& test, const std::vector<Example>& tested) {
  const std::int64_t learned = count_learned(run, tested, [](const std::string& file) { return read_jsonl(file); });
  if (learned == 0) return;
  fail("{}: {} was trained on {} of its {} sentences, those of {}; name a file on which no run was trained", test,
       run.string(), learned, tested.size(), listed(training_files(run)));
}

}  // namespace

std::int64_t count_learned(const fs::path& run, const std::vector<Example>& tested, const ReadSentences& read) {
  std::set<Question> learned;
  for (const std::string& file : training_files(run)) {
    for (const Example& e : read(file)) learned.insert(question_of(e));
  }
  if (!learned.empty() && fs::exists(held_out_path(run))) {
    for (const Example& e : read_held_out(run)) learned.erase(question_of(e));
  }
  return std::ranges::count_if(tested, [&](const Example& e) { return learned.contains(question_of(e)); });
}

std::vector<Example> read_held_out(const fs::path& run) {
  if (!fs::is_directory(run)) {
    fail("{}: is a single file; expected a run directory with held-out sentences", run.string());
  }
  const fs::path file = held_out_path(run);
  if (!fs::exists(file)) fail("{}: is missing; {}", file.string(), written_by_resuming(run));
  return read_jsonl(file);
}

Causes causes(const Model& model, const fs::path& run, const StudyOptions& options, Heads among) {
  const std::vector<Example> held_out = read_held_out(run);
  const Dump dump = last_dump(run);
  check_same_model(dump, model, dump_path(run, dump.step).string());
  std::vector<Example> watched;
  const bool takes_apart = !reads_pieces(model);
  for (const SentenceAttention& sentence : dump.sentences) {
    if (takes_apart) watched.push_back(question(sentence));
  }
  Causes result = causes(model, held_out, watched, options, among);
  if (!takes_apart && !model.head().chooses_candidates()) {
    result.left_out.emplace_back(
        "Watched sentences are kept as whole words, but the model reads pieces of words, so no logit is attributed.");
  }
  return result;
}

std::vector<TextPair> held_out_pairs(const Model& model, const fs::path& run, const char* command) {
  if (is_pretrained(run)) {
    fail("{}: is a pretrained model, without sentences of its own; give it pairs: inspect {} MODEL FILE.jsonl",
         run.string(), command);
  }
  std::vector<TextPair> pairs = minimal_pairs(model, read_held_out(run));
  if (!pairs.empty()) return pairs;
  fail(
      "{}: its held-out sentences have no minimal pairs, which differ in one word and in the answer; give it pairs: "
      "inspect {} RUN FILE.jsonl",
      run.string(), command);
}

void keep_some(std::vector<TextPair>& pairs, int most, const Model& model) {
  std::vector<Example> texts;
  for (const TextPair& pair : pairs) texts.push_back(pair.clean);
  const double T = static_cast<double>(longest(texts));
  const double passes =
      model.layers() * (3 * T + model.heads()) / 2 + 2;  // from the changed layer on, the half of them
  keep_evenly(pairs, sentences_to_use(most, model.transformer().config, texts, passes));
}

CauseHistory cause_history(const fs::path& run, const StudyOptions& options) {
  std::vector<Example> held_out = read_held_out(run);
  if (std::ranges::none_of(held_out, [](const Example& e) { return e.antecedent >= 0; })) {
    fail("{}: the held-out sentences have no antecedents, so no edge can be cut", run.string());
  }
  const std::vector<fs::path> files = models_of(run);
  const auto load = [&](std::size_t i) { return load_model(files[i], {.merged = true}); };
  return cause_history(files.size(), load, std::move(held_out), options);
}

MatchedHeads match_heads(const std::vector<fs::path>& runs, const StudyOptions& options, const std::string& test) {
  std::vector<Example> tested;
  if (!test.empty()) {
    tested = read_jsonl(test);
    pair_counterparts(tested);
  }
  std::vector<SeedRun> seeds;
  for (const fs::path& run : runs) {
    if (!test.empty()) check_not_learned(run, test, tested);
    seeds.push_back({run.string(), [run] { return model_of_run(run); }, test.empty() ? read_held_out(run) : tested});
  }
  MatchedHeads result = match_heads(seeds, options);
  result.source = test;
  return result;
}

std::vector<Example> report_sentences(const Model& model, const fs::path& run, const std::string& file) {
  std::vector<Example> examples =
      file.empty() ? read_held_out(run) : cut_all(read_all_candidates(file), model.tokenizer);
  name_candidates(examples);
  return examples;
}

}  // namespace heed
