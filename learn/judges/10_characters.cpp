#include "10_characters.h"

#include "text.h"

#include <heed/autograd/record.h>
#include <heed/data/tasks/coreference.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <sstream>

namespace learn {
namespace {

using heed::Ids;
using heed::Tensor;

// The sentences of heed's coreference task as one text, and its characters.
struct CharacterText {
  std::string characters;
  std::vector<std::int32_t> text;
};
CharacterText sentences(bool held_out) {
  const heed::Task task = heed::coreference_task(1000, 200, heed::Random(1));
  std::string all, held;
  for (const auto* set : {&task.train, &task.held_out}) {
    for (const heed::Example& example : *set) {
      std::string& to = set == &task.train ? all : held;
      for (const std::string& word : example.tokens) to += word + " ";
      to.back() = '\n';
    }
  }
  CharacterText result;
  for (const char c : all + held)
    if (result.characters.find(c) == std::string::npos) result.characters += c;
  std::sort(result.characters.begin(), result.characters.end());
  for (const char c : held_out ? held : all)
    result.text.push_back(static_cast<std::int32_t>(result.characters.find(c)));
  return result;
}

struct CharacterFaults {
  bool sees_all = false, positions_missing = false, blocks_missing = false, reversed = false, norm_missing = false;
};
Tensor faulty(const CharacterModel& model, const Ids& ids, const CharacterFaults& fault = {}) {
  Tensor x = fault.positions_missing ? model.embedding(ids) : model.positions(model.embedding(ids));
  for (std::size_t i = 0; i < 2 && !fault.blocks_missing; ++i)
    x = model.blocks[fault.reversed ? 1 - i : i](x, fault.sees_all ? heed::Mask() : heed::Mask::causal()).output;
  return model.output(fault.norm_missing ? x : model.norm(x));
}

struct Trained {
  std::vector<double> losses;
  double held_out = 0;
  std::string sample;
};

// Trains with the learner's functions alone.
Trained train(const CharactersSolution& yours) {
  const CharacterText text = sentences(false), held = sentences(true);
  CharacterTraining data;
  data.text = text.text, data.held_out = held.text;
  heed::Random random(1);
  const auto starts = [&](const CharacterText& from, int count) {
    std::vector<std::size_t> result;
    for (int i = 0; i < count; ++i)
      result.push_back(
          static_cast<std::size_t>(random.below(std::ssize(from.text) - static_cast<std::int64_t>(data.T) - 1)));
    return result;
  };
  for (int step = 0; step < yours.steps; ++step) data.starts.push_back(starts(text, 16));
  data.held_out_starts = starts(held, 64);
  for (int i = 0; i < 160; ++i) data.uniform.push_back(random.uniform());
  data.newline = static_cast<std::int32_t>(text.characters.find('\n'));
  const CharacterModel model(static_cast<int>(text.characters.size()), static_cast<int>(data.T), 48, 4, 1);
  const CharacterRun run = yours.train(model, data);
  Trained result{run.losses, run.held_out, ""};
  for (const std::int32_t c : run.written) result.sample += text.characters.at(static_cast<std::size_t>(c));
  return result;
}

double learning_rate(std::size_t step) { return 4e-3 * std::min(1.0, static_cast<double>(step + 1) / 20); }

heed::Optimizer adamw(const CharacterModel& model) {
  return heed::Optimizer(model.parameters, {.method = heed::OptimizerOptions::Method::adamw});
}

Ids ids_of(const std::vector<std::size_t>& numbers) {
  return Ids({std::ssize(numbers)}, std::vector<std::int32_t>(numbers.begin(), numbers.end()));
}
Ids ids_in(const Array& x) {
  return Ids(heed::Shape(std::vector<std::int64_t>(x.shape.begin(), x.shape.end())),
             std::vector<std::int32_t>(x.values.begin(), x.values.end()));
}

}  // namespace

CharactersSolution with_training(CharactersSolution functions, TrainStep train_step) {
  functions.four_steps = [=](const CharacterModel& model, const Ids& inputs, const Ids& targets, double lr) {
    heed::Optimizer optimizer = adamw(model);
    std::vector<double> losses;
    for (int i = 0; i < 4; ++i) losses.push_back(train_step(model, optimizer, inputs, targets, lr));
    return losses;
  };
  functions.train = [yours = functions, train_step](const CharacterModel& model, const CharacterTraining& data) {
    heed::Optimizer optimizer = adamw(model);
    CharacterRun run;
    for (const auto& starts : data.starts) {
      const auto [inputs, targets] = yours.windows(data.text, starts, data.T);
      run.losses.push_back(train_step(model, optimizer, inputs, targets, learning_rate(run.losses.size())));
    }
    const auto [inputs, targets] = yours.windows(data.held_out, data.held_out_starts, data.T);
    run.held_out = cross_entropy(yours.logits(model, inputs), targets).item();
    std::vector<std::int32_t> written{data.newline};
    for (const double uniform : data.uniform) {
      const std::size_t from = written.size() > data.T ? written.size() - data.T : 0;
      const Ids ids({1, std::ssize(written) - static_cast<std::int64_t>(from)},
                    std::vector<std::int32_t>(written.begin() + static_cast<std::ptrdiff_t>(from), written.end()));
      const Tensor last = yours.logits(model, ids)[0][-1];
      written.push_back(static_cast<std::int32_t>(yours.draw(last.to_vector(), 0.5, uniform)));
    }
    run.written.assign(written.begin() + 1, written.end());
    return run;
  };
  return functions;
}

CharactersSolution python_10() {
  static const auto heads = [](const CharacterModel& model) { return model.blocks[0].config.attention.heads; };
  CharactersSolution yours;
  yours.steps = 400;  // NumPy takes longer than heed
  yours.windows = [](const std::vector<std::int32_t>& text, const std::vector<std::size_t>& starts, std::size_t T) {
    const auto [inputs, targets] =
        python_pair("windows", {Ids({std::ssize(text)}, text), ids_of(starts), static_cast<int>(T)});
    return std::pair{ids_in(inputs), ids_in(targets)};
  };
  yours.logits = [](const CharacterModel& model, const Ids& ids) {
    return tensor_of(python_one("characters.logits", {model.parameters, heads(model), ids}));
  };
  yours.draw = [](const std::vector<double>& logits, double temperature, double uniform) {
    return static_cast<std::size_t>(python_one("draw", {logits, temperature, uniform}).values.at(0));
  };
  yours.four_steps = [](const CharacterModel& model, const Ids& inputs, const Ids& targets, double lr) {
    return python_one("characters.four_steps", {model.parameters, heads(model), inputs, targets, lr}).values;
  };
  yours.train = [](const CharacterModel& model, const CharacterTraining& data) {
    std::vector<double> rates;
    Array starts({static_cast<int>(data.starts.size()), static_cast<int>(data.starts.at(0).size())});
    starts.values.clear();
    for (const auto& step : data.starts) {
      rates.push_back(learning_rate(rates.size()));
      starts.values.insert(starts.values.end(), step.begin(), step.end());
    }
    const auto results = python(
        "characters.train", {model.parameters, heads(model), static_cast<int>(data.T),
                             Ids({std::ssize(data.text)}, data.text), Ids({std::ssize(data.held_out)}, data.held_out),
                             ids_in(starts), ids_of(data.held_out_starts), rates, data.uniform, data.newline});
    const auto& written = results.at(2).values;
    return CharacterRun{results.at(0).values, results.at(1).values.at(0),
                        std::vector<std::int32_t>(written.begin(), written.end())};
  };
  return yours;
}

Step step_10(const CharactersSolution& yours) {
  const std::vector<std::int32_t> text{3, 1, 4, 1, 5, 9, 2, 6, 5, 3};
  const std::vector<std::size_t> starts{0, 4};
  const auto cut = [=](int input_shift, int target_shift) -> Compute {
    return [=] {
      Array inputs({2, 4}), targets({2, 4});
      for (int b = 0; b < 2; ++b) {
        for (int t = 0; t < 4; ++t) {
          const int at = static_cast<int>(starts[static_cast<std::size_t>(b)]) + t;
          inputs(b, t) = text.at(static_cast<std::size_t>(at + input_shift));
          targets(b, t) = text.at(static_cast<std::size_t>(std::max(0, at + target_shift)));
        }
      }
      return Results{{"inputs", inputs}, {"targets", targets}};
    };
  };
  const auto small = [] { return std::make_shared<CharacterModel>(10, 4, 8, 2, 1, heed::DType::float64); };
  const auto model = small();
  const Ids ids({2, 4}, {3, 1, 4, 1, 5, 9, 2, 6}), next({2, 4}, {1, 4, 1, 5, 9, 2, 6, 5});
  const auto computed = [=](const CharacterFaults& fault) -> Compute {
    return [=] { return Results{{"logits", faulty(*model, ids, fault)}}; };
  };
  const auto trains = [=](const Ids& targets, bool updates, bool after) -> Compute {
    return [=] {
      const auto fresh = small();
      heed::Optimizer optimizer = adamw(*fresh);
      std::vector<double> losses;
      for (int i = 0; i < 4; ++i) {
        {
          const heed::Recording recording;
          const Tensor loss = cross_entropy(faulty(*fresh, ids), targets);
          if (updates) optimizer.step(backward(loss), 0.01);
          losses.push_back(loss.item());
        }
        if (after) losses.back() = cross_entropy(faulty(*fresh, ids), targets).item();
      }
      return Results{{{"loss of steps 1 to 4", "第 1 到 4 步的损失"}, losses}};
    };
  };
  const std::vector<double> scores{1, 0, 2, -1};
  const auto draws = [=](const std::function<std::size_t(double, double)>& of) -> Compute {
    return [=] {
      std::vector<double> result;
      for (const double temperature : {0.5, 1.0, 2.0})
        for (const double uniform : {0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999})
          result.push_back(static_cast<double>(of(temperature, uniform)));
      return Results{{"drawn", result}};
    };
  };
  const auto drawn = [=](double factor, double uniform, bool shares) {  // softmax(factor * scores)
    double sum = 0, total = 0;
    for (const double x : scores) sum += std::exp(factor * x);
    for (std::size_t k = 0; k < scores.size(); ++k)
      if ((total += std::exp(factor * scores[k]) / (shares ? sum : 1)) > uniform) return k;
    return scores.size() - 1;
  };
  const auto trained = std::make_shared<Trained>();

  Step step{10, "10_characters", {"a model of characters", "字符模型"}, {}};
  step.checks = {
      {{"inputs, and the next characters as targets", "输入，以及作为目标的下一个字符"},
       "windows",
       {"text = 3 1 4 1 5 9 2 6 5 3, starts 0 and 4, T = 4", "text = 3 1 4 1 5 9 2 6 5 3，起点 0 和 4，T = 4"},
       [=] {
         const auto [inputs, targets] = yours.windows(text, starts, 4);
         return Results{{"inputs", heed::tensor(inputs, heed::DType::float64)},
                        {"targets", heed::tensor(targets, heed::DType::float64)}};
       },
       cut(0, 1),
       {{"not_shifted",
         {"The target of each character is the character itself. The model would learn to copy, and the loss would "
          "fall to 0.",
          "每个字符的目标是它自己：模型只会学会复制，损失会降到 0。"},
         "targets_bt = text[start_b + t [[+ 1]]]",
         cut(0, 0)},
        {"previous",
         {"The target is the character before. Predict the one after.", "目标成了前一个字符。要预测的是后一个。"},
         "targets_bt = text[start_b + t [[+ 1]]]",
         cut(0, -1)},
        {"two_ahead",
         {"The target lies two characters ahead.", "目标往后移了两个字符。"},
         "targets_bt = text[start_b + t [[+ 1]]]",
         cut(0, 2)}}},
      {{"the logits", "logit"},
       "logits",
       "ids (2, 4)",
       [=] {
         return Results{{"logits", yours.logits(*model, ids)}};
       },
       computed({}),
       {{"sees_all",
         {"The causal mask is missing: each character sees those after it, also the one that it is to predict.",
          "没有因果掩码：每个字符都看得到后面的字符，包括它要预测的那个。"},
         "x = block(x, [[causal]]).output",
         computed({.sees_all = true})},
        {"positions_missing",
         {"The positions are missing: attention alone does not know the order.",
          "缺了位置：单靠注意力不知道先后次序。"},
         "x = [[positions]](embedding(ids))",
         computed({.positions_missing = true})},
        {"blocks_missing",
         {"The blocks are missing: each character sees only itself.", "缺了 transformer 块：每个字符只看得到自己。"},
         "x = [[block(x, causal).output]], for each block in order",
         computed({.blocks_missing = true})},
        {"reversed",
         {"The blocks run in the reverse order.", "块的次序反了。"},
         "x = block(x, causal).output, for each block [[in order]]",
         computed({.reversed = true})},
        {"norm_missing",
         {"The last norm is missing.", "缺了最后的归一化。"},
         "logits = output([[norm]](x))",
         computed({.norm_missing = true})}}},
      {{"four steps of training", "训练四步"},
       "train_step",
       "ids (2, 4), lr 0.01",
       [=] {
         return Results{{{"loss of steps 1 to 4", "第 1 到 4 步的损失"}, yours.four_steps(*small(), ids, next, 0.01)}};
       },
       trains(next, true, false),
       {{"no_step",
         {"The parameters do not change: optimizer.step() is missing, or has a learning rate of 0.",
          "参数没有变：没有调用 optimizer.step()，或者学习率是 0。"},
         "[[optimizer.step(backward(loss), lr)]]",
         trains(next, false, false)},
        {"learns_to_copy",
         {"The loss compares the logits with the inputs. Compare them with the targets.",
          "损失拿 logit 与输入比较了。应该与目标比较。"},
         "loss = cross_entropy(logits(model, inputs), [[targets]])",
         trains(ids, true, false)},
        {"loss_after",
         {"This is the loss after the step. Return the one from before it, which is already computed.",
          "返回的是更新之后的损失。应该返回更新之前的，它已经算好了。"},
         "loss = [[cross_entropy(logits(model, inputs), targets)]]",
         trains(next, true, true)}}},
      {{"drawing a character", "抽取一个字符"},
       "draw",
       {"logits = [1, 0, 2, -1], temperatures 0.5, 1, 2", "logits = [1, 0, 2, -1]，温度 0.5、1、2"},
       draws([=](double temperature, double uniform) { return yours.draw(scores, temperature, uniform); }),
       draws([=](double temperature, double uniform) { return drawn(1 / temperature, uniform, true); }),
       {{"multiplied",
         {"The logits are multiplied by the temperature. Divide: a low temperature must prefer the likely characters.",
          "logit 乘以了温度。应该除：温度越低，越偏向可能性大的字符。"},
         "p = softmax(logits [[/]] temperature)",
         draws([=](double temperature, double uniform) { return drawn(temperature, uniform, true); })},
        {"temperature_ignored",
         {"The temperature has no effect.", "温度没有起作用。"},
         "p = softmax(logits [[/ temperature]])",
         draws([=](double, double uniform) { return drawn(1, uniform, true); })},
        {"greedy",
         {"Always the most probable character, whatever `uniform` is.", "不管 uniform 是多少，总是取最可能的字符。"},
         "the first k with [[p_0 + ... + p_k > uniform]]",
         draws([](double, double) { return std::size_t{2}; })},
        {"not_accumulated",
         {"Each share alone is compared with `uniform`. Add them up, and take the first k whose total exceeds it.",
          "每个份额单独与 uniform 比较了。应该累加，取累加值第一个超过它的 k。"},
         "the first k with [[p_0 + ... + p_k]] > uniform",
         draws([=](double temperature, double uniform) {
           const Tensor p = softmax(heed::tensor({4}, scores, heed::DType::float64) / temperature);
           std::size_t k = 0;
           while (k < 3 && p.at({static_cast<std::int64_t>(k)}) <= uniform) ++k;
           return k;
         })},
        {"not_shares",
         {"The exponentials are not divided by their sum: their running total exceeds any uniform number too early.",
          "指数没有除以它们的和：累加值太早就超过了随机数。"},
         "p = [[softmax]](logits / temperature)",
         draws([=](double temperature, double uniform) { return drawn(1 / temperature, uniform, false); })}}},
      {{fmt::format("trained for {} steps: the held-out loss falls below 0.9", yours.steps),
        fmt::format("训练 {} 步：留出损失降到 0.9 以下", yours.steps)},
       "train_step",
       "",
       [=] {
         *trained = train(yours);
         return Results{{{"held-out loss", "留出损失"}, trained->held_out < 0.9 ? 0.0 : trained->held_out}};
       },
       [] {
         return Results{{{"held-out loss", "留出损失"}, 0.0}};
       }}};
  step.picture = [=](Language language) {
    const bool zh = language == Language::zh;
    std::string lines = zh ? "训练损失（nats／字符）：\n" : "Training loss, in nats per character:\n";
    for (std::size_t i = 0; i < trained->losses.size(); i += 100)
      lines += fmt::format("  {:4}  {:.3f}  {}\n", i, trained->losses[i],
                           std::string(static_cast<std::size_t>(std::max(0.0, 14 * trained->losses[i])), '#'));
    lines += fmt::format("{}{:.3f}\n\n", zh ? "留出损失 " : "held-out loss ", trained->held_out);
    lines += zh ? "它写的文本：\n" : "It writes:\n";
    std::istringstream sentences_written(trained->sample);
    for (std::string line; std::getline(sentences_written, line);) lines += wrapped("", line, 2);
    return lines;
  };
  return step;
}

}  // namespace learn
