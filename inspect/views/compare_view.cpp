#include "inspect/views/sentence_text.h"
#include "inspect/views/view.h"

#include <heed/files/utf8.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

constexpr int label_columns = 34, figure_columns = 22, word_columns = 8, compared_bar_columns = 6;

// Right-aligned, the end of a name that is too long: two runs differ there.
std::string heading(const Side& side) {
  std::string name = side.name;
  while (display_width(name) > figure_columns - 2) name.erase(0, 1);
  return std::string(static_cast<std::size_t>(figure_columns - display_width(name)), ' ') + name;
}

std::string metrics_text(const Side& a, const Side& b) {
  const auto row = [&](const char* name, const auto& figure) {
    return fmt::format("{:<{}}{:>{}}{:>{}}\n", name, label_columns, figure(a), figure_columns, figure(b),
                       figure_columns);
  };
  const auto known = [](const Side& side, auto&& text_of) {
    return side.metrics ? text_of(*side.metrics) : std::string("-");
  };
  const auto loss = [&](const auto& of) {
    return [&known, of](const Side& side) {
      return known(side, [of](const Metrics& m) { return std::isnan(of(m)) ? "-" : fmt::format("{:.4f}", of(m)); });
    };
  };
  const auto share = [&](const auto& of) {
    return [&known, of](const Side& side) {
      return known(side, [of](const Metrics& m) { return std::isnan(of(m)) ? "-" : percent(of(m)); });
    };
  };
  return std::string(label_columns, ' ') + heading(a) + heading(b) + "\n" +
         row("step", [](const Side& side) { return fmt::format("{}", side.dump.step); }) +
         row("loss in training", loss([](const Metrics& m) { return m.train_loss; })) +
         row("loss on held-out examples", loss([](const Metrics& m) { return m.held_out.loss; })) +
         row("accuracy", share([](const Metrics& m) { return m.held_out.accuracy; })) +
         row("twin accuracy", share([](const Metrics& m) { return m.held_out.twin_accuracy; })) +
         row("weight on antecedent, best head", [&](const Side& side) {
           return known(side, [](const Metrics& m) { return best_head_text(m.held_out); });
         });
}

double weight(const SentenceAttention& sentence, std::size_t layer, int head, int key) {
  return sentence.layers[layer].at({head, sentence.query, key});
}

int strongest(const SentenceAttention& sentence, std::size_t layer, int head) {
  int best = 0;
  for (int key = 1; key < std::ssize(sentence.tokens); ++key) {
    if (weight(sentence, layer, head, key) > weight(sentence, layer, head, best)) best = key;
  }
  return best;
}

// "tired 1.00 ██████ "
std::string strongest_text(const SentenceAttention& sentence, std::size_t layer, int head) {
  const int key = strongest(sentence, layer, head);
  const double w = weight(sentence, layer, head, key);
  const std::string text = fit_width(token_label(sentence.tokens, key), word_columns) + fmt::format(" {:.2f} ", w) +
                           fit_width(bar(w, compared_bar_columns) + (key == sentence.antecedent ? antecedent_sign : ""),
                                     compared_bar_columns + 1);
  return fit_width(text, figure_columns - 1) + " ";
}

std::string sentence_lines(const SentenceAttention& a, const SentenceAttention& b, const View& view) {
  std::string text = fmt::format("\n{}\n", sentence_text(a.tokens, a.query, a.antecedent, view.terminal));
  const auto answer = [](const SentenceAttention& s) {
    return fit_width(fmt::format("{} {:.3f}", fit_width(s.predicted, word_columns), s.probability), figure_columns);
  };
  text += trimmed(fmt::format("{:<20}{}{}{}", "predicts", answer(a), answer(b), "most apart")) + "\n";
  const Range layers = chosen_range("layer", view.layer, static_cast<int>(std::min(a.layers.size(), b.layers.size())));
  for (int layer = layers.begin; layer < layers.end; ++layer) {
    const auto l = static_cast<std::size_t>(layer);
    const Range heads =
        chosen_range("head", view.head, static_cast<int>(std::min(a.layers[l].size(0), b.layers[l].size(0))));
    for (int head = heads.begin; head < heads.end; ++head) {
      int apart = 0;
      const auto change = [&](int key) { return weight(b, l, head, key) - weight(a, l, head, key); };
      for (int key = 1; key < std::ssize(a.tokens); ++key) {
        if (std::abs(change(key)) > std::abs(change(apart))) apart = key;
      }
      text += fmt::format("{:<20}{}{}{} {:+.2f}\n", fmt::format("layer {} head {}", layer + 1, head + 1),
                          strongest_text(a, l, head), strongest_text(b, l, head),
                          fit_width(token_label(a.tokens, apart), word_columns), change(apart));
    }
  }
  return text;
}

}  // namespace

std::string best_head_text(const Evaluation& evaluation) {
  const auto best = evaluation.best_head();
  return best ? fmt::format("{:.2f} layer {} head {}", best->weight, best->layer + 1, best->head + 1) : "-";
}

std::string compare_view(const Side& a, const Side& b, const View& view) {
  std::string text = metrics_text(a, b);
  std::size_t shared = 0;
  bool marked = false;
  for (const SentenceAttention& of_a : a.dump.sentences) {
    const auto of_b = std::ranges::find_if(
        b.dump.sentences, [&](const SentenceAttention& s) { return s.tokens == of_a.tokens && s.query == of_a.query; });
    if (of_b == b.dump.sentences.end()) continue;
    ++shared;
    marked = marked || of_a.antecedent >= 0;
    text += sentence_lines(of_a, *of_b, view);
  }
  if (marked) text += "\n" + antecedent_legend(true, view.terminal);
  const std::size_t alone = a.dump.sentences.size() + b.dump.sentences.size() - 2 * shared;
  if (alone > 0) text += fmt::format("\n{} sentences that one of them watched alone are left out.\n", alone);
  if (a.run != b.run && shared > 0) {
    text += "\nHeads are compared by number; in two runs the same number need not do the same.\n";
  }
  return text;
}

}  // namespace heed
