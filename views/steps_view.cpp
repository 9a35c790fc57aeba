#include "views/sentence_text.h"
#include "views/view.h"
#include "views/written_tokens.h"

#include <heed/autograd/ops.h>
#include <heed/explain/trace.h>
#include <heed/tokenizers/graphemes.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace heed {
namespace {

double largest(const Tensor& x) { return std::sqrt(max(square(x)).item()); }

// Each printed equation holds for the printed numbers, if they are finite.
double check_step(const std::string& equation, const Tensor& shown, const Tensor& computed) {
  const std::vector<double> one = shown.to_vector(), other = computed.to_vector();
  double off = 0, size = 1;
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (!std::isfinite(other[i])) continue;
    const double apart = std::abs(one[i] - other[i]);
    if (!std::isfinite(apart)) fail("the steps do not add up: '{}' has {} instead of {}", equation, one[i], other[i]);
    off = std::max(off, apart);
    size = std::max(size, std::abs(one[i]));
  }
  if (off > 1e-4 * size) fail("the steps do not add up: '{}' is off by {:.3g}", equation, off);
  return off;
}

// Computes one head, softmax(Q K^T / sqrt(d_k)) V (Vaswani et al. 2017, equation 1), from the layer's parameters.
struct Steps {
  Linear W_Q, W_K, W_V;                    // (d_model, d_k), (d_model, d_k), (d_model, d_v)
  Tensor Q, K, V;                          // (T, d_k), (T, d_k), (T, d_v)
  Tensor scores, scaled, weights, output;  // (T, T), (T, T), (T, T), (T, d_v)
  Tensor joined;                           // concatenated heads, (T, heads d_v)
};

Steps steps_of(const MultiHeadAttention& attention, const LayerTrace& seen, int head) {
  const int heads_of_all = attention.config.heads, kv_heads = attention.config.kv_heads;
  const auto of_head = [&](const Tensor& all) {  // (1, heads, T, n)
    const std::int64_t h = head / (heads_of_all / all.size(1));
    return reshape(slice(all, 1, h, h + 1), {all.size(2), all.size(3)});
  };
  const auto columns_of_head = [&](const Linear& packed, int count) {
    const std::int64_t d = packed.weight.size(1) / count, h = head / (heads_of_all / count);
    Linear part = packed;
    part.weight = Parameter(slice(packed.weight, 1, h * d, (h + 1) * d).to(DType::float32));
    if (packed.bias.defined()) part.bias = Parameter(slice(packed.bias, 0, h * d, (h + 1) * d));
    return part;
  };
  Steps s{columns_of_head(attention.W_Q, heads_of_all),
          columns_of_head(attention.W_K, kv_heads),
          columns_of_head(attention.W_V, kv_heads),
          of_head(seen.q),
          of_head(seen.k),
          of_head(seen.v),
          {},
          of_head(seen.scores),
          of_head(seen.weights),
          of_head(seen.head_output),
          {}};
  s.scores = matmul(s.Q, transpose(s.K));
  const Tensor heads = transpose(seen.head_output, 1, 2);  // (1, T, heads, d_v)
  s.joined = reshape(heads, {heads.size(1), heads.size(2) * heads.size(3)});
  return s;
}

struct Stage {
  std::string equation;
  Tensor value;  // (T, d_k)
  std::string note;
};

// Returns the steps from X to Q or K: the product, the normalised values if `normalised` is defined, and the rotated values.
std::vector<Stage> stages_of(const char* name, const Tensor& X, const Linear& W, const Tensor& normalised,
                             const AttentionConfig& config, const std::optional<RotaryEmbedding>& rotary,
                             const std::string& note) {
  std::vector<Stage> stages{
      {fmt::format("{0} = X W_{0}{1}", name, W.bias.defined() ? fmt::format(" + b_{}", name) : ""), W(X), note}};
  if (normalised.defined()) {
    const bool is_rms = config.query_key.kind == NormKind::rms, over_all = config.query_key_norm == QueryKeyNorm::all;
    stages.push_back({is_rms ? fmt::format("{0} / sqrt(mean({0}^2))", name) : fmt::format("LayerNorm({})", name),
                      normalised,
                      fmt::format("each row normalised{}, times its learned gain", over_all ? " over all heads" : "")});
  }
  if (rotary) {
    stages.push_back({fmt::format("{}, rotated", name), (*rotary)(stages.back().value), "by each word's position"});
  }
  return stages;
}

constexpr int elided = -1;

