#include "11_induction.h"

#include "given/models.h"

#include <heed/autograd/record.h>
#include <heed/optim/clip.h>
#include <heed/optim/optimizer.h>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>

namespace learn {
namespace {

using heed::Tensor;
using Symbols = std::vector<std::int32_t>;
constexpr int kinds = 16, length = 24, fewest = 6;

Symbols repeated(int period, heed::Random& random) {
  Symbols all(kinds), result;
  std::iota(all.begin(), all.end(), 0);
  random.shuffle(all);
  for (int t = 0; t < length; ++t) result.push_back(all[static_cast<std::size_t>(t % period)]);
  return result;
}

struct Row {
  int step;
  double accuracy;
  std::vector<double> previous, induction;  // of the heads of the first and of the last layer
};

constexpr int per_step = 32, training_steps = 400, interval = 100, measured_period = 8;
struct Sequences {
  heed::Ids inputs, targets;
};

// Draws the sequences of each step, and before every hundredth those to measure on, of period 8, with the learner's targets.
std::vector<Sequences> sequences(const InductionSolution& yours) {
  heed::Random random(102);
  const auto draw = [&](bool is_measured) {
    Symbols inputs, targets;
    for (int b = 0; b < per_step; ++b) {
      const int period =
          is_measured ? measured_period : fewest + static_cast<int>(random.below(length / 2 - fewest + 1));
      const Symbols symbols = repeated(period, random),
                    right = yours.targets(symbols, static_cast<std::size_t>(period));
      inputs.insert(inputs.end(), symbols.begin(), symbols.end());
      targets.insert(targets.end(), right.begin(), right.end());
    }
    return Sequences{heed::Ids({per_step, length}, inputs), heed::Ids({per_step, length}, targets)};
  };
  std::vector<Sequences> all;
  for (int step = 0; step <= training_steps; ++step) {
    if (step % interval == 0) all.push_back(draw(true));
    all.push_back(draw(false));
  }
  return all;
}

// Trains a model of `layers`, and measures it with the learner's scores.
std::vector<Row> train(const InductionSolution& yours, const std::vector<Sequences>& all, int layers) {
  const AttentionModel model(layers, kinds, length, 32, 2, 2);
  heed::Optimizer optimizer(model.parameters, {.method = heed::OptimizerOptions::Method::adamw, .weight_decay = 0.1});
  std::vector<Row> rows;
  auto drawn = all.begin();
  for (int step = 0; step <= training_steps; ++step) {
    if (step % interval == 0) {
      const auto& [inputs, targets] = *drawn++;
      std::vector<Tensor> weights;
      const Tensor logits = model(inputs, &weights);
      Row row{step, accuracy(logits, targets), std::vector<double>(2), std::vector<double>(2)};
      for (int b = 0; b < per_step; ++b) {
        const auto previous = yours.previous_token_score(weights.front()[b]),
                   induction = yours.induction_score(weights.back()[b], measured_period);
        for (std::size_t h = 0; h < 2; ++h)
          row.previous[h] += previous.at(h) / per_step, row.induction[h] += induction.at(h) / per_step;
      }
      rows.push_back(row);
    }
    const auto& [inputs, targets] = *drawn++;
    const heed::Recording recording;
    heed::Gradients gradients = backward(cross_entropy(model(inputs), targets));
    heed::clip_by_global_norm(gradients, 1);
    optimizer.step(gradients, 4e-3 * std::min(1.0, (step + 1) / 50.0));
  }
  return rows;
}

std::string shown(const std::vector<Row>& rows, Language language) {
  const bool zh = language == Language::zh;
  std::string text = zh ? "  步数  准确率    前一词元（第 1 层的头）  归纳（最后一层的头）\n"
                        : "  step  accuracy  previous token (layer 1)  induction (last layer)\n";
  for (const Row& row : rows)
    text += fmt::format("  {:4}  {:6.1f} %      {:4.2f}  {:4.2f}              {:4.2f}  {:4.2f}\n", row.step,
                        100 * row.accuracy, row.previous[0], row.previous[1], row.induction[0], row.induction[1]);
  return text;
}

}  // namespace

InductionSolution python_11() {
  return {[](const Symbols& symbols, std::size_t period) {
            const std::vector<double> targets =
                python_one("targets", {heed::Ids({std::ssize(symbols)}, symbols), static_cast<int>(period)}).values;
            return Symbols(targets.begin(), targets.end());
          },
          [](const Tensor& weights) { return python_one("previous_token_score", {weights}).values; },
          [](const Tensor& weights, std::int64_t period) {
            return python_one("induction_score", {weights, static_cast<int>(period)}).values;
          }};
}

Step step_11(const InductionSolution& yours) {
  const Symbols symbols{7, 3, 5, 1, 7, 3, 5, 1, 7};
  const auto labelled = [=](int from, int shift) -> Compute {
    return [=] {
      std::vector<double> result(symbols.size(), -1);
      for (int t = from; t + 1 < std::ssize(symbols); ++t)
        result[static_cast<std::size_t>(t)] = symbols[static_cast<std::size_t>(t + shift)];
      return Results{{"target", result}};
    };
  };
  // Weights that are all different.
  heed::Random random(11);
  const Tensor weights = softmax(masked_fill(random_normal({2, 8, 8}, random, 0, 1, heed::DType::float64),
                                             heed::Mask::causal().hidden(8, 8), -infinity));
  constexpr int period = 3;
  // The mean over the queries from `first` on of the weight at query - distance, or its faults.
  const auto scored = [=](int first, int distance, double divisor, bool transposed = false) -> Compute {
    return [=] {
      std::vector<double> scores;
      for (int h = 0; h < 2; ++h) {
        double sum = 0;
        for (int t = first; t < 8; ++t)
          sum += transposed ? weights.at({h, t - distance, t}) : weights.at({h, t, t - distance});
        scores.push_back(sum / divisor);
      }
      return Results{{"score", scores}};
    };
  };
  const auto results = std::make_shared<std::vector<std::vector<Row>>>();

  Step step{11, "11_induction", {"induction heads", "归纳头"}, {}};
  step.checks = {
      {{"what can be predicted", "能预测的是什么"},
       "targets",
       "symbols = 7 3 5 1 7 3 5 1 7, period 4",
       [=] {
         const Symbols right = yours.targets(symbols, 4);
         return Results{{"target", std::vector<double>(right.begin(), right.end())}};
       },
       labelled(4, 1),
       {{"every_target",
         {"Every position has a target. In the first period nothing can be known: the loss then rewards guessing.",
          "每个位置都有目标。第一个周期里什么也无法知道，损失就会鼓励猜测。"},
         "target_t = symbols[t + 1] [[if t >= period]] and t + 1 < T",
         labelled(0, 1)},
        {"one_early",
         {"The first target comes one position early: the symbol there has not occurred before.",
          "第一个目标早了一个位置：那里的符号以前没有出现过。"},
         "target_t = symbols[t + 1] if [[t >= period]] and t + 1 < T",
         labelled(3, 1)},
        {"not_shifted",
         {"The target is the symbol itself. It must be the next one.", "目标成了符号自己，应该是下一个。"},
         "target_t = symbols[t [[+ 1]]] if t >= period and t + 1 < T",
         labelled(4, 0)}}},
      {{"previous-token heads", "前一词元头"},
       "previous_token_score",
       "weights (2, 8, 8)",
       [=] {
         return Results{{"score", yours.previous_token_score(weights)}};
       },
       scored(1, 1, 7),
       {{"itself",
         {"This is the weight of each symbol on itself.", "这是每个符号对自己的权重。"},
         "weights[h][t][[[t - 1]]]",
         scored(0, 0, 8)},
        {"itself",
         {"This is the weight of each symbol on itself.", "这是每个符号对自己的权重。"},
         "weights[h][t][[[t - 1]]]",
         scored(1, 0, 7)},
        {"transposed",
         {"Row and column are swapped. The row is the query, the column the key.", "行和列反了。行是查询，列是键。"},
         "weights[h][[[t]]][[[t - 1]]]",
         scored(1, 1, 7, true)},
        {"divided_by_T",
         {"The sum is divided by T. It has T - 1 terms.", "和除以了 T，而它只有 T - 1 项。"},
         "score_h = [[mean over t from 1 to T - 1]] of weights[h][t][t - 1]",
         scored(1, 1, 8)}}},
      {{"induction heads", "归纳头"},
       "induction_score",
       "weights (2, 8, 8), period 3",
       [=] {
         return Results{{"score", yours.induction_score(weights, period)}};
       },
       scored(period, period - 1, 8 - period),
       {{"same_symbol",
         {"This is the weight on the last occurrence of the current symbol. The head must attend to the symbol after "
          "it.",
          "这是对当前符号上一次出现的权重。归纳头看的是它后面的那个符号。"},
         "weights[h][t][t - period [[+ 1]]]",
         scored(period, period, 8 - period)},
        {"before_it",
         {"This is the weight on the symbol before the last occurrence. The head must attend to the symbol after it.",
          "这是对上一次出现之前那个符号的权重。归纳头看的是它后面的那个符号。"},
         "weights[h][t][t - period [[+ 1]]]",
         scored(period + 1, period + 1, 8 - period)},
        {"divided_by_all",
         {"The sum is divided by T. It has T - period terms.", "和除以了 T，而它只有 T - period 项。"},
         "score_h = [[mean over t from period to T - 1]] of ...",
         scored(period, period - 1, 8)},
        {"induction_transposed",
         {"Row and column are swapped. The row is the query, the column the key.", "行和列反了。行是查询，列是键。"},
         "weights[h][[[t]]][t - period + 1]",
         scored(period, period - 1, 8 - period, true)}}},
      {{"two layers learn to copy, one layer does not", "两层学会了复制，一层学不会"},
       "targets",
       "",
       [=] {
         const std::vector<Sequences> all = sequences(yours);
         *results = {train(yours, all, 2), train(yours, all, 1)};
         return Results{{{"two layers above 90 % (1: yes)", "两层高于 90 %（1：是）"},
                         (*results)[0].back().accuracy > 0.9 ? 1.0 : 0.0},
                        {{"one layer below 60 % (1: yes)", "一层低于 60 %（1：是）"},
                         (*results)[1].back().accuracy < 0.6 ? 1.0 : 0.0}};
       },
       [] {
         return Results{{{"two layers above 90 % (1: yes)", "两层高于 90 %（1：是）"}, 1.0},
                        {{"one layer below 60 % (1: yes)", "一层低于 60 %（1：是）"}, 1.0}};
       }}};
  step.picture = [=](Language language) {
    const bool zh = language == Language::zh;
    return (zh ? "两层：\n" : "Two layers:\n") + shown((*results)[0], language) + (zh ? "一层：\n" : "One layer:\n") +
           shown((*results)[1], language);
  };
  return step;
}

}  // namespace learn
