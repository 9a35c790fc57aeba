#include "12_causes.h"

#include "given/models.h"

#include <heed/autograd/record.h>
#include <heed/data/tasks/coreference.h>
#include <heed/optim/clip.h>
#include <heed/optim/optimizer.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

namespace learn {
namespace {

using heed::Booleans;
using heed::Tensor;
using Places = CausesSolution::Places;

// A measurement: which edge was cut in which heads.
struct Cut {
  Text what;
  int right;
  double lost;
};
struct Study {
  int right = 0, sentences = 0;
  std::vector<double> weights;
  std::vector<Cut> cuts;
};

// Trains a model of "it", and cuts edges of its last layer with the learner's mask.
Study study(const CausesSolution& yours) {
  constexpr int heads = 2, steps = 400;
  const heed::Task task = heed::coreference_task(2000, 400, heed::Random(1));
  const heed::NumberedExamples train(task.train, task.vocabulary), held_out(task.held_out, task.vocabulary);
  const AnswerModel model(task.vocabulary.size(), task.max_length, 64, heads, 3);
  heed::Optimizer optimizer(model.parameters, {});
  const auto texts = [](const heed::Batch& batch) {
    return batch.lengths.empty() ? heed::Mask()
                                 : heed::Mask::padding(batch.lengths, static_cast<int>(batch.tokens.size(1)));
  };
  heed::Random random(11);
  for (int step = 0; step < steps; ++step) {
    const heed::Batch batch = train.batch(heed::batch_order(train.size(), 64, step, heed::Random(2)));
    const heed::Recording recording;
    heed::Random drawn = random.stream(static_cast<std::uint64_t>(step));
    heed::Gradients gradients = backward(cross_entropy(
        model(batch.tokens, batch.query, texts(batch), {}, nullptr, {.p = 0.5, .random = &drawn}), batch.answer));
    heed::clip_by_global_norm(gradients, 1);
    optimizer.step(gradients, 3e-3 * std::min(1.0, (step + 1) / 20.0));
  }
  const heed::Batch test = held_out.batch(0, held_out.size());
  const int T = static_cast<int>(test.tokens.size(1)), n = static_cast<int>(test.size());
  Places query, antecedent, distractor, cue;
  for (const heed::Example& example : task.held_out) {
    query.push_back(example.query), antecedent.push_back(example.antecedent), distractor.push_back(example.distractor);
    cue.push_back(heed::index_of(example.cue, example.tokens));
  }
  const auto right_with = [&](const heed::Mask& visible, Tensor* weights) {
    const Tensor logits = model(test.tokens, test.query, texts(test), visible, weights);
    return static_cast<int>(std::lround(n * accuracy(logits, test.answer)));
  };
  Study result;
  Tensor weights;
  result.sentences = n, result.right = right_with({}, &weights),
  result.weights = yours.edge_weight(weights, query, antecedent);
  const auto cut = [&](const Text& what, const Places& in_heads, const Places& key) {
    const int right = right_with(heed::Mask(yours.without_edge(heads, T, in_heads, query, key)), nullptr);
    result.cuts.push_back(
        {what, right,
         yours.advantage_lost(static_cast<double>(result.right) / n, static_cast<double>(right) / n, 0.5)});
  };
  cut({"it -> antecedent, head 1", "it -> 先行词，第 1 个头"}, {0}, antecedent);
  cut({"it -> antecedent, head 2", "it -> 先行词，第 2 个头"}, {1}, antecedent);
  cut({"it -> antecedent, both heads", "it -> 先行词，两个头"}, {0, 1}, antecedent);
  cut({"it -> the other noun, both heads", "it -> 另一个名词，两个头"}, {0, 1}, distractor);
  cut({"it -> the adjective, both heads", "it -> 形容词，两个头"}, {0, 1}, cue);
  return result;
}

struct EdgeFaults {
  bool transposed = false, whole_column = false, whole_row = false, every_head = false, inverted = false;
};

}  // namespace

CausesSolution python_12() {
  static const auto number = [](const char* function, const std::vector<PythonArgument>& arguments) {
    return python_one(function, arguments).values.at(0);
  };
  static const auto ids = [](const Places& places) {
    return heed::Ids({std::ssize(places)}, std::vector<std::int32_t>(places.begin(), places.end()));
  };
  return {[](const Tensor& weights, const Places& query, const Places& key) {
            return python_one("edge_weight", {weights, ids(query), ids(key)}).values;
          },
          [](int heads, int T, const Places& cut, const Places& query, const Places& key) {
            const Array visible = python_one("without_edge", {heads, T, cut, ids(query), ids(key)});
            return Booleans(heed::Shape(std::vector<std::int64_t>(visible.shape.begin(), visible.shape.end())),
                            std::vector<std::uint8_t>(visible.values.begin(), visible.values.end()));
          },
          [](double before, double after, double chance) {
            return number("advantage_lost", {before, after, chance});
          },
          [](int right, int n) {
            return number("half_width", {right, n});
          }};
}

Step step_12(const CausesSolution& yours) {
  constexpr int heads = 2, T = 3;
  const Places query{2, 1}, key{0, 2}, one{1};
  heed::Random random(12);
  const Tensor weights = softmax(random_normal({2, heads, T, T}, random, 0, 1, heed::DType::float64));
  const auto weighed = [=](const std::function<double(int b, int h)>& of, double divisor) -> Compute {
    return [=] {
      std::vector<double> result;
      for (int h = 0; h < heads; ++h) result.push_back((of(0, h) + of(1, h)) / divisor);
      return Results{{"mean", result}};
    };
  };
  const auto at = [=](int b, int h, int i, int j) { return weights.at({b, h, i, j}); };
  const auto q = [=](int b) { return query[static_cast<std::size_t>(b)]; };
  const auto k = [=](int b) { return key[static_cast<std::size_t>(b)]; };
  const auto masked = [=](const EdgeFaults& fault) -> Compute {
    return [=] {
      std::vector<double> visible;
      for (int b = 0; b < 2; ++b)
        for (int h = 0; h < heads; ++h)
          for (int i = 0; i < T; ++i)
            for (int j = 0; j < T; ++j) {
              const bool here = fault.transposed     ? i == k(b) && j == q(b)
                                : fault.whole_column ? j == k(b)
                                : fault.whole_row    ? i == q(b)
                                                     : i == q(b) && j == k(b);
              visible.push_back(((h == 1 || fault.every_head) && here) == fault.inverted);
            }
      return Results{{"visible", heed::tensor({2, heads, T, T}, visible, heed::DType::float64)}};
    };
  };
  const auto lost = [](const std::function<double(double, double, double)>& of) -> Compute {
    return [=] {
      return Results{{"lost", std::vector<double>{of(0.9, 0.6, 0.5), of(1, 1, 0.5), of(0.95, 0.2, 0.25)}}};
    };
  };
  const auto width = [](const std::function<double(int, int)>& of) -> Compute {
    return [=] {
      return Results{{{"half width", "半宽"}, std::vector<double>{of(230, 1000), of(50, 100), of(400, 400)}}};
    };
  };
  const auto result = std::make_shared<Study>();

  Step step{12, "12_causes", {"is it the cause?", "它是原因吗？"}, {}};
  step.checks = {
      {{"the weight of an edge", "一条边的权重"},
       "edge_weight",
       "weights (2, 2, 3, 3), query = 2 1, key = 0 2",
       [=] {
         return Results{{"mean", yours.edge_weight(weights, query, key)}};
       },
       weighed([=](int b, int h) { return at(b, h, q(b), k(b)); }, 2),
       {{"weight_transposed",
         {"Row and column are swapped: this is the weight from the key to the query.",
          "行和列反了：这是从键到查询的权重。"},
         "mean_h = mean over b of weights[b][h][[[query_b][key_b]]]",
         weighed([=](int b, int h) { return at(b, h, k(b), q(b)); }, 2)},
        {"sum",
         {"The weights are summed over the texts. Divide by their number.", "权重只是相加了，要除以文本数。"},
         "mean_h = [[mean]] over b of weights[b][h][query_b][key_b]",
         weighed([=](int b, int h) { return at(b, h, q(b), k(b)); }, 1)},
        {"first_text",
         {"Every text uses the query and the key of the first one.", "每个文本都用了第一个文本的查询和键。"},
         "mean_h = mean over b of weights[b][h][query_[[b]]][key_[[b]]]",
         weighed([=](int b, int h) { return at(b, h, q(0), k(0)); }, 2)}}},
      {{"a mask that cuts one edge", "切断一条边的掩码"},
       "without_edge",
       {"2 heads, T = 3, cut = 1, query = 2 1, key = 0 2", "2 个头，T = 3，cut = 1，query = 2 1，key = 0 2"},
       [=] {
         return Results{{"visible", heed::tensor(yours.without_edge(heads, T, one, query, key), heed::DType::float64)}};
       },
       masked({}),
       {{"edge_transposed",
         {"The edge from the key to the query is cut. The row is the query, the column the key.",
          "切断的是从键到查询的边。行是查询，列是键。"},
         "not (h is in cut and [[i == query_b and j == key_b]])",
         masked({.transposed = true})},
        {"whole_column",
         {"The key is hidden from every token. Cut the edge from the query alone.",
          "这个键对所有词元都隐藏了。只应切断从查询出发的那条边。"},
         "not (h is in cut and [[i == query_b]] and j == key_b)",
         masked({.whole_column = true})},
        {"whole_row",
         {"The query sees nothing at all. Cut the edge to the key alone.",
          "查询什么也看不到了。只应切断通向这个键的边。"},
         "not (h is in cut and i == query_b and [[j == key_b]])",
         masked({.whole_row = true})},
        {"every_head",
         {"The edge is cut in every head. Cut it in those of `cut`.", "在所有的头里都切断了。只应切断 cut 里的头。"},
         "not ([[h is in cut]] and i == query_b and j == key_b)",
         masked({.every_head = true})},
        {"inverted",
         {"The mask is inverted: only the edge is visible.", "掩码反了：只有这条边可见。"},
         "visible = [[not]] (h is in cut and i == query_b and j == key_b)",
         masked({.inverted = true})}}},
      {{"the share of the advantage that is lost", "失去的优势所占的比例"},
       "advantage_lost",
       "(before, after, chance) = (0.9, 0.6, 0.5), (1, 1, 0.5), (0.95, 0.2, 0.25)",
       lost(yours.advantage_lost),
       lost([](double before, double after, double chance) { return (before - after) / (before - chance); }),
       {{"of_accuracy",
         {"The loss is divided by the accuracy. A model at chance has lost everything: divide by the advantage over "
          "chance.",
          "除以了准确率。降到随机水平就是失去了全部：应该除以高出随机水平的部分。"},
         "lost = (before - after) / (before [[- chance]])",
         lost([](double before, double after, double) { return (before - after) / before; })},
        {"points",
         {"This is the difference in accuracy, not a share of the advantage.", "这是准确率之差，不是优势的比例。"},
         "lost = (before - after) [[/ (before - chance)]]",
         lost([](double before, double after, double) { return before - after; })},
        {"kept",
         {"This is the share that is kept. The share that is lost is 1 less this.",
          "这是保留下来的比例。失去的比例是 1 减去它。"},
         "lost = ([[before - after]]) / (before - chance)",
         lost([](double before, double after, double chance) { return (after - chance) / (before - chance); })}}},
      {{"the confidence interval", "置信区间"},
       "half_width",
       "(right, n) = (230, 1000), (50, 100), (400, 400)",
       width(yours.half_width),
       width([](int right, int n) { return 1.96 * std::sqrt(1.0 * right / n * (1 - 1.0 * right / n) / n); }),
       {{"deviation",
         {"This is the standard error. 95 % of the estimates lie within 1.96 of them.",
          "这是标准误差。95 % 的估计落在它的 1.96 倍以内。"},
         "half width = [[1.96]] sqrt(p (1 - p) / n)",
         width([](int right, int n) { return std::sqrt(1.0 * right / n * (1 - 1.0 * right / n) / n); })},
        {"root_missing",
         {"The square root is missing.", "缺了平方根。"},
         "half width = 1.96 [[sqrt]](p (1 - p) / n)",
         width([](int right, int n) { return 1.96 * (1.0 * right / n * (1 - 1.0 * right / n) / n); })},
        {"not_of_mean",
         {"This is the spread of single answers. The mean of n answers spreads sqrt(n) times less.",
          "这是单个答案的离散程度。n 个答案的平均值要小根号 n 倍。"},
         "half width = 1.96 sqrt(p (1 - p) [[/ n]])",
         width([](int right, int n) { return 1.96 * std::sqrt(1.0 * right / n * (1 - 1.0 * right / n)); })},
        {"integers",
         {"right / n is a division of integers: the result is 0 or 1. In C++, convert one of them to double; in "
          "Python, write / "
          "in place of //.",
          "right / n 成了整数除法，结果是 0 或 1。C++ 里要先把其中一个转换成 double，Python 里用 /，不用 //。"},
         "p = [[right / n]]",
         width([](int right, int n) {
           const int p = right / n;
           return 1.96 * std::sqrt(p * (1.0 - p) / n);
         })}}},
      {{"a trained model: the edge to the antecedent is the cause, the edge to the other noun is not",
        "训练好的模型：通向先行词的边是原因，通向另一个名词的边不是"},
       "without_edge",
       "",
       [=] {
         *result = study(yours);
         const auto& cuts = result->cuts;
         const double before = static_cast<double>(result->right) / result->sentences;
         return Results{{{"above 95 % before (1: yes)", "切断之前高于 95 %（1：是）"}, before > 0.95 ? 1.0 : 0.0},
                        {{"both heads: lost above 0.8 (1: yes)", "两个头：失去 0.8 以上（1：是）"},
                         cuts[2].lost > 0.8 ? 1.0 : 0.0},
                        {{"control: lost below 0.1 (1: yes)", "对照：失去不到 0.1（1：是）"},
                         std::abs(cuts[3].lost) < 0.1 ? 1.0 : 0.0}};
       },
       [] {
         return Results{{{"above 95 % before (1: yes)", "切断之前高于 95 %（1：是）"}, 1.0},
                        {{"both heads: lost above 0.8 (1: yes)", "两个头：失去 0.8 以上（1：是）"}, 1.0},
                        {{"control: lost below 0.1 (1: yes)", "对照：失去不到 0.1（1：是）"}, 1.0}};
       }}};
  step.picture = [=](Language language) {
    const bool zh = language == Language::zh;
    const auto percent = [&](int right) {
      return fmt::format("{:5.1f} % ± {:.1f}", 100.0 * right / result->sentences,
                         100 * yours.half_width(right, result->sentences));
    };
    std::string text =
        zh ? fmt::format("回答 {} 个留出的句子，准确率 {}\n", result->sentences, percent(result->right))
           : fmt::format("{} held-out sentences, accuracy {}\n", result->sentences, percent(result->right));
    text += zh ? fmt::format("从 it 到先行词的平均权重：第 1 个头 {:.2f}，第 2 个头 {:.2f}\n\n", result->weights[0],
                             result->weights[1])
               : fmt::format("mean weight from it to the antecedent: head 1 {:.2f}, head 2 {:.2f}\n\n",
                             result->weights[0], result->weights[1]);
    text += zh ? "切断之后的准确率      失去的优势   切断的边\n" : "accuracy after      lost   the edge that is cut\n";
    for (const Cut& cut : result->cuts)
      text += fmt::format("{}      {:5.2f}   {}\n", percent(cut.right), cut.lost, in(language, cut.what));
    return text;
  };
  return step;
}

}  // namespace learn