// Selects the `first` numbers, a gap and the `last` numbers of [0, count).
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
  constexpr int indent = 2, gap = 2, widest_row_label = 12, max_named_rows = 16, max_rows = 6;
  const int n = static_cast<int>(table.values.size(0)), m = static_cast<int>(table.values.size(1));
  const auto name = [](const std::vector<std::string>& names, int i) {
    return token_text(names[static_cast<std::size_t>(i)]);
  };

  int label = 0;
  for (int r = 0; table.rows && r < n; ++r) label = std::max(label, display_width(name(*table.rows, r)));
  label = std::min(label, widest_row_label);
  const int room = view.terminal.width - indent - label;
  int decimals = 3;
  const auto width = [&] { return static_cast<int>(fmt::format(" {:.{}f}", -largest(table.values), decimals).size()); };
  if (m * width() > room && m * (width() - 1) <= room) decimals = 2;
  const int cell = width();
  const int fitting = m * cell <= room ? m : std::max(2, (room - gap) / cell);
  const std::vector<int> columns = ends_of(m, m == fitting ? m : (fitting + 1) / 2, m == fitting ? 0 : fitting / 2);
  const int most = table.rows ? max_named_rows : max_rows;
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

// One equation between X and the output, with its numbers.
struct Step {
  std::string equation;
  Table table;
  std::string note;
};

struct Walk {
  int layer, head, layers;
  AttentionConfig config;
  std::vector<Step> steps;
};

std::int64_t not_finite(const Tensor& values) {
  return std::ranges::count_if(values.to_vector(), [](double value) { return !std::isfinite(value); });
}

// Labels the tables with the tokens as `shown`.
Walk walk_of(const Model& model, const Example& example, const std::vector<std::string>& shown, const View& view) {
  const Transformer& transformer = model.transformer();
  const int layer = chosen_range("layer", view.layer, model.layers()).begin;
  const TransformerBlock& block = transformer.blocks[static_cast<std::size_t>(layer)];
  const MultiHeadAttention& attention = block.attention;
  const int head = chosen_range("head", view.head, attention.config.heads).begin;
  const Tensor own =  // throws NotFinite if a number is not finite
      attend(model, example).layers[static_cast<std::size_t>(layer)];
  const Trace seen = trace(model, batch_of(model, example));
  const LayerTrace& seen_layer = seen.layers[static_cast<std::size_t>(layer)];
  const Tensor x = seen_layer.attention_input;  // (1, T, d_model)
  const Tensor X = reshape(x, {x.size(1), x.size(2)});

  const bool looks_back = transformer.config.causal;
  const Mask mask = attention.narrowed(looks_back ? Mask::causal() : Mask());
  const Steps s = steps_of(attention, seen_layer, head);
  const int d_k = attention.config.d_k;
  const bool is_added =
      transformer.config.positions == Positions::learned || transformer.config.positions == Positions::sinusoidal;
  const auto normalised = [&](const Linear& packed, const std::optional<Norm>& norm, int heads) {
    if (!norm) return Tensor();
    const std::int64_t at = head / (attention.config.heads / heads) * d_k;
    const Tensor product = packed(X);
    const bool over_all = attention.config.query_key_norm == QueryKeyNorm::all;
    return over_all ? slice((*norm)(product), 1, at, at + d_k) : (*norm)(slice(product, 1, at, at + d_k));
  };
  const std::vector<Stage> stages_of_Q =
      stages_of("Q", X, s.W_Q, normalised(attention.W_Q, attention.q_norm, attention.config.heads), attention.config,
                attention.rotary, "what each token looks for");
  const std::vector<Stage> stages_of_K =
      stages_of("K", X, s.W_K, normalised(attention.W_K, attention.k_norm, attention.config.kv_heads), attention.config,
                attention.rotary, "what each token offers to queries");
  check_step(stages_of_Q.back().equation, s.Q, stages_of_Q.back().value);
  check_step(stages_of_K.back().equation, s.K, stages_of_K.back().value);
  check_step("V = X W_V", s.V, s.W_V(X));
  const double soft_cap = attention.config.soft_cap;
  check_step("scaled = scores * scale", s.scaled, s.scores * attention.score_scale());
  const Tensor capped = soft_cap > 0 ? tanh(s.scaled / soft_cap) * soft_cap : s.scaled;
  const Tensor visible =
      masked_fill(capped, mask.hidden(X.size(0), X.size(0)), -std::numeric_limits<double>::infinity());
  check_step("weights = softmax(scaled)", s.weights, softmax(visible));
  check_step("output = weights V", s.output, matmul(s.weights, s.V));
  const Tensor all = attention.W_O(s.joined);
  const double difference =
      check_step("[heads] W_O = the layer's own output", all, reshape(attention(x, mask).output, all.shape()));
  check_step("weights = the model's own", s.weights, reshape(slice(own, 0, head, head + 1), s.weights.shape()));

  const auto biased = [](const Linear& linear, const char* name) {
    return linear.bias.defined() ? fmt::format(" + b_{}", name) : std::string();
  };
  const std::vector<std::string>* tokens = &shown;
  Walk walk{.layer = layer, .head = head, .layers = model.layers(), .config = attention.config, .steps = {}};
  std::vector<Step>& steps = walk.steps;
  steps.push_back({"X",
                   {X, tokens},
                   fmt::format("{}{}",
                               layer == 0 ? fmt::format("the words{}", is_added ? " with their positions" : "")
                                          : fmt::format("the output of layer {}", layer),
                               block.attention_norms.input ? ", normalised" : "")});
  steps.push_back({"W_Q", {s.W_Q.weight}, "learned"});
  steps.push_back({"W_K", {s.W_K.weight}, "learned"});
  steps.push_back({"W_V", {s.W_V.weight}, "learned"});
  for (const std::vector<Stage>& stages : {stages_of_Q, stages_of_K}) {
    for (const auto& [equation, value, note] : stages) steps.push_back({equation, {value, tokens}, note});
  }
  steps.push_back({"V = X W_V" + biased(attention.W_V, "V"), {s.V, tokens}, "what each token passes on"});
  steps.push_back({"scores = Q K^T", {s.scores, tokens, tokens}, ""});
  const std::string scale =
      attention.config.scale > 0 ? fmt::format("* {:g}", attention.config.scale) : fmt::format("/ sqrt({})", d_k);
  steps.push_back({"scaled = scores " + scale, {s.scaled, tokens, tokens}, ""});
  if (soft_cap > 0) {
    steps.push_back({fmt::format("capped = {0:g} tanh(scaled / {0:g})", soft_cap), {capped, tokens, tokens}, ""});
  }
  steps.push_back({soft_cap > 0 ? "weights = softmax(capped)" : "weights = softmax(scaled)",
                   {s.weights, tokens, tokens},
                   looks_back ? "each row sums to 1; later tokens are hidden" : "each row sums to 1"});
  steps.push_back({"output = weights V", {s.output, tokens}, ""});
  steps.push_back({fmt::format("[heads 1 to {}] W_O", attention.config.heads) + biased(attention.W_O, "O"),
                   {all, tokens},
                   fmt::format("the layer's own output, to {:.1e}", difference)});
  return walk;
}

