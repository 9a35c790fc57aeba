// Attention sinks (Gu et al. 2024, arXiv:2410.10781) in the bigram-backcopy task of Guo et al. 2024 (arXiv:2410.13835):
// after a trigger, the token before it comes again; after any other token, the next is drawn from a table that depends on
// that token alone. The head copies after triggers. It has nothing to do at other tokens, and rests on the first token.
//   sinks [SEED [STEPS]]
#include <heed/heed.h>
#include <heed/models/model.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

using namespace heed;

constexpr int letters = 32, triggers = 6, start = letters,
              text_length = 48;  // the first `triggers` letters are triggers

// Writes texts: the start, then `text_length` letters.
struct Writer {
  std::vector<std::vector<double>> next{};  // [letter][i]: probability that a letter up to i follows
  explicit Writer(Random random) {
    for (int letter = 0; letter < letters; ++letter) {
      std::vector<double>& sums = next.emplace_back();
      double sum = 0;
      for (int i = 0; i < letters; ++i) sums.push_back(sum += std::exp(random.normal()));
      for (double& each : sums) each /= sum;
    }
  }
  // Returns a batch of `count` texts.
  Batch write(int count, Random& random) const {
    std::vector<std::int32_t> ids;
    for (int text = 0; text < count; ++text) {
      std::int32_t before = start, letter = static_cast<std::int32_t>(random.below(letters));
      ids.insert(ids.end(), {before, letter});
      for (int i = 1; i < text_length; ++i) {
        const std::vector<double>& sums = next[static_cast<std::size_t>(letter)];
        const auto drawn = std::ranges::upper_bound(sums.begin(), sums.end() - 1, random.uniform()) - sums.begin();
        const bool copies = letter < triggers && before != start;
        before = std::exchange(letter, copies ? before : static_cast<std::int32_t>(drawn));
        ids.push_back(letter);
      }
    }
    const Ids all({count, text_length + 1}, ids);
    return {.tokens = slice(all, 1, 0, -1), .targets = slice(all, 1, 1)};
  }
};

// Mean weights of the only head from the later half of the tokens, [after triggers or not].
struct HeadWeights {
  double on_first[2] = {0, 0}, on_previous[2] = {0, 0};
  HeadWeights(const Model& model, const Batch& texts) {
    const Tensor weights = model.transformer()(texts, {.weights = true}).weights[0];  // (B, 1, T, T)
    double count[2] = {0, 0};
    for (std::int64_t b = 0; b < weights.size(0); ++b) {
      for (std::int64_t t = text_length / 2; t < text_length; ++t) {
        const bool is_trigger = texts.tokens.at({b, t}) < triggers;
        on_first[is_trigger] += weights.at({b, 0, t, 0});
        on_previous[is_trigger] += weights.at({b, 0, t, t - 1});
        ++count[is_trigger];
      }
    }
    for (const int i : {0, 1}) on_first[i] /= count[i], on_previous[i] /= count[i];
  }
};

int main(int argc, char** argv) {
  const std::uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  const int steps = argc > 2 ? std::atoi(argv[2]) : 600;
  Random random(seed);
  const Writer writer(random.stream("table"));
  TransformerConfig shape = gpt2(1, 1, 64);
  shape.vocabulary = letters + 1, shape.max_length = text_length;
  const Model model(language_model(shape, {.tied = false}), seed);
  for (const char* name :
       {"words.weight", "positions.weight"}) {  // deviation 0.2: it tells tokens apart from the start
    Tensor(model.parameters[name]).copy_from(model.parameters[name] * 10);
  }
  Optimizer adam(model.parameters, {.method = OptimizerOptions::Method::adamw, .weight_decay = 0.01});
  const Batch held_out = writer.write(64, random);
  for (int step = 0; step < steps; ++step) {
    if (step % 200 == 0) {
      const HeadWeights head(model, held_out);
      fmt::print(
          "step {:4}  loss {:.3f}  weight on the first token {:.3f}, at triggers {:.3f}; on the previous token at "
          "triggers {:.3f}\n",
          step, model.loss(held_out).item(), head.on_first[0], head.on_first[1], head.on_previous[1]);
    }
    const Batch batch = writer.write(32, random);
    const Recording recording;
    adam.step(backward(model.loss(batch)), 2e-3 * std::min(1.0, (step + 1) / 50.0));
  }
  const HeadWeights head(model, held_out);
  fmt::print("\nweight on the first token {:.3f}, at triggers {:.3f}\n", head.on_first[0], head.on_first[1]);
  fmt::print("on the previous token {:.3f}, at triggers instead {:.3f}\n", head.on_previous[0], head.on_previous[1]);
}
