#include <heed/nn/reader.h>

#include <cmath>

namespace heed {
namespace {

constexpr double absent = -1e30;  // the logit of a candidate that a text has not: e^absent is 0

constexpr double gpt2_deviation = 0.02;  // of a language model's embeddings at first

double deviation_of_words(const ReaderConfig& config) {
  return config.predicts == Predicts::next ? gpt2_deviation : 1 / std::sqrt(config.attention.d_model);
}

AttentionConfig attention_of(const ReaderConfig& config) {
  AttentionConfig attention = config.attention;
  attention.rotary = config.positions == Positions::rotary ? config.max_length : 0;
  return attention;
}

// What follows a text's last token is seen by none of them, when a token sees those up to itself.
Mask mask_of(const Reader& reader, const ReaderInput& input, const Tensor& x) {
  if (reader.config.predicts == Predicts::next) return Mask::causal();
  return Mask::padding(input.lengths, static_cast<int>(x.size(1)));
}

// encoded (..., d_model) -> (..., vocabulary)
Tensor logits_of(const Reader& reader, const Tensor& encoded) {
  Tensor result = linear(encoded, transpose(reader.unembedding), reader.output_bias);
  Hook::show(reader.name, "logits", result);
  return result;
}

// states (B, T, d_model), candidates (B, C, 2) -> the mean over each (B, C, d_model)
Tensor means_of(const Tensor& states, const Ids& candidates) {
  const std::int64_t B = states.size(0), T = states.size(1);
  if (candidates.shape().rank() != 3 || candidates.shape()[0] != B || candidates.shape()[2] != 2) {
    fail("Reader: it chooses among candidates; expected them as ({}, C, 2), got {}", B, to_string(candidates.shape()));
  }
  const std::int64_t C = candidates.shape()[1];
  std::vector<double> shares(static_cast<std::size_t>(B * C * T));  // of a token in a candidate's mean
  for (std::int64_t n = 0; n < B * C; ++n) {
    const std::int64_t begin = candidates[2 * n], end = candidates[2 * n + 1];
    if (begin > end || end > T) fail("Reader: a candidate from token {} to {} is not one of {} tokens", begin, end, T);
    for (std::int64_t t = std::max<std::int64_t>(begin, 0); t < end; ++t) {
      shares[static_cast<std::size_t>(n * T + t)] = 1.0 / static_cast<double>(end - begin);
    }
  }
  return matmul(tensor({B, C, T}, shares, states.dtype()), states);
}

// asking (B, d_model) -> (B, C), or (B, C + 1)
Tensor logits_of_candidates(const Reader& reader, const Tensor& asking, const Tensor& states, const Ids& candidates) {
  const auto& [W_C, none] = *reader.pointer;
  const std::int64_t B = asking.size(0), d = asking.size(1);
  const Tensor means = means_of(layer_norm(states, {}, {}), candidates);  // (B, C, d_model)
  const std::int64_t C = means.size(1);
  const Tensor sought = W_C(asking) / std::sqrt(d);  // (B, d_model)
  std::vector<std::uint8_t> is_absent;
  for (std::int64_t n = 0; n < B * C; ++n) is_absent.push_back(candidates[2 * n] < 0);
  Tensor logits = masked_fill(reshape(matmul(means, reshape(sought, {B, d, 1})), {B, C}),
                              Booleans({B, C}, std::move(is_absent)), absent);
  if (none.defined()) logits = concat({logits, matmul(sought, reshape(none, {d, 1}))}, 1);
  Hook::show(reader.name, "logits", logits);
  return logits;
}

// at_query (B, d_model) -> (B, vocabulary), or the logits of the candidates
Tensor logits_at_query(const Reader& reader, Tensor at_query, const Encoded& encoded, const Ids& candidates) {
  Hook::show(reader.name, "at_query", at_query);
  return reader.pointer ? logits_of_candidates(reader, at_query, encoded.read_by_last, candidates)
                        : logits_of(reader, at_query);
}

// Texts of which every token is asked about what comes next.
ReaderInput whole(const Reader& reader, const Ids& tokens) {
  if (reader.config.predicts != Predicts::next) {
    fail("Reader::next: it predicts an answer, not the next token of each");
  }
  if (tokens.shape().rank() != 2) fail("Reader::next: expected tokens (B, T), got {}", to_string(tokens.shape()));
  const std::size_t B = static_cast<std::size_t>(tokens.shape()[0]);
  return {tokens, std::vector<int>(B, static_cast<int>(tokens.shape()[1])), {}, {}, {}};
}

}  // namespace

// Words have vectors of length about 1 where they meet the encoder's output in logits, and sqrt(d_model) times that
// where they enter it (Vaswani et al. 2017, section 3.4), so that what a token is outweighs what is first mixed into it.
// A language model's are as GPT-2's.
Reader::Reader(Scope scope, const ReaderConfig& given)
    : name(scope.name()),
      config(given),
      token_embedding(scope / "words", config.vocabulary, config.attention.d_model, deviation_of_words(config)),
      learned_positions(config.positions == Positions::learned
                            ? std::optional<LearnedPositions>(std::in_place, scope / "positions", config.max_length,
                                                              config.attention.d_model,
                                                              config.predicts == Predicts::next ? gpt2_deviation : 1.0)
                            : std::nullopt),
      sentence(config.sentences > 0 ? std::optional<Embedding>(std::in_place, scope / "sentences", config.sentences,
                                                               config.attention.d_model)
                                    : std::nullopt),
      encoder(scope / "encoder", config.layers, attention_of(config), config.mlp,
              config.predicts == Predicts::next ? Residual::yes : Residual::no, config.parts),
      unembedding(config.logits == Logits::tied || config.answer != Answer::word
                      ? token_embedding.weight
                      : scope.parameter("unembedding", {config.vocabulary, config.attention.d_model},
                                        Init::gaussian(deviation_of_words(config)))),
      output_bias(config.predicts == Predicts::next || config.answer != Answer::word
                      ? Tensor()
                      : scope.parameter("output_bias", {config.vocabulary}, Init::zeros())) {
  if (config.parts.placement != NormPlacement::before) fail("Reader: its norms come before the parts of a block");
  if (config.predicts == Predicts::next && config.sentences > 0) fail("Reader: a language model reads no sentences");
  if (config.answer == Answer::word) return;
  if (config.predicts == Predicts::next) fail("Reader: a language model answers with words, not candidates");
  const int d = config.attention.d_model;
  const Scope candidates = scope / "candidates";
  const bool has_none = config.answer == Answer::candidate_or_none;
  pointer.emplace(Pointer{Linear(candidates / "pointer", d, d, Bias::no),
                          has_none ? candidates.parameter("none", {d}, Init::gaussian(1)) : Tensor()});
}

Tensor Reader::embed(const ReaderInput& input, std::int64_t first) const {
  const LayerScope scope(name);
  const Shape& size = input.tokens.shape();
  if (size.rank() != 2 || input.lengths.size() != static_cast<std::size_t>(size[0])) {
    fail("Reader: expected tokens (B, T) and B lengths, got {} and {} lengths", to_string(size), input.lengths.size());
  }
  const int T = static_cast<int>(size[1]);
  Tensor x = token_embedding(input.tokens);  // (B, T, d_model)
  if (config.predicts == Predicts::answer) x = x * std::sqrt(config.attention.d_model);
  if (learned_positions) x = (*learned_positions)(x, first);
  if (config.positions == Positions::sinusoidal)
    x = x + sinusoidal_positions(T, config.attention.d_model, x.dtype(), static_cast<int>(first));
  if (sentence) x = x + (*sentence)(input.sentences);
  Hook::show(name, "embedded", x);
  return x;
}

Reader::Output Reader::operator()(const ReaderInput& input, Weights weights, const Dropout& drop) const {
  const LayerScope scope(name);
  const Tensor x = drop.with(drop.embedding, embed(input));
  Encoded encoded = encoder(x, mask_of(*this, input, x), weights, drop);
  const Tensor at_query = select_rows(encoded.output, input.query);
  return {logits_at_query(*this, at_query, encoded, input.candidates), std::move(encoded.weights)};
}

Reader::Output Reader::at_query(const ReaderInput& input, Weights weights, const Dropout& drop) const {
  const LayerScope scope(name);
  const Tensor x = drop.with(drop.embedding, embed(input));
  Encoded encoded = encoder.at(input.query, x, mask_of(*this, input, x), weights, drop);
  return {logits_at_query(*this, encoded.output, encoded, input.candidates), std::move(encoded.weights)};
}

Tensor Reader::next(const Ids& tokens, const Dropout& drop) const {
  const LayerScope scope(name);
  const Tensor x = drop.with(drop.embedding, embed(whole(*this, tokens)));
  return logits_of(*this, encoder(x, Mask::causal(), Weights::no, drop).output);
}

Tensor Reader::go_on(const Ids& tokens, Past& past) const {
  const LayerScope scope(name);
  const ReaderInput input = whole(*this, tokens);
  const std::int64_t B = tokens.shape()[0], T = tokens.shape()[1];
  const std::int64_t read = past.empty() ? 0 : past[0].length();
  if (read + T > config.max_length) {
    fail("Reader::go_on: {} tokens after {} are more than max_length, {}", T, read, config.max_length);
  }
  const Tensor x = encoder.go_on(embed(input, read), past);
  return logits_of(*this, reshape(slice(x, 1, T - 1, T), {B, config.attention.d_model}));
}

}  // namespace heed