// Returns "Infinite or NaN: 9 of 121 numbers of scores = Q K^T.", or "" if all are finite.
std::string overflow_text(const Walk& walk) {
  std::vector<std::string> found;
  for (const Step& step : walk.steps) {
    const std::int64_t count = not_finite(step.table.values);
    if (count > 0)
      found.push_back(fmt::format("{} of {} numbers of {}", count, step.table.values.numel(), step.equation));
  }
  return found.empty() ? "" : fmt::format("Infinite or NaN: {}.", fmt::join(found, "; "));
}

}  // namespace

std::string steps_view(const Model& model, const Example& example, const View& view) {
  const std::vector<std::string> shown = shown_tokens(model.tokenizer, example.tokens);
  const Walk walk = walk_of(model, example, shown, view);
  const AttentionConfig& config = walk.config;
  std::string text = sentence_text(shown, example.query, antecedent_span(example.antecedent, example.candidates),
                                   view.terminal, holds_spaces(model)) +
                     "\n" +
                     paragraph(fmt::format("{}layer {} of {}, head {} of {}; T = {}, d_model = {}, d_k = {}, d_v = {}",
                                           step_text(model.step, view), walk.layer + 1, walk.layers, walk.head + 1,
                                           config.heads, example.tokens.size(), config.d_model, config.d_k, config.d_v),
                               view.terminal);
  if (const std::string overflow = overflow_text(walk); !overflow.empty()) {
    text += paragraph(overflow, view.terminal);
  }
  for (const auto& [equation, table, note] : walk.steps) {
    const std::string heading =
        fmt::format("{}  {}{}", equation, to_string(table.values.shape()), note.empty() ? "" : "  " + note);
    text += "\n" + paragraph(heading, view.terminal, 2) + table_text(table, view);
  }
  return text;
}

Json steps_json(const Model& model, const Example& example, const View& view) {
  const Walk walk = walk_of(model, example, example.tokens, view);
  Json steps = Json::array();
  for (const auto& [equation, table, note] : walk.steps) {
    Json rows = Json::array();
    for (std::int64_t r = 0; r < table.values.size(0); ++r) {
      Json row = Json::array();
      for (std::int64_t c = 0; c < table.values.size(1); ++c) row.push_back(number_or_null(table.values.at({r, c})));
      rows.push_back(std::move(row));
    }
    steps.push_back({{"equation", equation}, {"note", note}, {"values", std::move(rows)}});
  }
  return {{"tokens", example.tokens},          {"step", model.step},       {"layer", walk.layer}, {"head", walk.head},
          {"not_finite", overflow_text(walk)}, {"steps", std::move(steps)}};
}

}  // namespace heed
