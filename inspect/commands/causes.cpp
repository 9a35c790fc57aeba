#include "inspect/commands/shared.h"
#include "inspect/run_studies.h"
#include "views/causes_by_view.h"
#include "views/restored_view.h"
#include "views/written_tokens.h"

#include <heed/explain/studies/restored.h>
#include <heed/explain/studies/sentence_causes.h>

namespace heed {
namespace {

// Returns the heads that --layer and --head choose, -1 for all.
Heads chosen_heads(const Request& request, const Model& model) {
  const auto chosen = [](const char* what, std::optional<int> number, int count) {
    return number ? chosen_range(what, number, count).begin : -1;
  };
  return {chosen("layer", request.view.layer, model.layers()), chosen("head", request.view.head, model.heads())};
}

std::string of_held_out(const Request& request) {
  check_json_of_all_heads(request);
  const StudyOptions options = study_of(request);
  const std::filesystem::path& run = request.runs[0];
  const Model model = model_of(run, step_of(request), request.progress);
  check_has_head(model);
  const Heads among = chosen_heads(request, model);
  const std::vector<Example> held_out = read_held_out(run);
  const std::string field = request.given<std::string>("by").value_or(default_field(held_out));
  if (!field.empty()) check_field(held_out, field);
  Causes found = causes(model, run, options, among);
  std::optional<CausesBy> by;
  if (!field.empty()) by = causes_by(model, held_out, found, field, options, among);
  if (request.has("json")) {
    Json json = causes_json(found);
    if (by) json["by"] = causes_by_json(*by);
    return json_line(json);
  }
  for (Attribution& one : found.attribution) {
    one.tokens = shown_tokens(model.tokenizer, one.tokens);
    one.answer = shown_token(model.tokenizer, one.answer);
  }
  return (by ? causes_by_view(*by, request.view) + "\n" : "") + causes_view(found, request.view);
}

void write_out_tokens(SentenceCauses& causes, const Example& example, const Tokenizer& tokenizer) {
  for (auto* tokens : {&causes.tokens, &causes.pair_tokens}) {
    *tokens = shown_tokens(tokenizer, *tokens);
  }
  const auto write_out_answer = [&](std::string& answer) { answer = shown_answer(tokenizer, example, answer); };
  write_out_answer(causes.answer);
  write_out_answer(causes.rival);
  for (SentenceCauses::Head& head : causes.heads) write_out_answer(head.answer_without);
}

std::string of_sentence(const Request& request) {
  if (request.processes.size() > 1) {
    misused("expected one process for --sentence, got {}; several share the held-out sentences",
            request.processes.size());
  }
  for (const char* option : {"limit", "by"}) {
    if (request.has(option)) misused("--{} is for held-out sentences; --sentence asks one", option);
  }
  const std::filesystem::path& run = request.runs[0];
  const Model model = model_of(run, step_of(request), request.progress);
  if (!model.head().exists()) {
    fail(
        "{0}: the model lacks a head and gives no answers, so causes cannot be measured. inspect heads {0} FILE counts "
        "where its heads point, and training with model.from: {0} teaches it to answer",
        run.string());
  }
  const Example example = example_of(request, model);
  std::optional<Example> counterpart;
  if (const auto pair = request.given<std::string>("pair")) {
    counterpart = question(model, *pair, request.given<std::string>("query").value_or(""));
  }
  SentenceCauses found =
      sentence_causes(model, example, counterpart, of_run(run, request.progress), chosen_heads(request, model));
  if (request.has("json")) return json_line(utf8_json(sentence_causes_json(found)));
  write_out_tokens(found, example, model.tokenizer);
  return sentence_causes_view(found, request.view);
}

std::string of_pairs(const Request& request) {
  if (request.files.size() > 1) misused("expected one file of pairs, got '{}' too", request.files[1]);
  if (request.processes.size() > 1) misused("expected one process for pairs, got {}", request.processes.size());
  for (const char* option : {"sentence", "query", "pair", "by", "layer", "head"}) {
    if (request.has(option)) misused("--{} cannot be used with a file of pairs", option);
  }
  const std::filesystem::path& run = request.runs[0];
  const Model model = model_of(run, step_of(request), request.progress);
  std::vector<TextPair> pairs = read_pairs(model, request.files[0]);
  const auto limit = static_cast<std::size_t>(limit_of(request));
  if (limit > 0 && pairs.size() > limit) pairs.resize(limit);
  Restored found = restored(model, pairs, of_run(run, request.progress));
  if (found.by_position) found.tokens = shown_tokens(model.tokenizer, found.tokens);
  return request.has("json") ? json_line(utf8_json(restored_json(found))) : restored_view(found, request.view);
}

}  // namespace

const Command causes_command{
    .name = "causes",
    .words = "RUN | MODEL FILE",
    .summary = "Measures what cutting and replacing attention does to the answers",
    .example = "inspect causes runs/toy --limit 40",
    .shared = "sentence query limit step layer head json",
    .declare =
        [](cxxopts::OptionAdder& options) {
          options("pair", "With --sentence: a text of as many tokens with another answer, to patch heads into",
                  cxxopts::value<std::string>(), "TEXT")  //
              ("by",
               "A verdict for each value of this field of the held-out sentences (default: relation, if they have "
               "several)",
               cxxopts::value<std::string>(), "FIELD");
        },
    .of_runs = true,
    .is_shared = true,
    .answer =
        [](const Request& request) {
          if (!request.files.empty()) return of_pairs(request);
          if (request.has("sentence")) return of_sentence(request);
          for (const char* option : {"query", "pair"}) {
            if (request.has(option)) misused("--{} needs --sentence", option);
          }
          return of_held_out(request);
        }};

}  // namespace heed
