#include "bench/rows.h"

#include <heed/heed.h>

#include <fmt/format.h>

#include <cmath>

namespace heed::bench {
namespace {

Tensor normal(const Shape& shape, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> values(std::min<std::size_t>(static_cast<std::size_t>(shape.numel()), 1 << 16));
  for (double& value : values) value = random.normal();
  Tensor result(shape, DType::float32);
  float* to = result.mutable_data<float>();
  for (std::int64_t i = 0; i < shape.numel(); ++i) {
    to[i] = static_cast<float>(values[static_cast<std::size_t>(i) % values.size()]);
  }
  return result;
}

Ids numbers(std::int64_t count, std::int64_t below) {
  std::vector<std::int32_t> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<std::int32_t>(i * 7919 % below));
  return Ids({count}, values);
}

std::string size_name(double bytes) {
  if (bytes < 1 << 20) return fmt::format("{:.0f} KB", bytes / (1 << 10));
  return fmt::format("{:.0f} MB", bytes / (1 << 20));
}

// y = f(x) and its gradient: reads x, writes y, reads dy and x or y, writes dx.
Row unary(const std::string& name, std::int64_t rows, std::int64_t columns,
          const std::function<Tensor(const Tensor&)>& f) {
  const double bytes = 4.0 * static_cast<double>(rows * columns);
  return {.name = fmt::format("{}, {}", name, size_name(bytes)),
          .counterpart = {{"row", name}, {"shape", {rows, columns}}},
          .bytes = 5 * bytes,
          .prepare = [=] {
            const Tensor x = variable(normal({rows, columns}, 1)), dy = normal({rows, columns}, 2);
            return [=] {
              const Recording recording;
              backward(f(x), dy);
            };
          }};
}

Row cross_entropy_row(std::int64_t rows, std::int64_t columns) {
  const double bytes = 4.0 * static_cast<double>(rows * columns);
  return {.name = fmt::format("cross-entropy, {}", size_name(bytes)),
          .counterpart = {{"row", "cross-entropy"}, {"shape", {rows, columns}}},
          .bytes = 2 * bytes,
          .prepare = [=] {
            const Tensor x = variable(normal({rows, columns}, 1));
            const Ids labels = numbers(rows, columns);
            return [=] {
              const Recording recording;
              backward(cross_entropy(x, labels));
            };
          }};
}

Row adamw_row(std::int64_t elements) {
  const double bytes = 4.0 * static_cast<double>(elements);
  return {.name = fmt::format("AdamW, {}", size_name(bytes)),
          .counterpart = {{"row", "AdamW"}, {"shape", {elements}}},
          .bytes = 7 * bytes,
          .prepare = [=] {
            const auto parameters = std::make_shared<Parameters>();
            const Tensor p = variable(normal({elements}, 1));
            parameters->add("p", p);
            Gradients gradients;
            gradients.set(p, normal({elements}, 2));
            const auto optimizer = std::make_shared<Optimizer>(
                *parameters, OptimizerOptions{.method = OptimizerOptions::Method::adamw, .weight_decay = 0.01});
            return [=] { optimizer->step(gradients, 1e-3); };
          }};
}

// The gradient of an embedding of 4,096 words: zeroes the table's gradient and adds to its rows.
Row embedding_row(std::int64_t words, std::int64_t d) {
  const double bytes = 4.0 * static_cast<double>(words * d);
  const std::int64_t ids = std::min<std::int64_t>(words, 4096);
  return {.name = fmt::format("embedding, {}", size_name(bytes)),
          .counterpart = {{"row", "embedding"}, {"shape", {words, d}}, {"ids", ids}},
          .bytes = bytes + 5.0 * 4.0 * static_cast<double>(ids * d),
          .prepare = [=] {
            const Tensor table = variable(normal({words, d}, 1)), dy = normal({ids, d}, 2);
            const Ids chosen = numbers(ids, words);
            return [=] {
              const Recording recording;
              backward(embedding(table, chosen), dy);
            };
          }};
}

// silu(gate) value and both gradients: reads gate and value twice and dy, writes y and two gradients.
Row swiglu_row(std::int64_t rows, std::int64_t columns) {
  const double bytes = 4.0 * static_cast<double>(rows * columns);
  return {.name = fmt::format("SwiGLU, {}", size_name(bytes)),
          .counterpart = {{"row", "SwiGLU"}, {"shape", {rows, columns}}},
          .bytes = 8 * bytes,
          .prepare = [=] {
            const Tensor gate = variable(normal({rows, columns}, 1)), value = variable(normal({rows, columns}, 3));
            const Tensor dy = normal({rows, columns}, 2);
            return [=] {
              const Recording recording;
              backward(swiglu(gate, value), dy);
            };
          }};
}

// Queries or keys of a layer, rotated by their positions, and the gradient rotated back. The table stays in a cache.
Row rotary_row(std::int64_t T) {
  const std::int64_t H = 8, d = 64;
  return {.name = fmt::format("rotary, T {}", T),
          .counterpart = {{"row", "rotary"}, {"shape", {1, H, T, d}}},
          .bytes = 4 * 4.0 * static_cast<double>(H * T * d),
          .prepare = [=] {
            const Shape shape{1, H, T, d};
            const Tensor x = variable(normal(shape, 1)), dy = normal(shape, 2);
            const RotaryEmbedding rotate(static_cast<int>(T), rotary_frequencies(static_cast<int>(d)));
            return [=] {
              const Recording recording;
              backward(rotate(x), dy);
            };
          }};
}

// Products: scores and output forward, and five backward (recomputed scores, dV, dP, dQ, dK).
Row attention_row(std::int64_t T, bool causal, std::int64_t kv_heads = 8) {
  const std::int64_t H = 8, d = 64;
  const double product = 2.0 * static_cast<double>(H * T * T * d) * (causal ? 0.5 : 1);
  return {.name = fmt::format("{}, T {}{}", kv_heads == H ? "attention" : "GQA", T, causal ? ", causal" : ""),
          .counterpart = {{"row", "attention"}, {"shape", {1, H, T, d}}, {"causal", causal}, {"kv_heads", kv_heads}},
          .flops = 7 * product,
          .prepare = [=] {
            const Shape shape{1, H, T, d};
            const Shape shared{1, kv_heads, T, d};
            const Tensor Q = variable(normal(shape, 1)), K = variable(normal(shared, 2)),
                         V = variable(normal(shared, 3));
            const Tensor dO = normal(shape, 4);
            const Mask mask = causal ? Mask::causal() : Mask();
            return [=] {
              const Recording recording;
              backward(attention(Q, K, V, {.mask = mask}).output, dO);
            };
          }};
}

// An LSTM of a character model reads texts, and its gradients. Products: of the inputs and of the states, forward and twice backward.
Row lstm_row(std::int64_t B, std::int64_t T, int d) {
  return {.name = fmt::format("LSTM, B {}, T {}, d {}", B, T, d),
          .counterpart = {{"row", "LSTM"}, {"shape", {B, T, d}}},
          .flops = 3 * 2.0 * static_cast<double>(B * T * 2 * d * 4 * d),
          .prepare = [=] {
            const auto parameters = std::make_shared<Parameters>();
            const LSTM lstm(Scope(*parameters, 1), d, d);
            const Tensor x = variable(normal({B, T, d}, 1)), dy = normal({B, T, d}, 2);
            return [=] {
              static_cast<void>(parameters);  // keeps their names
              const Recording recording;
              static_cast<void>(backward(lstm(x).output, dy));
            };
          }};
}

Row graph_row(std::int64_t operations) {
  return {.name = fmt::format("graph of {} scalars", operations),
          .counterpart = {{"row", "graph"}, {"operations", operations}},
          .prepare = [=] {
            const Tensor x = variable(full({}, 1.0));
            return [=] {
              const Recording recording;
              Tensor y = x;
              for (std::int64_t i = 0; i < operations / 2; ++i) y = y * 0.999 + x;
              backward(y);
            };
          }};
}

}  // namespace

