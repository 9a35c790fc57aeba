#include "inspect/commands/shared.h"
#include "run/internal/program.h"
#include "run/internal/run_directory.h"
#include "views/curves_view.h"
#include "views/known_answers.h"
#include "views/written_tokens.h"

#include <heed/files/file.h>
#include <heed/models/reading.h>

namespace heed {
namespace {

// Adds the correct answers of watched sentences. Adds the most probable tokens of a model that predicts tokens if it is that
// of the snapshot's step.
void add_answers(const std::filesystem::path& run, Reading& read) {
  if (std::filesystem::is_regular_file(run)) return;
  Dump& dump = read.dump;
  const std::vector<Example> held_out = held_out_of(run);
  for (SentenceAttention& sentence : dump.sentences) sentence.answer = known_answer(sentence, held_out);
  if (!read.model || !read.model->head().has_token_logits() || read.model->step != dump.step) return;
  try {
    check_same_model(dump, *read.model, dump_path(run, dump.step).string());
    for (SentenceAttention& sentence : dump.sentences) {
      sentence.likeliest = attend(*read.model, question(sentence)).likeliest;
    }
  } catch (const Error&) {  // a damaged model, or one of another run: the snapshot can still be shown
  }
}

// Returns a note when the saved model was trained beyond step `shown`, else "".
std::string newer_model_note(const std::filesystem::path& run, std::int64_t shown, const Terminal& terminal) {
  if (std::filesystem::is_regular_file(run) || !std::filesystem::exists(model_path(run))) return "";
  const std::int64_t step = saved_step(model_path(run));
  if (step <= shown) return "";
  return "\n" +
         paragraph(fmt::format("The model is of step {}; the last snapshot is of step {}. {} --resume {} continues; "
                               "--sentence asks the saved model.",
                               step, shown, command_of("train"), shell_word(run)),
                   terminal);
}

}  // namespace

const Command attention_command{
    .name = "",
    .summary = "Shows where the query of each watched sentence attends",
    .example = "inspect runs/toy --layer 2 --head 1 --matrix",
    .shared = "sentence query words probe step layer head json",
    .declare = [](cxxopts::OptionAdder& options) { options("matrix", "Draw all weights as heat maps"); },
    .answer =
        [](const Request& request) {
          check_json_of_all_heads(request);
          if (!request.has("sentence") && has_numbers_alone(request.runs[0])) {
            const std::vector<Curve> curves = curves_of(request.runs[0], "");
            return request.has("json") ? json_line(curves_json(curves)) : curves_view(curves, request.view);
          }
          if (request.has("json") && request.has("matrix"))
            misused("--json cannot be used with --matrix: it already prints all weights");
          Reading read = reading_of(request);
          Dump& dump = read.dump;
          choose_probe(request, dump);
          if (!request.has("sentence")) add_answers(request.runs[0], read);
          const Dump named = dump;
          if (read.model)
            request.has("json") ? write_out_candidates(dump, read.model->tokenizer)
                                : write_out(dump, read.model->tokenizer);
          if (request.has("words")) join_words(dump, named, read.model);
          if (request.has("json")) return json_view(dump);
          const bool is_chosen =
              !request.has("sentence") || request.has("query") || !dump.sentences[0].predicted.empty();
          const std::string hint = is_chosen ? "" : "--query WORD asks about another token.\n";
          const bool is_last = !request.has("step") && !request.has("sentence");
          return (request.has("matrix") ? matrix_view(dump, request.view) : query_view(dump, request.view)) + hint +
                 (is_last ? newer_model_note(request.runs[0], dump.step, request.view.terminal) : "");
        }};

}  // namespace heed
