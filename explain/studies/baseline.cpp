#include <heed/autograd/ops.h>
#include <heed/explain/studies/baseline.h>

#include <algorithm>
#include <array>
#include <limits>

namespace heed {

const char* to_string(Role role) {
  constexpr std::array names{"query", "antecedent", "other", "decider"};
  return names.at(static_cast<std::size_t>(role));
}

int token_of(const Example& e, Role role) {
  if (role == Role::query) return e.query;
  if (role == Role::antecedent) return e.antecedent;
  if (role == Role::distractor) return e.distractor;
  return index_of(e.cue, e.tokens);
}

Span span_of(const Example& e, Role role) {
  if (e.chosen >= 0 && role == Role::antecedent) return e.candidates[static_cast<std::size_t>(e.chosen)];
  if (e.chosen >= 0 && e.candidates.size() == 2 && role == Role::distractor) {
    return e.candidates[static_cast<std::size_t>(1 - e.chosen)];
  }
  const int token = token_of(e, role);
  return token < 0 ? Span{} : Span{token, token + 1};
}

Baseline::Baseline(const HeldOut& held_out) : held_out_(held_out) {
  const int layers = held_out.layers(), heads = held_out.heads();
  const std::vector<Example>& sentences = held_out.sentences();
  double elsewhere = 0;
  for (const Example& e : sentences) {
    weights_.emplace_back(static_cast<std::size_t>(layers * heads * roles) * e.tokens.size());
    elsewhere += static_cast<double>(e.tokens.size() - 1);
  }
  mean_output_.resize(static_cast<std::size_t>(layers));
  answers_ = held_out.answers(
      [&](int layer, const Tensor& value, std::size_t first) { keep_weights(layer, contiguous(value), first); },
      [&](int layer, const Tensor& value, std::size_t first) { add_outputs(layer, contiguous(value), first); });
  held_out.check_same_on_all(answers_);
  for (MeanOutput& mean : mean_output_) {
    for (double& x : mean.at_query) x /= static_cast<double>(sentences.size());
    for (double& x : mean.elsewhere) x /= elsewhere;
  }
}

std::size_t Baseline::weight_index(std::size_t i, int layer, int head, Role from, int to) const {
  const std::int64_t row = (layer * held_out_.heads() + head) * roles + static_cast<int>(from);
  return static_cast<std::size_t>(row * std::ssize(held_out_.sentences()[i].tokens) + to);
}

void Baseline::keep_weights(int layer, const Tensor& value, std::size_t first) {  // (B, heads, T, T)
  const std::int64_t T = value.size(2);
  const float* matrix = value.data<float>();
  for (std::size_t i = first; i < first + static_cast<std::size_t>(value.size(0)); ++i) {
    const Example& e = held_out_.sentences()[i];
    for (int head = 0; head < held_out_.heads(); ++head, matrix += T * T) {
      for (const Role from : {Role::query, Role::antecedent, Role::distractor, Role::cue}) {
        const int token = token_of(e, from);
        if (token < 0) continue;
        std::copy_n(matrix + token * T, e.tokens.size(), &weights_[i][weight_index(i, layer, head, from, 0)]);
      }
    }
  }
}

void Baseline::add_outputs(int layer, const Tensor& value, std::size_t first) {  // (B, heads, T, d_v)
  MeanOutput& sums = mean_output_[static_cast<std::size_t>(layer)];
  const std::int64_t heads = value.size(1), T = value.size(2), d_v = value.size(3);
  sums.at_query.resize(static_cast<std::size_t>(heads * d_v));
  sums.elsewhere.resize(static_cast<std::size_t>(heads * d_v));
  const float* matrix = value.data<float>();
  for (std::size_t i = first; i < first + static_cast<std::size_t>(value.size(0)); ++i) {
    const Example& e = held_out_.sentences()[i];
    for (std::int64_t head = 0; head < heads; ++head, matrix += T * d_v) {
      for (std::int64_t t = 0; t < std::ssize(e.tokens); ++t) {
        double* sum = (t == e.query ? sums.at_query : sums.elsewhere).data() + head * d_v;
        for (std::int64_t d = 0; d < d_v; ++d) sum[d] += static_cast<double>(matrix[t * d_v + d]);
      }
    }
  }
}

double Baseline::weight(std::size_t i, Heads heads, Role from, Span to) const {
  if (to.begin >= to.end || token_of(held_out_.sentences()[i], from) < 0)
    return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  const int first_layer = std::max(heads.layer, 0), end_layer = heads.layer < 0 ? held_out_.layers() : heads.layer + 1;
  const int begin = std::max(heads.head, 0), end = heads.head < 0 ? held_out_.heads() : heads.head + 1;
  for (int layer = first_layer; layer < end_layer; ++layer) {
    for (int head = begin; head < end; ++head) {
      for (int token = to.begin; token < to.end; ++token) {
        sum += static_cast<double>(weights_[i][weight_index(i, layer, head, from, token)]);
      }
    }
  }
  return sum / (end - begin) / (end_layer - first_layer);
}

}  // namespace heed
