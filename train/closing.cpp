#include "run/internal/baselines.h"
#include "run/internal/program.h"
#include "train/relations.h"
#include "train/report.h"
#include "views/induction_view.h"
#include "views/known_answers.h"
#include "views/sentence_text.h"
#include "views/terminal_text.h"
#include "views/written_tokens.h"

#include <heed/explain/studies/report.h>
#include <heed/files/file.h>
#include <heed/files/utf8.h>
#include <heed/models/generate.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <sstream>

namespace heed {
namespace {

// Returns why a run ended before its last step, if it did.
std::string stop_of(const Experiment& e, const RunDirectory& run, const Terminal& terminal) {
  const std::vector<Metrics> lines = read_metrics(run.path());
  if (lines.back().step == e.config.optim.schedule.steps) return "";
  const std::string file = best_model_path(run.path()).string();
  const std::int64_t step = load_model(file).step;
  const auto best = std::ranges::find(lines, step, &Metrics::step);
  if (best == lines.end()) fail("{}: is the model of step {}, which metrics.jsonl does not have", file, step);
  return "\n" +
         paragraph(fmt::format(
                       "Ended at step {} of {}. The held-out loss was smallest at step {}, {:.4f}; {} has that model.",
                       lines.back().step, e.config.optim.schedule.steps, step, best->held_out.loss, file),
                   terminal);
}

// A table of figures after and before training. On a narrow terminal each row is a sentence.
class BeforeAndAfter {
 public:
  BeforeAndAfter(const RunDirectory& run, const char* first, const Terminal& terminal)
      : lines_(read_metrics(run.path())), first_(first), terminal_(terminal) {}

  const Evaluation& after() const { return lines_.back().held_out; }

  std::string heading(const std::string& of) const {
    return is_narrow() ? paragraph("  " + of, terminal_, 2) : columns(of, "trained", first_);
  }

  std::string row(const std::string& name, const std::string& after, const std::string& before) const {
    if (!is_narrow() && std::max(after.size(), before.size()) <= figure) return columns(name, after, before);
    return paragraph(fmt::format("  {}: trained {}, {} {}", name, after, first_, before), terminal_, 4);
  }

  template <class Text>
  std::string row(const std::string& name, const Text& text) const {
    return row(name, text(lines_.back().held_out), text(lines_.front().held_out));
  }

 private:
  static constexpr std::size_t figure = 20;  // columns

  bool is_narrow() const { return terminal_.width < 80; }

  static std::string columns(const std::string& name, const std::string& after, const std::string& before) {
    return fmt::format("  {:<36} {:>{}} {:>{}}\n", name, after, figure, before, figure);
  }

