#include "inspect/commands/shared.h"
#include "inspect/run_studies.h"
#include "views/evaluation_view.h"

#include <heed/explain/class_texts.h>
#include <heed/files/file.h>
#include <heed/formats/datasets/jsonl.h>
#include <heed/models/reading.h>

namespace heed {
namespace {

std::vector<Example> sentences_of(const Model& model, const Request& request, const std::string& file) {
  if (model.head().classifies()) return read_class_texts(model, file);
  if (model.head().chooses_candidates()) return report_sentences(model, request.runs[0], file);
  std::vector<Example> examples = read_jsonl(file);
  pair_counterparts(examples);
  return examples;
}

}  // namespace

const Command evaluate_command{
    .name = "evaluate",
    .words = "RUN FILE [FILE...]",
    .summary = "Measures loss and accuracy on texts or sentences (JSONL)",
    .example = "inspect evaluate runs/toy runs/toy/held_out.jsonl",
    .shared = "step json precision",
    .declare =
        [](cxxopts::OptionAdder& options) {
          options("context", "Tokens in a window of a text (default: all that the model reads, at most 1024)",
                  cxxopts::value<int>(), "N");
        },
    .answer =
        [](const Request& request) {
          if (request.files.empty()) {
            misused("expected a FILE: a text, or sentences as JSONL, such as those that a run held out, {}",
                    shell_word(request.runs[0] / "held_out.jsonl"));
          }
          const int context = request.given<int>("context").value_or(0);
          if (request.has("context") && context < 1) misused("--context must be at least 1");
          const Model model = model_of(request.runs[0], step_of(request), request.progress);
          if (!model.head().exists()) {
            fail("{}: the model has no head and predicts nothing, so there is nothing to evaluate",
                 request.runs[0].string());
          }
          const Autocast autocast(precision_of(request, model));
          Json all = Json::array();
          std::string text;
          const auto add = [&](const std::string& file, const auto& found) {
            text += (text.empty() ? "" : "\n") + evaluation_view(file, found, request.view.terminal);
            all.push_back(evaluation_json(file, found));
          };
          for (const std::string& file : request.files) {
            const bool is_text = model.head().has_token_logits() && std::filesystem::path(file).extension() != ".jsonl";
            if (!is_text && request.has("context")) misused("--context is for texts, and {} has sentences", file);
            try {
              if (is_text) {
                add(file, evaluate_text(model, read_file(file), context, of_run(request.runs[0], request.progress)));
              } else {
                const auto read = [&](const std::string& name) { return sentences_of(model, request, name); };
                const std::vector<Example> sentences = read(file);
                add(file, evaluate_answers(model, sentences));
                const std::int64_t learned = count_learned(request.runs[0], sentences, read);
                all.back()["learned"] = learned;
                if (learned > 0) {
                  text += paragraph(fmt::format("The run was trained on {} of these {}.", learned,
                                                counted(std::ssize(sentences), "sentence")),
                                    request.view.terminal);
                }
              }
            } catch (const Error& error) {
              const std::string message = error.what();
              throw Error(message.find(file) != message.npos ? message : fmt::format("{}: {}", file, message));
            }
          }
          return request.has("json") ? json_line(all) : text;
        }};

}  // namespace heed
