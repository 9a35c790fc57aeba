#include "inspect/views/view.h"

#include <heed/autograd/ops.h>
#include <heed/files/utf8.h>
#include <heed/nn/hook.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

// Every matrix of one head: softmax(Q K^T / sqrt(d_k)) V (Vaswani et al. 2017, equation 1).
struct Walk {
  Tensor W_Q, W_K, W_V;                    // (d_model, d_k), (d_model, d_k), (d_model, d_v)
  Tensor Q, K, V;                          // (T, d_k), (T, d_k), (T, d_v)
  Tensor scores, scaled, weights, output;  // (T, T), (T, T), (T, T), (T, d_v)
};

// The part of a packed Linear that belongs to one head.
Linear head_of(const Linear& packed, int head, std::int64_t d) {
  Linear part = packed;
  part.weight = slice(packed.weight, 1, head * d, (head + 1) * d);
  if (packed.bias.defined()) part.bias = slice(packed.bias, 0, head * d, (head + 1) * d);
  return part;
}

Walk walk(const Tensor& X, const MultiHeadAttention& attention, int head) {
  const std::int64_t d_k = attention.config.d_k, d_v = attention.config.d_v;
  const Linear W_Q = head_of(attention.W_Q, head, d_k);
  const Linear W_K = head_of(attention.W_K, head, d_k);
  const Linear W_V = head_of(attention.W_V, head, d_v);
  const Tensor Q = W_Q(X), K = W_K(X), V = W_V(X);
  const Tensor scores = matmul(Q, transpose(K));
  const Tensor scaled = scores / std::sqrt(static_cast<double>(d_k));
  const Tensor weights = softmax(scaled);
  return {W_Q.weight, W_K.weight, W_V.weight, Q, K, V, scores, scaled, weights, matmul(weights, V)};
}

// What the attention of `layer` (from 0) reads: (1, T, d_model).
Tensor attention_input(const Reader& reader, const ReaderInput& input, int layer) {
  const std::string wanted = reader.encoder.blocks[static_cast<std::size_t>(layer)].attention_norm.name + ".output";
  Tensor x;
  const Hook hook([&](const std::string& name, const Tensor& value) {
    if (name == wanted) x = value;
  });
  reader(input);
  return x;
}

double largest(const Tensor& x) { return std::sqrt(max(square(x)).item()); }

constexpr int elided = -1;

// `first` numbers, a gap and `last` numbers of [0, count).
std::vector<int> ends_of(int count, int first, int last) {
  std::vector<int> result;
  for (int i = 0; i < count; ++i) {
    if (i < first || i >= count - last) {
      result.push_back(i);
    } else if (result.back() != elided) {
      result.push_back(elided);
    }
  }
  return result;
}

struct Table {
  Tensor values;                                      // (n, m)
  const std::vector<std::string>* rows = nullptr;     // names of the rows
  const std::vector<std::string>* columns = nullptr;  // names of the columns
};

std::string table_text(const Table& table, const View& view) {
  constexpr int indent = 2, gap = 2, widest_label = 12, most_named_rows = 16, most_rows = 6;
  const int n = static_cast<int>(table.values.size(0)), m = static_cast<int>(table.values.size(1));
  const auto name = [](const std::vector<std::string>& names, int i) { return names[static_cast<std::size_t>(i)]; };

  int label = 0;
  for (int r = 0; table.rows && r < n; ++r) label = std::max(label, display_width(name(*table.rows, r)));
  label = std::min(label, widest_label);
  const int room = view.terminal.width - indent - label;
  int decimals = 3;
  const auto width = [&] { return static_cast<int>(fmt::format(" {:.{}f}", -largest(table.values), decimals).size()); };
  if (m * width() > room && m * (width() - 1) <= room) decimals = 2;
  const int cell = width();
  const int fitting = m * cell <= room ? m : std::max(2, (room - gap) / cell);
  const std::vector<int> columns = ends_of(m, m == fitting ? m : (fitting + 1) / 2, m == fitting ? 0 : fitting / 2);
  const int most = table.rows ? most_named_rows : most_rows;
  const std::vector<int> rows = ends_of(n, n > most ? most / 2 : n, n > most ? most / 2 : 0);

  std::string text;
  if (table.columns) {
    text += std::string(static_cast<std::size_t>(indent + label), ' ');
    for (const int c : columns) {
      const std::string word = c == elided ? "…" : name(*table.columns, c);
      const int place = c == elided ? gap : cell;
      const std::string cut = display_width(word) < place ? word : fit_width(word, place - 1);
      text += std::string(static_cast<std::size_t>(place - display_width(cut)), ' ') + cut;
    }
    text += "\n";
  }
  for (const int r : rows) {
    text += std::string(indent, ' ');
    if (r == elided) {
      text += "…\n";
      continue;
    }
    if (table.rows) text += fit_width(name(*table.rows, r), label);
    for (const int c : columns) {
      text += c == elided ? " …" : fmt::format("{:{}.{}f}", table.values.at({r, c}), cell, decimals);
    }
    text += "\n";
  }
  return text;
}

}  // namespace

