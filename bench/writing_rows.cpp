#include "bench/rows.h"

#include <heed/heed.h>

#include <algorithm>

namespace heed::bench {
namespace {

struct Model {
  Parameters parameters;
  Reader reader;
  explicit Model(const ReaderConfig& config) : reader(Scope(parameters, 1), config) {}
};

// A language model that writes, each token the likeliest.
class Writer {
 public:
  explicit Writer(std::shared_ptr<const Model> model) : model_(std::move(model)) {}

  // The logit of each token that it wrote.
  std::vector<double> write(int tokens) {
    const NoRecording no_recording;
    std::vector<double> logits;
    for (int i = 0; i < tokens; ++i) {
      const std::int64_t context = model_->reader.config.max_length, read = past_.empty() ? 0 : past_[0].length();
      std::int64_t unread = 1;
      if (read + unread > context) {  // as inspect --continue does
        past_.clear();
        unread = std::max<std::int64_t>(1, context / 2);
      }
      const Tensor next = model_->reader.go_on(Ids({1, unread}, {written_.end() - unread, written_.end()}), past_);
      written_.push_back(argmax(next)[0]);
      logits.push_back(next.at({0, written_.back()}));
    }
    return logits;
  }

 private:
  std::shared_ptr<const Model> model_;
  Past past_;
  std::vector<std::int32_t> written_{1};
};

Row writing_row(const std::string& name, const ReaderConfig& config, int tokens, const std::filesystem::path& scratch) {
  const std::filesystem::path file = scratch / (name + ".safetensors");
  const auto make = [=] {
    const auto model = std::make_shared<Model>(config);
    if (!std::filesystem::exists(file)) {
      write_safetensors(file, {{model->parameters.begin(), model->parameters.end()}, {}});
    }
    return model;
  };
  // Weights that a token reads: all but the rows of the words and positions that it is not.
  const double d = config.attention.d_model;
  const int products = config.parts.activation == Activation::swiglu ? 3 : 2;  // of an MLP
  const double weights = config.layers * (4 * d * d + products * d * config.mlp) + config.vocabulary * d;
  return {.name = name,
          .twin = {{"row", "writing"},
                   {"file", file.string()},
                   {"layers", config.layers},
                   {"heads", config.attention.heads},
                   {"context", config.max_length},
                   {"tokens", tokens}},
          .bytes = 4 * weights * tokens,
          .prepare = [=] { return [tokens, writer = std::make_shared<Writer>(make())] { writer->write(tokens); }; },
          .losses = [=](int count) { return Writer(make()).write(count); }};
}

}  // namespace

std::vector<Row> writing_rows(const std::filesystem::path& scratch, bool quick) {
  const auto gpt = [](int layers, int heads, int d_model, int T, int vocabulary) {
    return ReaderConfig{.vocabulary = vocabulary,
                        .max_length = T,
                        .layers = layers,
                        .mlp = 4 * d_model,
                        .predicts = Predicts::next,
                        .attention = {.d_model = d_model, .heads = heads, .bias = Bias::yes, .output_bias = Bias::yes}};
  };
  const ReaderConfig shakespeare{
      .vocabulary = 65,
      .max_length = 256,
      .layers = 6,
      .mlp = 300,
      .parts = {.norm = Norm::Kind::rms, .activation = Activation::swiglu},
      .positions = Positions::rotary,
      .predicts = Predicts::next,
      .attention = {.d_model = 112, .heads = 4, .output_bias = Bias::no, .normalised = NormalisedHeads::yes}};
  std::vector<Row> rows{writing_row("char writes 1000", gpt(4, 4, 128, 64, 65), quick ? 100 : 1000, scratch)};
  rows.push_back(writing_row("shakespeare writes 1000", shakespeare, quick ? 100 : 1000, scratch));
  if (!quick) rows.push_back(writing_row("gpt2 writes 1", gpt(12, 12, 768, 1024, 50257), 1, scratch));
  return rows;
}

}  // namespace heed::bench
