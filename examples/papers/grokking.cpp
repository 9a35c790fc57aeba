// Grokking of a + b mod p (Power et al. 2022, arXiv:2201.02177; Nanda et al. 2023, arXiv:2301.05217): a model of one
// layer first memorises the sums that it is trained on. Many steps later it computes all others, too, if its weights
// decay; its embeddings of numbers then lie in few frequencies.
//   grokking [SEED [WEIGHT_DECAY [STEPS [P [SHARE]]]]]   SHARE of all sums are trained
#include <heed/heed.h>
#include <heed/models/model.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numbers>
#include <numeric>

using namespace heed;

// Questions "a b =" of which the answer is a + b mod p.
struct Sums {
  int p;
  std::vector<std::int32_t> tokens{}, answers{};
  void add(int a, int b) {
    tokens.insert(tokens.end(), {a, b, p});
    answers.push_back((a + b) % p);
  }
  Batch batch() const {
    const std::int64_t B = std::ssize(answers);
    return {.tokens = Ids({B, 3}, tokens),
            .query = Ids({B}, std::vector<std::int32_t>(answers.size(), 2)),
            .answer = Ids({B}, answers)};
  }
};

double accuracy(const Model& model, const Batch& sums) {
  return mean(tensor(equal(argmax(model.logits(sums), 1), sums.answer))).item();
}

// Returns the share of the variance of the embeddings of 0 to p - 1 that lies in their six strongest frequencies, of
// (p - 1) / 2.
double six_frequencies(const Model& model, int p) {
  const Tensor E = slice(model.transformer().token_embedding->weight.to(DType::float64), 0, 0, p);
  const Tensor numbers = reshape(arange(0, p, 1, DType::float64), {1, p});
  std::vector<double> powers;
  for (int k = 1; k <= (p - 1) / 2; ++k) {
    const Tensor angles = numbers * (2 * std::numbers::pi * k / p);
    powers.push_back(sum(square(matmul(cos(angles), E)) + square(matmul(sin(angles), E))).item() * 2 / p);
  }
  std::ranges::sort(powers, std::greater());
  return std::accumulate(powers.begin(), powers.begin() + 6, 0.0) / sum(square(E - mean(E, {0}, true))).item();
}

int main(int argc, char** argv) {
  const auto argument = [&](int i, double usual) { return i < argc ? std::strtod(argv[i], nullptr) : usual; };
  const auto seed = static_cast<std::uint64_t>(argument(1, 1));
  const double weight_decay = argument(2, 1), share = argument(5, 0.6);
  const int steps = static_cast<int>(argument(3, 1800)), p = static_cast<int>(argument(4, 59));

  std::vector<int> pairs(static_cast<std::size_t>(p * p));
  std::iota(pairs.begin(), pairs.end(), 0);
  Random random(seed);
  random.shuffle(pairs);
  Sums trained{p}, held_out{p};
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const bool trains = static_cast<double>(i) < share * static_cast<double>(pairs.size());
    (trains ? trained : held_out).add(pairs[i] / p, pairs[i] % p);
  }
  const Batch train = trained.batch(), test = held_out.batch();

  TransformerConfig shape{.vocabulary = p + 1, .max_length = 3, .layers = 1};
  shape.block.attention = {.d_model = 64, .heads = 4, .output_bias = false};
  shape.block.mlp = {.width = 256, .activation = Activation::relu};
  shape.block.norm.kind = NormKind::none;  // as in the paper
  const Model model(word_answerer(shape, {.tied = false}), seed);
  Optimizer adam(model.parameters,
                 {.method = OptimizerOptions::Method::adamw, .beta2 = 0.98, .weight_decay = weight_decay});
  int memorised = -1, generalised = -1;  // steps at which the accuracy exceeded 0.99
  for (int step = 0; step <= steps; ++step) {
    if (step % 50 == 0) {
      const double known = accuracy(model, train), unknown = accuracy(model, test);
      if (memorised < 0 && known > 0.99) memorised = step;
      if (generalised < 0 && unknown > 0.99) generalised = step;
      if (step % 200 == 0) {
        fmt::print("step {:4}  accuracy: trained {:.3f}, held out {:.3f}  six frequencies {:.3f}\n", step, known,
                   unknown, six_frequencies(model, p));
      }
    }
    const Recording recording;
    adam.step(backward(model.loss(train)), 3e-3 * std::min(1.0, (step + 1) / 10.0));
  }
  fmt::print("\nmemorised at step {}, generalised at step {} (-1: never)\n", memorised, generalised);
  fmt::print("held-out accuracy {:.3f}, six frequencies {:.3f}\n", accuracy(model, test), six_frequencies(model, p));
}
