#include "nn/reader.h"

#include <cmath>

namespace heed {
namespace {

Mask padding(const ReaderInput& input, const Tensor& x) {
  return Mask::padding(input.lengths, static_cast<int>(x.size(1)));
}

// at_query (B, d_model) -> (B, vocabulary)
Tensor logits(const Reader& reader, Tensor at_query) {
  Hook::show(reader.name, "at_query", at_query);
  Tensor result = linear(at_query, transpose(reader.words.weight), reader.output_bias);
  Hook::show(reader.name, "logits", result);
  return result;
}

}  // namespace

// Words have vectors of length about 1 where they meet the encoder's output in logits, and sqrt(d_model) times that
// where they enter it (Vaswani et al. 2017, section 3.4), so that what a token is outweighs what is first mixed into it.
Reader::Reader(Scope scope, const ReaderShape& given)
    : name(scope.name()),
      shape(given),
      words(scope / "words", shape.vocabulary, shape.attention.d_model, 1 / std::sqrt(shape.attention.d_model)),
      learned_positions(shape.positions == Positions::learned
                            ? std::optional<LearnedPositions>(std::in_place, scope / "positions", shape.max_length,
                                                              shape.attention.d_model)
                            : std::nullopt),
      sentence(shape.sentences > 0 ? std::optional<Embedding>(std::in_place, scope / "sentences", shape.sentences,
                                                              shape.attention.d_model)
                                   : std::nullopt),
      encoder(scope / "encoder", shape.layers, shape.attention, shape.mlp, Residual::no),
      output_bias(scope.parameter("output_bias", {shape.vocabulary}, Init::zeros())) {}

Tensor Reader::embed(const ReaderInput& input) const {
  const Shape& size = input.tokens.shape();
  if (size.rank() != 2 || input.lengths.size() != static_cast<std::size_t>(size[0])) {
    fail("Reader: expected tokens (B, T) and B lengths, got {} and {} lengths", to_string(size), input.lengths.size());
  }
  const int T = static_cast<int>(size[1]);
  Tensor x = words(input.tokens) * std::sqrt(shape.attention.d_model);  // (B, T, d_model)
  if (learned_positions) x = (*learned_positions)(x);
  if (shape.positions == Positions::sinusoidal) x = x + sinusoidal_positions(T, shape.attention.d_model, x.dtype());
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