  std::vector<Metrics> lines_;
  const char* first_;
  const Terminal& terminal_;
};

std::string language_figures(const BeforeAndAfter& table) {
  const auto row = [&](const char* name, const char* unit, double Evaluation::*figure) {
    return table.row(name, [=](const Evaluation& v) { return fmt::format("{:.4f}{}", v.*figure, unit); });
  };
  return "\n" + table.heading("on the whole held-out text") + row("loss per token", " nats", &Evaluation::loss) +
         row("perplexity", "", &Evaluation::perplexity) +
         (std::isnan(table.after().bits_per_byte) ? "" : row("bits per byte", "", &Evaluation::bits_per_byte));
}

// Returns the largest scores in the watched sentences, after and before training. They do not show that a head is an induction
// head: inspect induction measures that.
std::string largest_scores(const BeforeAndAfter& table, const RunDirectory& run, const Terminal& terminal) {
  const Dump after = last_dump(run.path());
  const std::filesystem::path first = dump_path(run.path(), 0);
  const Dump before = std::filesystem::exists(first) ? read_dump(first) : Dump{};
  const auto row = [&](const char* name, double HeadScores::*score) {
    return table.row(name, best_head_text(after, score), best_head_text(before, score));
  };
  return row("largest previous-token score", &HeadScores::previous_token) +
         row("largest induction score", &HeadScores::induction) + "\n" +
         paragraph(fmt::format("Scores are mean attention weights in {}: on the token before, and on the token that "
                               "followed the last occurrence of the same token.",
                               plural(std::ssize(after.sentences), "watched sentence")),
                   terminal);
}

// Returns a short text that the language model in `file` generates after the first held-out excerpt.
std::string sample_text(const Experiment& e, const std::filesystem::path& file, const Terminal& terminal) {
  constexpr int lines = 5;
  constexpr std::chrono::seconds longest{3};  // a large model writes less
  const Generation asked{.prompt = e.model.tokenizer.join(e.task.held_out[0].tokens),
                         .tokens = lines * terminal.width,
                         .sampling = {.temperature = 0.8},
                         .seed = e.config.seed};
  const auto start = std::chrono::steady_clock::now();
  std::string all;
  generate(load_model(file), asked, [&](std::string_view piece) {
    all += piece;
    return std::chrono::steady_clock::now() - start < longest;
  });
  TerminalText safe;
  std::string text;
  std::istringstream written(safe.add(std::string_view(all).substr(std::min(asked.prompt.size(), all.size()))));
  for (std::string line; std::getline(written, line);) text += paragraph("  " + line, terminal, 2);
  std::size_t end = 0;
  for (int line = 0; line < lines && end < text.size(); ++line) end = text.find('\n', end) + 1;
  text.resize(end);
  std::string on_one_line;
  for (const char c : asked.prompt) on_one_line += c == '\n' ? "↵" : std::string(1, c);
  return "\n" +
         paragraph(fmt::format("Sampled at temperature {} after the held-out text \"{}\":", asked.sampling.temperature,
                               excerpt(on_one_line, 32)),
                   terminal) +
         text;
}

// Returns the report of a model that chooses among candidates; "" for other models.
std::string report_of(const Experiment& e, const RunDirectory& run, const Terminal& terminal) {
  if (e.config.answer == Answer::word) return "";
  return "\n" +
         report_view(report(load_model(model_path(run.path())), read_baselines(run.path()), "held-out sentences",
                            e.task.held_out),
                     terminal) +
         paragraph("The loss contains no attention weight.", terminal);
}

// Returns how often a model would be right that always gave the most frequent answer; "" where that is less than half.
std::string most_frequent_answer(const Experiment& e, const Terminal& terminal) {
  if (e.config.answer != Answer::word) return "";  // report_of() has baselines
  std::map<std::string, int> times;
  for (const Example& one : e.task.train) ++times[one.answer];
  const auto most = std::ranges::max_element(times, {}, [](const auto& answer) { return answer.second; });
  const std::int64_t right =
      most == times.end() ? 0 : std::ranges::count(e.task.held_out, most->first, &Example::answer);
  if (2 * right < std::ssize(e.task.held_out)) return "";
  return paragraph(
      fmt::format("  \"{}\", the most frequent answer in training, is right for {} of them.", excerpt(most->first),
                  percent(static_cast<double>(right) / static_cast<double>(std::ssize(e.task.held_out)))),
      terminal, 2);
}

// Returns a command that the reader may type, not wrapped, so that it can be copied.
std::string command_line(const char* what, const std::string& arguments) {
  return fmt::format("{}: {} {}\n", what, command_of("inspect"), arguments);
}

}  // namespace

std::string closing(const Experiment& e, const RunDirectory& run, const Terminal& terminal) {
  const char* first = e.config.from.empty() ? "untrained" : "at step 0";
  const BeforeAndAfter table(run, first, terminal);
  const std::string ended_early = stop_of(e, run, terminal), look = command_line("Look closer", shell_word(run.path()));
  if (e.task.corpus) {
    const std::filesystem::path model = ended_early.empty() ? run.path() : best_model_path(run.path());
    const bool is_induction = e.config.data.kind == TaskKind::induction;
    const bool writes = e.model.head().generates() && e.model.tokenizer.is_of_text();
    return ended_early + language_figures(table) + (is_induction ? largest_scores(table, run, terminal) : "") +
           (writes ? sample_text(e, ended_early.empty() ? model_path(run.path()) : model, terminal) : "") + "\n" +
           look +
           (is_induction ? command_line("Which heads are induction heads", "induction " + shell_word(run.path()))
                         : "") +
           (writes ? command_line("Continue a text", fmt::format("generate {} --prompt TEXT", shell_word(model))) : "");
  }
  Dump after = last_dump(run.path());
  for (SentenceAttention& sentence : after.sentences) sentence.answer = known_answer(sentence, e.task.held_out);
  write_out(after, e.model.tokenizer);
  std::optional<Dump> before;  // empty if the dump was removed
  if (std::filesystem::exists(dump_path(run.path(), 0))) {
    before = read_dump(dump_path(run.path(), 0));
    write_out(*before, e.model.tokenizer);
  }
  const std::int64_t examples = std::ssize(e.task.held_out);
  const std::int64_t pairs =
      std::ranges::count_if(e.task.held_out, [](const Example& one) { return one.counterpart >= 0; }) / 2;
  return ended_early +
         fmt::format("\n{}\n", query_view(after, {.terminal = terminal,
                                                  .layer = {},
                                                  .head = {},
                                                  .before = before ? &*before : nullptr,
                                                  .before_name = first})) +
         table.heading("on " + plural(examples, "held-out example")) +
         table.row("accuracy", [](const Evaluation& v) { return percent(v.accuracy); }) +
         (pairs == 0 ? ""
                     : table.row(fmt::format("both right, of {}", plural(pairs, "minimal pair")),
                                 [](const Evaluation& v) { return percent(v.counterpart_accuracy); })) +
         table.row("weight on the antecedent, best head", [](const Evaluation& v) { return best_head_text(v); }) +
         most_frequent_answer(e, terminal) +
         (has_relations(e.task.held_out)
              ? "\n" + relations_table(evaluate_relations(e.model, e.task.held_out), terminal)
              : "") +
         report_of(e, run, terminal) + "\n" + look;
}

}  // namespace heed
