#include <heed/nn/reader.h>

#include <cmath>

namespace heed {
namespace {

Mask padding(const ReaderInput& input, const Tensor& x) {
  return Mask::padding(input.lengths, static_cast<int>(x.size(1)));
}

// at_query (B, d_model) -> (B, vocabulary)
Tensor logits(const Reader& reader, Tensor at_query) {
  Hook::show(reader.name, "at_query", at_query);
  Tensor result = linear(at_query, transpose(reader.token_embedding.weight), reader.output_bias);
  Hook::show(reader.name, "logits", result);
  return result;
}

}  // namespace

// Words have vectors of length about 1 where they meet the encoder's output in logits, and sqrt(d_model) times that
// where they enter it (Vaswani et al. 2017, section 3.4), so that what a token is outweighs what is first mixed into it.
Reader::Reader(Scope scope, const ReaderConfig& given)
    : name(scope.name()),
      config(given),
      token_embedding(scope / "words", config.vocabulary, config.attention.d_model,
                      1 / std::sqrt(config.attention.d_model)),
      learned_positions(config.positions == Positions::learned
                            ? std::optional<LearnedPositions>(std::in_place, scope / "positions", config.max_length,
                                                              config.attention.d_model)
                            : std::nullopt),
      sentence(config.sentences > 0 ? std::optional<Embedding>(std::in_place, scope / "sentences", config.sentences,
                                                               config.attention.d_model)
                                    : std::nullopt),
      encoder(scope / "encoder", config.layers, config.attention, config.mlp, Residual::no),
      output_bias(scope.parameter("output_bias", {config.vocabulary}, Init::zeros())) {}

Tensor Reader::embed(const ReaderInput& input) const {
  const Shape& size = input.tokens.shape();
  if (size.rank() != 2 || input.lengths.size() != static_cast<std::size_t>(size[0])) {
    fail("Reader: expected tokens (B, T) and B lengths, got {} and {} lengths", to_string(size), input.lengths.size());
  }
  const int T = static_cast<int>(size[1]);
  Tensor x = token_embedding(input.tokens) * std::sqrt(config.attention.d_model);  // (B, T, d_model)
  if (learned_positions) x = (*learned_positions)(x);
  if (config.positions == Positions::sinusoidal) x = x + sinusoidal_positions(T, config.attention.d_model, x.dtype());
  if (sentence) x = x + (*sentence)(input.sentences);
  Hook::show(name, "embedded", x);
  return x;
}

Reader::Output Reader::operator()(const ReaderInput& input, Weights weights, const Dropout& drop) const {
  const Tensor x = embed(input);
  Encoded encoded = encoder(x, padding(input, x), weights, drop);
  return {logits(*this, select_rows(encoded.output, input.query)), std::move(encoded.weights)};
}

Reader::Output Reader::at_query(const ReaderInput& input, Weights weights, const Dropout& drop) const {
  const Tensor x = embed(input);
  Encoded encoded = encoder.at(input.query, x, padding(input, x), weights, drop);
  return {logits(*this, encoded.output), std::move(encoded.weights)};
}

}  // namespace heed
