#include "bench/rows.h"
#include "bench/toy_data.h"

#include <heed/autograd/autocast.h>
#include <heed/heed.h>
#include <heed/models/model.h>

#include <cmath>

namespace heed::bench {
namespace {

constexpr int steps_with_data = 20;

// A model, its optimiser and its batches. The peer gets the same from a file.
struct Trained {
  Parameters parameters;
  std::function<Tensor(int batch)> loss;
  std::unique_ptr<Optimizer> optimizer;
  std::shared_ptr<void> model;
  Precision precision = Precision::float32;

  double step(int number) const {
    const Recording recording;
    const Autocast autocast(precision);
    const Tensor value = loss(number % steps_with_data);
    const Gradients gradients = backward(value);
    optimizer->step(gradients, 1e-3, clip_factor(global_norm(gradients), 1));
    return value.item();
  }
};

OptimizerOptions adamw() { return {.method = OptimizerOptions::Method::adamw, .weight_decay = 0.1}; }

// Words that follow each other by a rule, so that the model can learn something.
Ids text(int step, int B, int T, int vocabulary) {
  Random random = Random(1).stream(static_cast<std::uint64_t>(step));
  std::vector<std::int32_t> ids;
  for (int b = 0; b < B; ++b) {
    std::int64_t word = random.below(vocabulary);
    for (int t = 0; t < T; ++t) {
      ids.push_back(static_cast<std::int32_t>(word));
      word = (word * 31 + 17 + random.below(3)) % vocabulary;
    }
  }
  return Ids({B, T}, ids);
}

Row row_of(const std::string& name, const Json& counterpart, double flops, double bytes,
           const std::function<std::unique_ptr<Trained>()>& make) {
  return {.name = name,
          .counterpart = counterpart,
          .flops = flops,
          .bytes = bytes,
          .prepare = [=] { return [trained = std::shared_ptr(make()), step = 0]() mutable { trained->step(step++); }; },
          .losses =
              [=](int steps) {
                const auto trained = make();
                std::vector<double> losses;
                for (int step = 0; step < steps; ++step) losses.push_back(trained->step(step));
                return losses;
              }};
}

// nanoGPT's models (github.com/karpathy/nanoGPT): GELU with erf, MLP four times as wide, biases throughout.
Row language_row(const std::string& name, int layers, int heads, int d_model, int T, int B, int vocabulary,
                 const std::filesystem::path& scratch, Precision precision = Precision::float32) {
  const std::filesystem::path file = scratch / (name + ".safetensors");
  const auto make = [=] {
    auto trained = std::make_unique<Trained>();
    trained->precision = precision;
    ModelConfig config = language_model(gpt2(layers, heads, d_model));
    config.transformer.vocabulary = vocabulary, config.transformer.max_length = T;
    config.transformer.block.mlp.activation = Activation::gelu;
    const auto model = std::make_shared<Model>(Scope(trained->parameters, 1), config);
    if (!std::filesystem::exists(file)) {
      SafeTensors content{{trained->parameters.begin(), trained->parameters.end()}, {}};
      for (int step = 0; step < steps_with_data; ++step) {
        content.tensors.emplace_back(fmt::format("batch.{}.tokens", step), numbers(text(step, B, T + 1, vocabulary)));
      }
      write_safetensors(file, content);
    }
    std::vector<Batch> batches;
    for (int step = 0; step < steps_with_data; ++step) {
      const Ids all = text(step, B, T + 1, vocabulary);
      std::vector<std::int32_t> read, next;
      for (std::int64_t i = 0; i < all.numel(); ++i) {
        if (i % (T + 1) < T) read.push_back(all[i]);
        if (i % (T + 1) > 0) next.push_back(all[i]);
      }
      batches.push_back({.tokens = Ids({B, T}, read), .targets = Ids({B * T}, next)});
    }
    trained->loss = [=](int step) { return model->loss(batches[static_cast<std::size_t>(step)]); };
    trained->optimizer = std::make_unique<Optimizer>(trained->parameters, adamw());
    trained->model = model;
    return trained;
  };
  // Products of a token with each weight, once forward and twice backward; seven products for attention.
  const double matrices = 12.0 * layers * d_model * d_model + static_cast<double>(vocabulary) * d_model;
  const double flops = 6 * matrices * B * T + 7.0 * layers * B * T * T * d_model;
  const bool rounds = precision == Precision::bfloat16;
  Row row = row_of(name, {{"row", "language model"}, {"file", file.string()}, {"layers", layers}, {"heads", heads}},
                   rounds ? 0 : flops, 28.0 * (matrices + static_cast<double>(T) * d_model), make);
  if (rounds) {
    row.counterpart["autocast"] = true;
    row.tolerance = 5e-3;
  }
  return row;
}

Row toy_row(const std::filesystem::path& scratch) {
  const std::filesystem::path file = scratch / "toy.safetensors";
  constexpr int batch_size = 64, d_model = 64, heads = 2, d = 16, layers = 2;
  const auto task = std::make_shared<const Task>(toy_task());
  const NumberedExamples examples(task->train, task->vocabulary);
  std::vector<Batch> batches;
  for (int step = 0; step < steps_with_data; ++step) {
    batches.push_back(examples.batch(batch_order(examples.size(), batch_size, step, Random(1))));
  }
  const auto make = [=] {
    auto trained = std::make_unique<Trained>();
    TransformerConfig config{.vocabulary = task->vocabulary.size(),
                             .max_length = task->max_length,
                             .layers = layers,
                             .embedding_scale = std::sqrt(d_model),
                             .block = {.attention = {.d_model = d_model, .heads = heads, .d_k = d, .d_v = d}},
                             .last_residual = false};
    const auto model = std::make_shared<Model>(Scope(trained->parameters, 1), word_answerer(config));
    if (!std::filesystem::exists(file)) {
      SafeTensors content{{trained->parameters.begin(), trained->parameters.end()}, {}};
      for (int step = 0; step < steps_with_data; ++step) {
        add_batch(content, fmt::format("batch.{}", step), batches[static_cast<std::size_t>(step)]);
      }
      write_safetensors(file, content);
    }
    trained->loss = [model, batches](int step) { return model->loss(batches[static_cast<std::size_t>(step)]); };
    trained->optimizer = std::make_unique<Optimizer>(trained->parameters, adamw());
    trained->model = model;
    return trained;
  };
  // The last layer has one query per sentence: this reduces the rows of W_Q and W_O, and of attention.
  const double T = task->max_length, tokens = batch_size * T;
  const double queries = (layers - 1) * tokens + batch_size;
  const double flops =
      6.0 * d_model * (heads * d * 2 * (queries + layers * tokens) + task->vocabulary.size() * batch_size) +
      7 * 2.0 * heads * d * queries * T;
  return row_of("toy", {{"row", "reader"}, {"file", file.string()}, {"layers", layers}, {"heads", heads}}, flops, 0,
                make);
}

}  // namespace

std::vector<Row> model_rows(const std::filesystem::path& scratch, bool quick) {
  std::vector<Row> rows{toy_row(scratch), language_row("char", 4, 4, 128, 64, 12, 65, scratch)};
  if (!quick) rows.push_back(language_row("gpt2", 12, 12, 768, 64, 4, 50257, scratch));
  constexpr Precision bfloat16 = Precision::bfloat16;
  rows.push_back(language_row("char in bfloat16", 4, 4, 128, 64, 12, 65, scratch, bfloat16));
  if (!quick) {
    rows.push_back(language_row("gpt2 in bfloat16", 12, 12, 768, 64, 4, 50257, scratch, bfloat16));
    rows.push_back(language_row("gpt2 in bfloat16, T 256", 12, 12, 768, 256, 4, 50257, scratch, bfloat16));
  }
  return rows;
}

}  // namespace heed::bench
