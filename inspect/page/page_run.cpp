#include "inspect/page/page_run.h"

#include "formats/internal/config_json.h"
#include "inspect/page/encode.h"
#include "inspect/page/page_causes.h"
#include "inspect/page/page_circuit.h"
#include "inspect/page/page_facts.h"
#include "inspect/page/page_model.h"
#include "run/internal/run_directory.h"
#include "run/metrics.h"
#include "views/known_answers.h"
#include "views/written_tokens.h"

#include <heed/autograd/ops.h>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace heed {
namespace fs = std::filesystem;
namespace {

std::vector<std::string> packed(const Dump& dump) {
  std::vector<std::string> sentences;
  for (const SentenceAttention& sentence : dump.sentences) {
    Json heads = Json::array();
    for (const Tensor& layer : sentence.layers) {
      for (std::int64_t h = 0; h < layer.size(0); ++h) heads.push_back(base64(pack_weights(slice(layer, 0, h, h + 1))));
    }
    sentences.push_back(format_json(heads));
  }
  return sentences;
}

std::size_t size_of(const std::vector<std::string>& texts) {
  std::size_t size = 0;
  for (const std::string& text : texts) size += text.size();
  return size;
}

Json answers(const Dump& dump) {
  Json result = Json::array();
  for (const SentenceAttention& sentence : dump.sentences) {
    result.push_back({{"predicted", sentence.predicted}, {"probability", number_or_null(sentence.probability)}});
  }
  return result;
}

Json sentences_of(const Dump& dump) {
  Json result = Json::array();
  for (const SentenceAttention& sentence : dump.sentences) {
    Json one = {{"tokens", sentence.tokens}, {"query", sentence.query}, {"antecedent", sentence.antecedent}};
    for (const Span& span : sentence.candidates) one["candidates"].push_back({span.begin, span.end});
    if (!sentence.answer.empty()) one["answer"] = sentence.answer;
    const auto [layer, head] = telling_head(sentence);
    one["pointing"] = {{"layer", layer}, {"head", head}};
    result.push_back(std::move(one));
  }
  return result;
}

Json heads_of(const Dump& dump) {
  Json heads = Json::array();
  for (const Tensor& layer : dump.sentences.at(0).layers) heads.push_back(layer.size(0));
  return heads;
}

// Replaces the names of tokens by their text.
void write_for_page(SentenceAttention& sentence, const Model& model) {
  const Example example = question(sentence);
  for (std::string* answer : {&sentence.predicted, &sentence.answer}) {
    if (!answer->empty()) *answer = page_answer(model, example, *answer);
  }
  sentence.tokens = page_tokens(model, sentence.tokens);
}

// Throws Error unless `dump` has the same sentences, layers and heads as `last`.
void check_same(const Dump& dump, const Dump& last, const fs::path& run) {
  if (dump.sentences.size() == last.sentences.size() && heads_of(dump) == heads_of(last) &&
      std::equal(dump.sentences.begin(), dump.sentences.end(), last.sentences.begin(),
                 [](const SentenceAttention& a, const SentenceAttention& b) { return a.tokens == b.tokens; })) {
    return;
  }
  fail("{}: the snapshots of steps {} and {} differ in their sentences, layers or heads", run.string(), dump.step,
       last.step);
}

// Returns at most `most` of the steps, evenly spaced, with the first and the last.
std::vector<std::int64_t> thinned(const std::vector<std::int64_t>& steps, std::size_t most) {
  if (steps.size() <= most) return steps;
  std::vector<std::int64_t> kept;
  for (std::size_t i = 0; i < most; ++i) {  // nothing for 0
    kept.push_back(most == 1 ? steps.back() : steps[i * (steps.size() - 1) / (most - 1)]);
  }
  return kept;
}

// Returns a snapshot of a run as the page shows it. Without a model its tokens keep their names.
Dump page_dump(Dump dump, const std::optional<Model>& model) {
  if (!model) return dump;
  for (SentenceAttention& sentence : dump.sentences) write_for_page(sentence, *model);
  return dump;
}

void add_dumps(PageRun& result, const fs::path& run, const std::optional<Model>& model, std::size_t most,
               const OnProgress& progress) {
  const std::vector<Example> held_out = held_out_of(run);
  Dump last = last_dump(run);
  for (SentenceAttention& sentence : last.sentences) {
    if (sentence.antecedent >= 0) sentence.answer = known_answer(sentence, held_out);
  }
  last = page_dump(std::move(last), model);
  const std::vector<std::int64_t> steps = dump_steps(run);
  const auto dump_at = [&](std::int64_t step) {
    return step == last.step ? last : page_dump(read_dump(dump_path(run, step)), model);
  };
  if (last.sentences.empty()) fail("{}: has no sentences", dump_path(run, steps.back()).string());
  const std::size_t size = std::max(size_of(packed(last)), size_of(packed(dump_at(steps[0]))));
  const std::vector<std::int64_t> kept = thinned(steps, std::max<std::size_t>(1, most / (size + 1)));

  Json& page_steps = result.description["steps"] = Json::array();
  for (const std::int64_t step : kept) {
    if (progress) progress("snapshots", static_cast<double>(page_steps.size()) / static_cast<double>(kept.size()), 0);
    const Dump dump = dump_at(step);
    check_same(dump, last, run);
    page_steps.push_back({{"step", step}, {"answers", answers(dump)}, {"scores", head_scores_of(dump)}});
    result.weights.push_back(packed(dump));
  }
  result.description["dumped_steps"] = steps.size();
  if (const std::string seed = seed_of(run); !seed.empty()) result.description["seed"] = seed;
  result.description["held_out"] = held_out.size();
  result.description["sentences"] = sentences_of(last);
  result.description["heads"] = heads_of(last);
}

// Returns the part of a model that changes between steps.
Json step_model_json(const Model& model) { return {{"step", model.step}, {"tensors", tensors_json(model)}}; }

// Adds the model, if a page can hold it.
void embed_model(PageRun& result, const Model& model) {
  Json& description = result.description;
  if (const std::string reason = why_left_out(model); !reason.empty()) {
    description["model_missing"] = reason;
    return;
  }
  description["model"] = {{"step", model.step}, {"cuts", page_cuts_text(model)}};
  if (is_halved(model)) description["model"]["float16"] = true;
  result.model = script_json(model_json(model));
}

void add_model(PageRun& result, const fs::path& run, const std::optional<Model>& saved, int limit,
               const OnProgress& progress) {
  Json& description = result.description;
  description["model"] = nullptr;
  if (!saved) {
    description["model_missing"] = description["causes_missing"] = "The run directory has no model.safetensors.";
    return;
  }
  const Model& model = *saved;
  description["parameters"] = model.parameters.numel();
  const Dump dump = last_dump(run);
  check_same_model(dump, model, dump_path(run, dump.step).string());
  description["answer"] = !model.head().chooses_candidates() ? "word"
                          : model.config().or_none           ? "candidate_or_none"
                                                             : "candidate";
  description["predicts"] = model.head().has_token_logits() ? "next" : "answer";
  std::vector<Example> examples;
  for (const SentenceAttention& sentence : dump.sentences) {
    if (!reads_pieces(model)) examples.push_back(question(sentence));  // else the dump has merged the pieces to words
  }
  add_predictions(description, model, examples);
  for (std::size_t i = 0; i < examples.size() && model.tokenizer.pretrained(); ++i) {
    description["sentences"][i]["pieces"] = examples[i].tokens;
  }
  for (std::size_t i = 0; i < examples.size() && model.tokenizer.is_of_text(); ++i) {
    const std::string text = model.tokenizer.join(examples[i].tokens);  // the tokens may hold bytes of characters
    const bool hides = model.head().fills_masks() && !model.tokenizer.pretrained();
    const std::vector<std::string> read = hides ? question(model, text).tokens : model.tokenizer(text);
    if (examples[i].candidates.empty() && read == examples[i].tokens) description["sentences"][i]["typed"] = text;
  }
  add_repeated_scores(description, model, progress);
  add_causes(description, model, run, limit, progress);
  add_card(description, model, run);
  add_circuit(description, model, run, progress);
  embed_model(result, model);
}

// Adds the saved models of the page's steps, except the last model, as far as `most` bytes allow.
void add_step_models(PageRun& result, const fs::path& run, std::size_t most) {
  Json& page_steps = result.description["steps"];
  result.models.assign(page_steps.size(), "");
  if (result.description["model"].is_null()) return;
  std::vector<std::int64_t> kept;
  for (const std::int64_t step : dumped_model_steps(run)) {
    if (step != result.description["model"]["step"]) kept.push_back(step);
  }
  std::erase_if(kept, [&](std::int64_t step) {
    return std::ranges::none_of(page_steps, [&](const Json& one) { return one["step"] == step; });
  });
  if (kept.empty()) return;
  std::size_t taken = format_json(result.description).size() + result.model.size();
  for (const std::vector<std::string>& step : result.weights) taken += size_of(step);
  std::size_t held = 0;
  const Model last = load_model(model_path(run), {.merged = true});
  for (const std::int64_t step :
       thinned(kept, (most - std::min(most, taken)) / format_json(step_model_json(last)).size())) {
    const fs::path file = dumped_model_path(run, step);
    const Model model = load_model(file, {.merged = true});
    if (to_json(model.config()) != to_json(last.config()) || model.vocabulary.words() != last.vocabulary.words()) {
      fail("{}: is of another model than {}: they are of different runs", file.string(), model_path(run).string());
    }
    for (std::size_t i = 0; i < page_steps.size(); ++i) {
      if (page_steps[i]["step"] != step) continue;
      page_steps[i]["model"] = true;
      result.models[i] = script_json(step_model_json(model));
    }
    ++held;
  }
  result.description["models_left_out"] = kept.size() - held;
}

}  // namespace

