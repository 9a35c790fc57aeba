#include "inspect/commands/shared.h"
#include "inspect/run_studies.h"
#include "views/causes_by_view.h"
#include "views/restored_view.h"
#include "views/written_tokens.h"

#include <heed/explain/circuits/pair_halves.h>
#include <heed/explain/studies/restored.h>
#include <heed/explain/studies/sentence_causes.h>

#include <fmt/ranges.h>

#include <set>
#include <utility>

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
        "{0}: the model has no head and gives no answers, so causes cannot be measured. inspect heads {0} FILE counts "
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

// Returns the first clean text of each kind of pairs, with the number of pairs.
std::string kinds_text(const std::vector<std::vector<TextPair>>& kinds, const Model& model, const View& view) {
  std::string text =
      "\n" + paragraph(fmt::format("The pairs are of {} kinds, which differ in their number of tokens or in the "
                                   "token asked about. --tokens --sentence TEXT shows the tables of one "
                                   "kind, token by token:",
                                   kinds.size()),
                       view.terminal);
  for (const std::vector<TextPair>& kind : kinds) {
    const std::vector<std::string> tokens = shown_tokens(model.tokenizer, kind[0].clean.tokens);
    text += paragraph(fmt::format("{:5}  {}", kind.size(), fmt::join(tokens, holds_spaces(model) ? "" : " ")),
                      view.terminal);
  }
  return text;
}

// Returns the pairs of the kind of a sentence.
std::vector<TextPair> pairs_like(const Example& example, const std::filesystem::path& run,
                                 const std::vector<TextPair>& pairs) {
  for (std::vector<TextPair>& kind : kinds_of(pairs)) {
    const Example& other = kind[0].clean;
    if (other.tokens.size() == example.tokens.size() && other.query == example.query) return std::move(kind);
  }
  fail(
      "{}: has fewer than {} minimal pairs of held-out sentences of {} tokens that ask about token {}, as this one "
      "does",
      run.string(), min_groups, example.tokens.size(), example.query + 1);
}

// Throws Error for so few minimal pairs that the two directions of each would count as independent.
void check_number(const std::vector<TextPair>& pairs) {
  std::set<std::string> groups;
  for (const TextPair& pair : pairs) groups.insert(pair.group);
  if (std::ssize(groups) < min_groups) {
    fail("--tokens: expected at least {} minimal pairs, in two directions each, got {}", min_groups, groups.size());
  }
}

std::string of_tokens(const Request& request) {
  if (request.processes.size() > 1) misused("expected one process for --tokens, got {}", request.processes.size());
  for (const char* option : {"pair", "by", "layer", "head"}) {
    if (request.has(option)) misused("--{} cannot be used with --tokens", option);
  }
  if (request.has("query") && !request.has("sentence")) misused("--query needs --sentence");
  const std::filesystem::path& run = request.runs[0];
  const Model model = model_of(run, step_of(request), request.progress);
  check_has_head(model);
  std::vector<TextPair> pairs = held_out_pairs(model, run, "causes");
  std::optional<Example> example;
  if (request.has("sentence")) pairs = pairs_like(example.emplace(example_of(request, model)), run, pairs);
  keep_some(pairs, limit_of(request), model);
  check_number(pairs);
  const OnProgress progress = of_run(run, request.progress);
  Restored found = restored(model, pairs, progress);
  if (found.by_position) found.tokens = shown_tokens(model.tokenizer, found.tokens);
  const std::vector<std::vector<TextPair>> kinds = kinds_of(pairs);
  if (!request.has("json")) {
    if (example) found.tokens = shown_tokens(model.tokenizer, example->tokens);
    return restored_view(found, request.view) + (kinds.size() > 1 ? kinds_text(kinds, model, request.view) : "");
  }
  Json json = restored_json(found);
  json["kinds"] = Json::array();
  for (const std::vector<TextPair>& kind : kinds) {
    Restored of_kind = kind.size() < pairs.size() ? restored(model, kind, progress) : found;
    of_kind.tokens = shown_tokens(model.tokenizer, of_kind.tokens);
    Json one = restored_json(of_kind);
    one["query"] = kind[0].clean.query;
    one["example"] = shown_tokens(model.tokenizer, kind[0].clean.tokens);
    json["kinds"].push_back(std::move(one));
  }
  return json_line(utf8_json(json));
}

std::string of_pairs(const Request& request) {
  if (request.files.size() > 1) misused("expected one file of pairs, got '{}' too", request.files[1]);
  if (request.processes.size() > 1) misused("expected one process for pairs, got {}", request.processes.size());
  for (const char* option : {"sentence", "query", "pair", "by", "layer", "head", "tokens"}) {
    if (request.has(option)) misused("--{} cannot be used with a file of pairs", option);
  }
  const std::filesystem::path& run = request.runs[0];
  const Model model = model_of(run, step_of(request), request.progress);
  std::vector<TextPair> pairs = read_pairs(model, request.files[0]);
  keep_evenly(pairs, static_cast<std::size_t>(limit_of(request)));
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
    .shared = "sentence query step layer head json",
    .declare =
        [](cxxopts::OptionAdder& options) {
          options("pair", "With --sentence: a text of as many tokens with another answer, to patch heads into",
                  cxxopts::value<std::string>(), "TEXT")  //
              ("limit",
               "How many held-out sentences (default: as many as a minute allows) or pairs of FILE (default: all) to "
               "ask, "
               "evenly from first to last",
               cxxopts::value<int>(), "N")  //
              ("by",
               "A verdict for each value of this field of the held-out sentences (default: relation, if they have "
               "several)",
               cxxopts::value<std::string>(), "FIELD")  //
              ("tokens",
               "Show at which layers and tokens minimal pairs of held-out sentences carry the answer; with --sentence, "
               "pairs of its kind");
        },
    .of_runs = true,
    .instead = "Give it pairs, inspect causes MODEL FILE.jsonl, or one sentence, inspect causes MODEL --sentence TEXT",
    .is_shared = true,
    .faster = "--limit N asks fewer",
    .answer =
        [](const Request& request) {
          if (!request.files.empty()) return of_pairs(request);
          if (request.has("tokens")) return of_tokens(request);
          if (request.has("sentence")) return of_sentence(request);
          for (const char* option : {"query", "pair"}) {
            if (request.has(option)) misused("--{} needs --sentence", option);
          }
          return of_held_out(request);
        }};

}  // namespace heed