std::vector<Row> operation_rows(bool quick) {
  std::vector<Row> rows;
  for (const std::int64_t T : {512, 2048, 8192}) {
    if (quick && T > 512) continue;
    rows.push_back(attention_row(T, false));
    rows.push_back(attention_row(T, true));
    if (T > 2048) continue;
    rows.push_back(attention_row(T, true, 2));
    rows.push_back(rotary_row(T));
  }
  // 1 KB, 32 KB, 1 MB, 16 MB, 256 MB
  for (const std::int64_t elements : {1 << 8, 1 << 13, 1 << 18, 1 << 22, 1 << 26}) {
    if (quick && elements > 1 << 18) continue;
    const std::int64_t columns = std::min<std::int64_t>(elements / 4, 1024), n = elements / columns;
    rows.push_back(unary("softmax", n, columns, [](const Tensor& x) { return softmax(x); }));
    const Tensor gain = variable(ones({columns})), bias = variable(zeros({columns}));
    rows.push_back(unary("layer norm", n, columns, [=](const Tensor& x) { return layer_norm(x, gain, bias); }));
    rows.push_back(unary("RMSNorm", n, columns, [=](const Tensor& x) { return rms_norm(x, gain); }));
    rows.push_back(unary("GELU", n, columns, [](const Tensor& x) { return gelu(x); }));
    rows.push_back(swiglu_row(n, columns));
    rows.push_back(cross_entropy_row(n, columns));
    rows.push_back(adamw_row(elements));
    rows.push_back(embedding_row(n, columns));
  }
  rows.push_back(lstm_row(8, 16, 32));
  if (!quick) rows.push_back(lstm_row(32, 64, 256));  // a character model
  if (!quick) rows.push_back(lstm_row(20, 35, 650));  // PyTorch's word_language_model
  rows.push_back(graph_row(quick ? 10'000 : 1'000'000));
  return rows;
}

}  // namespace heed::bench