std::string steps_view(const SavedModel& model, const Example& example, const View& view) {
  const Reader& reader = *model.reader;
  const int layer = chosen_range("layer", view.layer, static_cast<int>(reader.encoder.blocks.size())).begin;
  const MultiHeadAttention& attention = reader.encoder.blocks[static_cast<std::size_t>(layer)].attention;
  const int head = chosen_range("head", view.head, attention.config.heads).begin;
  const Tensor x = attention_input(reader, reader_input(reader, model.vocabulary, example), layer);
  const Tensor X = reshape(x, {x.size(1), x.size(2)});

  std::vector<Tensor> outputs;
  for (int h = 0; h < attention.config.heads; ++h) outputs.push_back(walk(X, attention, h).output);
  const Tensor all = attention.W_O(concat(outputs, 1));
  const double difference = largest(all - reshape(attention(x).output, all.shape()));
  if (!(difference <= 1e-4 * std::max(1.0, largest(all)))) {
    fail("the steps give an output that differs from the layer's own by {:.3g}", difference);
  }

  const Walk w = walk(X, attention, head);
  const Tensor own = attend(reader, model.vocabulary, example).layers[static_cast<std::size_t>(layer)];
  const double off = largest(w.weights - reshape(slice(own, 0, head, head + 1), w.weights.shape()));
  if (!(off <= 1e-4)) fail("the steps give weights that differ from the model's own by {:.3g}", off);
  const std::vector<std::string>* tokens = &example.tokens;
  const auto step = [&](const std::string& equation, const Table& table, const std::string& note = "") {
    return fmt::format("\n{}  {}{}\n{}", equation, to_string(table.values.shape()), note.empty() ? "" : "  " + note,
                       table_text(table, view));
  };
  const auto biased = [](const Linear& linear, const char* name) {
    return linear.bias.defined() ? fmt::format(" + b_{}", name) : std::string();
  };
  const int d_k = attention.config.d_k;
  std::string text =
      fmt::format("{}\nstep {}, layer {} of {}, head {} of {}: T = {}, d_model = {}, d_k = {}, d_v = {}\n",
                  fmt::join(example.tokens, " "), model.step, layer + 1, reader.encoder.blocks.size(), head + 1,
                  attention.config.heads, tokens->size(), attention.config.d_model, d_k, attention.config.d_v);
  text += step("X", {X, tokens},
               layer == 0 ? "the words with their positions, normalised"
                          : fmt::format("what layer {} made of the words, normalised", layer));
  text += step("W_Q", {w.W_Q}, "learned") + step("W_K", {w.W_K}, "learned") + step("W_V", {w.W_V}, "learned");
  text += step("Q = X W_Q" + biased(attention.W_Q, "Q"), {w.Q, tokens}, "what each word asks for");
  text += step("K = X W_K" + biased(attention.W_K, "K"), {w.K, tokens}, "what each word answers to");
  text += step("V = X W_V" + biased(attention.W_V, "V"), {w.V, tokens}, "what each word hands over");
  text += step("scores = Q K^T", {w.scores, tokens, tokens});
  text += step(fmt::format("scaled = scores / sqrt({})", d_k), {w.scaled, tokens, tokens});
  text += step("weights = softmax(scaled)", {w.weights, tokens, tokens}, "each row sums to 1");
  text += step("output = weights V", {w.output, tokens});
  text += step(fmt::format("[heads 1 to {}] W_O", attention.config.heads) + biased(attention.W_O, "O"), {all, tokens},
               fmt::format("the layer's own output, to {:.1e}", difference));
  return text;
}

}  // namespace heed
