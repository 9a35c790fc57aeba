#include "bench/rows.h"

#include <heed/heed.h>
#include <heed/models/generate.h>

#include <algorithm>

namespace heed::bench {
namespace {

struct Decoder {
  Parameters parameters;
  Model model;
  explicit Decoder(const TransformerConfig& config) : model(Scope(parameters, 1), language_model(config)) {}
};

// A language model that generates the most probable tokens.
class Writer {
 public:
  explicit Writer(std::shared_ptr<const Decoder> decoder) : decoder_(std::move(decoder)) {}

  // The logits of the generated tokens.
  std::vector<double> write(int tokens) {
    const NoRecording no_recording;
    std::vector<double> logits;
    for (int i = 0; i < tokens; ++i) {
      const Model& model = decoder_->model;
      const std::int64_t context = model.transformer().config.max_length;
      std::int64_t unread = 1;
      if (length(cache_) + unread > context) {  // as in inspect generate
        cache_.clear();
        unread = std::max<std::int64_t>(1, context / 2);
      }
      const Tensor next = model.append(Ids({1, unread}, {written_.end() - unread, written_.end()}), cache_);
      written_.push_back(argmax(next)[0]);
      logits.push_back(next.at({0, written_.back()}));
    }
    return logits;
  }

 private:
  std::shared_ptr<const Decoder> decoder_;
  Cache cache_;
  std::vector<std::int32_t> written_{1};
};

Row writing_row(const std::string& name, const TransformerConfig& config, int tokens,
                const std::filesystem::path& scratch) {
  const std::filesystem::path file = scratch / (name + ".safetensors");
  const auto make = [=] {
    const auto decoder = std::make_shared<Decoder>(config);
    if (!std::filesystem::exists(file)) {
      write_safetensors(file, {{decoder->parameters.begin(), decoder->parameters.end()}, {}});
    }
    return decoder;
  };
  // Weights read per token: all except the embedding rows of other words and positions.
  const double d = config.d_model();
  const MlpConfig& mlp = config.block.mlp;
  const int products = mlp.gated ? 3 : 2;  // per MLP
  const double weights = config.layers * (4 * d * d + products * d * mlp.width) + config.vocabulary * d;
  return {.name = name,
          .counterpart = {{"row", "writing"},
                          {"file", file.string()},
                          {"layers", config.layers},
                          {"heads", config.heads()},
                          {"context", config.max_length},
                          {"tokens", tokens}},
          .bytes = 4 * weights * tokens,
          .prepare = [=] { return [tokens, writer = std::make_shared<Writer>(make())] { writer->write(tokens); }; },
          .losses = [=](int count) { return Writer(make()).write(count); }};
}

}  // namespace

std::vector<Row> writing_rows(const std::filesystem::path& scratch, bool quick) {
  const auto gpt = [](int layers, int heads, int d_model, int T, int vocabulary) {
    TransformerConfig config = gpt2(layers, heads, d_model);
    config.vocabulary = vocabulary, config.max_length = T;
    config.block.mlp.activation = Activation::gelu;
    return config;
  };
  TransformerConfig shakespeare = llama(6, 4, 4, 112, 300);
  shakespeare.vocabulary = 65, shakespeare.max_length = 256;
  shakespeare.block.norm = rms_config;
  shakespeare.block.attention.query_key_norm = QueryKeyNorm::heads;
  std::vector<Row> rows{writing_row("char writes 1000", gpt(4, 4, 128, 64, 65), quick ? 100 : 1000, scratch)};
  rows.push_back(writing_row("shakespeare writes 1000", shakespeare, quick ? 100 : 1000, scratch));
  if (!quick) rows.push_back(writing_row("gpt2 writes 1", gpt(12, 12, 768, 1024, 50257), 1, scratch));
  return rows;
}

}  // namespace heed::bench