PageRun page_run(const fs::path& run, int limit, std::size_t most, const OnProgress& progress,
                 std::size_t max_with_models) {
  if (!fs::is_directory(run)) fail("{}: is a single file; inspect page needs the run directory", run.string());
  PageRun result;
  result.path = run;
  std::optional<Model> model;
  if (fs::exists(model_path(run))) model = load_model(model_path(run), {.merged = true});
  add_dumps(result, run, model, most, progress);
  result.description["metrics"] = Json::array();
  for (const Metrics& line : read_metrics(run)) result.description["metrics"].push_back(parse_json(to_line(line)));
  add_model(result, run, model, limit, progress);
  add_step_models(result, run, max_with_models);
  return result;
}

PageRun page_sentence(const std::string& name, const Model& model, SentenceAttention sentence, const Example& example,
                      const std::string& text) {
  write_for_page(sentence, model);
  const Dump dump{model.step, {sentence}};
  PageRun result;
  result.weights = {packed(dump)};
  result.models = {""};
  result.description = {
      {"name", name},
      {"steps", {{{"step", dump.step}, {"answers", answers(dump)}}}},
      {"dumped_steps", 1},
      {"held_out", 0},
      {"sentences", sentences_of(dump)},
      {"heads", heads_of(dump)},
      {"metrics", Json::array()},
      {"model", nullptr},
      {"causes_missing",
       "This page shows one sentence. inspect causes --sentence measures what its answer depends on, and of a "
       "run what the answers to held-out sentences do."},
      {"parameters", model.parameters.numel()},
      {"answer", model.head().classifies() ? "class" : "word"},
      {"predicts", !model.head().exists()            ? "nothing"
                   : model.head().has_token_logits() ? "next"
                                                     : "answer"}};
  if (!text.empty()) result.description["sentences"][0]["typed"] = text;
  add_predictions(result.description, model, {example});
  if (example.tokens.size() == sentence.tokens.size()) {  // not merged into words
    result.description["sentences"][0]["pieces"] = example.tokens;
    embed_model(result, model);
  }
  return result;
}

}  // namespace heed
