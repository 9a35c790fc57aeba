#include "inspect/commands/shared.h"
#include "views/answer_lens_view.h"
#include "views/pair_lens_view.h"
#include "views/written_tokens.h"

#include <heed/explain/score_parts.h>

namespace heed {
namespace {

// Returns why the model gives its answer to each sentence.
std::string why_answers(const Model& model, const std::vector<Example>& examples, const Request& request) {
  std::string text;
  Json all = Json::array();
  for (const Example& example : examples) {
    AnswerLens lens = answer_lens(model, example);
    if (request.has("json")) {
      all.push_back(answer_lens_json(lens));
      continue;
    }
    lens.answer = shown_answer(model.tokenizer, example, lens.answer);
    for (AnswerLens::Layer& layer : lens.layers) {
      for (AnswerLens::Answer& answer : layer.answers) {
        answer.text = shown_answer(model.tokenizer, example, answer.text);
      }
    }
    lens.tokens = shown_tokens(model.tokenizer, lens.tokens);
    text += answer_lens_view(lens, request.view);
  }
  return request.has("json") ? json_line(utf8_json(all)) : text;
}

// Returns the answers after each layer, over a file of pairs.
std::string lens_of_pairs(const Request& request) {
  if (!request.has("answer")) misused("a file of pairs is for --answer; give it or leave {} out", request.files[0]);
  if (request.files.size() > 1) misused("expected one file of pairs, got '{}' too", request.files[1]);
  for (const char* option : {"sentence", "query", "probe", "layer", "head"}) {
    if (request.has(option)) misused("--{} cannot be used with a file of pairs", option);
  }
  const std::filesystem::path& run = request.runs[0];
  const Model model = model_of(run, step_of(request), request.progress);
  const PairLens lens = pair_lens(model, read_pairs(model, request.files[0]), of_run(run, request.progress));
  return request.has("json") ? json_line(pair_lens_json(lens)) : pair_lens_view(lens, request.view);
}

}  // namespace

const Command why_command{
    .name = "why",
    .words = "RUN | MODEL FILE",
    .summary = "Splits the score of a head's attention into parts that sum to it",
    .example = "inspect why runs/toy --probe 1",
    .shared = "sentence query probe step layer head json",
    .declare =
        [](cxxopts::OptionAdder& options) {
          options("answer",
                  "Instead, show the answers after each layer, and split the logit of the answer into "
                  "what each head and MLP adds to it; with a FILE of pairs of texts, the mean over them after each "
                  "layer");
        },
    .answer =
        [](const Request& request) {
          if (!request.files.empty()) return lens_of_pairs(request);
          const std::filesystem::path& run = request.runs[0];
          if (request.has("answer") && (request.has("layer") || request.has("head"))) {
            misused("--answer is about all layers and heads; leave --layer and --head out");
          }
          Reading read = reading_of(request, Tokens::pieces);
          Dump& dump = read.dump;
          const std::vector<SentenceAttention> watched = dump.sentences;
          choose_probe(request, dump);
          const Model model =
              request.has("sentence") ? std::move(*read.model) : model_of(run, step_of(request), request.progress);
          if (reads_pieces(model) && !request.has("sentence")) {
            fail(
                "{}: watched sentences are kept as whole words, but the model reads pieces of words; "
                "give inspect why a --sentence",
                run.string());
          }
          check_same_model(dump, model, dump_path(run, dump.step).string());
          if (request.has("answer")) {
            std::vector<Example> examples;
            for (const SentenceAttention& sentence : dump.sentences) {
              examples.push_back(request.has("sentence") ? example_of(request, model) : question(sentence));
            }
            return why_answers(model, examples, request);
          }
          std::vector<ScoreParts> all = why_attends(model, dump, watched, request.view);
          if (request.has("json")) {
            Json parts = Json::array();
            for (const ScoreParts& one : all) parts.push_back(score_parts_json(one));
            return json_line(parts);
          }
          for (std::size_t i = 0; i < all.size(); ++i) {
            const Example example = question(dump.sentences[i]);
            all[i].answer = shown_answer(model.tokenizer, example, all[i].answer);
            all[i].tokens = shown_tokens(model.tokenizer, all[i].tokens);
          }
          return why_attends_view(all, dump, request.view);
        }};

}  // namespace heed
