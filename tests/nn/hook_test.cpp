#include "tests/autograd/helpers.h"
#include "tests/golden.h"
#include "tests/message.h"
#include "tests/models/sample.h"

#include <heed/nn/hook.h>

#include <algorithm>
#include <map>
#include <set>

using namespace heed;

namespace {

struct SmallAnswerer {
  Parameters parameters;
  Model model;
  explicit SmallAnswerer(DType dtype, int mlp = 6, Tie tie = Tie::none)
      : model(Scope(parameters, 3, dtype), answerer_of({.vocabulary = 9,
                                                        .max_length = 5,
                                                        .layers = 2,
                                                        .block = {.attention = {.d_model = 8,
                                                                                .heads = 2,
                                                                                .d_k = 3,
                                                                                .d_v = tie == Tie::K_is_V ? 3 : 5,
                                                                                .bias = true,
                                                                                .tie = tie},
                                                                  .mlp = {.width = mlp}}})) {}
};

const Batch five_and_three{
    .tokens = Ids({2, 5}, {1, 2, 3, 4, 5, 8, 7, 6, 0, 0}), .lengths = {5, 3}, .query = Ids({2}, {4, 1})};

const Hook::Function nothing = [](const std::string&, Tensor&) {};

}  // namespace

TEST_CASE("A hook receives every value under the name of its layer") {
  const SmallAnswerer small(DType::float32);
  std::vector<std::string> names;
  std::map<std::string, Tensor> values;
  {
    const Hook hook([&](const std::string& name, Tensor& value) {
      names.push_back(name);
      values[name] = value;
    });
    small.model.run(five_and_three);
  }
  CHECK(std::vector(names.begin(), names.begin() + 18) ==
        std::vector<std::string>{"words.output", "positions.output", "embedded", "encoder.0.attention_norm.output",
                                 "encoder.0.attention.W_Q.output", "encoder.0.attention.W_K.output",
                                 "encoder.0.attention.W_V.output", "encoder.0.attention.Q", "encoder.0.attention.K",
                                 "encoder.0.attention.V", "encoder.0.attention.scores", "encoder.0.attention.weights",
                                 "encoder.0.attention.heads", "encoder.0.attention.W_O.output",
                                 "encoder.0.attention.output", "encoder.0.attended", "encoder.0.mlp.norm.output",
                                 "encoder.0.mlp.in.output"});
  CHECK(std::vector(names.end() - 7, names.end()) ==
        std::vector<std::string>{"encoder.1.mlp.in.output", "encoder.1.mlp.hidden", "encoder.1.mlp.out.output",
                                 "encoder.1.output", "encoder.norm.output", "at_query", "logits"});
  CHECK(values["encoder.1.attention.Q"].shape() == Shape{2, 2, 5, 3});
  CHECK(values["encoder.1.attention.V"].shape() == Shape{2, 2, 5, 5});
  CHECK(values["encoder.1.attention.scores"].shape() == Shape{2, 2, 5, 5});
  CHECK(values["encoder.1.attention.heads"].shape() == Shape{2, 2, 5, 5});
  CHECK(values["encoder.1.output"].shape() == Shape{2, 5, 8});
  names.clear();
  small.model.run(five_and_three);
  CHECK(names.empty());  // the hook is closed

  Parameters parameters;
  const Linear nameless(Scope(parameters, 1), 2, 2);
  const Hook hook([&](const std::string& name, Tensor&) { names.push_back(name); });
  nameless(ones({1, 2}));
  CHECK(names == std::vector<std::string>{"output"});
}

TEST_CASE("A hook sees and changes the attention of a text that is read piece by piece with a cache") {
  TransformerConfig config = modern_config();
  config.vocabulary = 9;
  Parameters parameters;
  const Model model(Scope(parameters, 3, DType::float64), decoder_of(config));
  const Ids text({2, 6}, {1, 2, 3, 4, 5, 8, 7, 6, 0, 1, 2, 0});
  const char* const part = GENERATE("Q", "K", "V", "scores", "weights", "heads", "output");
  std::set<std::string> names;
  const Hook hook([&](const std::string& name, Tensor& value) {
    names.insert(name);
    if (name == std::string("encoder.1.attention.") + part) value = value * 0.5;
  });
  const Tensor whole = slice(model.logits({.tokens = text}), 1, 5, 6);
  const std::set<std::string> of_whole = std::exchange(names, {});
  Cache cache;
  model.append(Ids({2, 3}, {1, 2, 3, 7, 6, 0}), cache);
  model.append(Ids({2, 1}, {4, 1}), cache);
  const Tensor last = model.append(Ids({2, 2}, {5, 8, 2, 0}), cache);
  CHECK(names == of_whole);
  CHECK(distance(last, reshape(whole, last.shape())) < 1e-12);
}

TEST_CASE("An exception of a hook leaves a cache as it was") {
  TransformerConfig config = modern_config();
  config.vocabulary = 9;
  Parameters parameters;
  const Model model(Scope(parameters, 3, DType::float64), decoder_of(config));
  Cache cache, undisturbed;
  for (Cache* one : {&cache, &undisturbed}) model.append(Ids({1, 2}, {1, 2}), *one);
  for (const std::string value : {"encoder.1.attention.scores", "encoder.norm.output", "logits"}) {
    const Hook hook([&](const std::string& name, Tensor&) {
      if (name == value) throw Error("stop");
    });
    CHECK_THROWS(model.append(Ids({1, 1}, {3}), cache));
  }
  const Ids next({1, 1}, {4});
  CHECK(same_bits(model.append(next, cache), model.append(next, undisturbed)));
  CHECK(message([&] {
          model.append(Ids({1, 0}, {}), cache);
        }) == "Transformer: expected at least one token per text, got (1, 0)");
}

TEST_CASE("A hook that only reads does not change output, weights and gradients") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  const int mlp = GENERATE(0, 6);
  const auto tie = GENERATE(Tie::none, Tie::K_is_V, Tie::Q_is_K);
  CAPTURE(to_string(dtype), mlp, tie);
  const SmallAnswerer small(dtype, mlp, tie);
  const Tensor cotangent = tensor({2, 9}, {1, -2, 3, -4, 5, -6, 7, -8, 9, 2, 1, 0, -1, -2, 3, -3, 1, -1}, dtype);
  const Recording recording;
  const ModelOutput fused = small.model.run(five_and_three, {.weights = true});
  const Gradients expected = backward(fused.logits, cotangent);
  const Hook hook(nothing);
  const ModelOutput seen = small.model.run(five_and_three, {.weights = true});
  CHECK(error(seen.logits, fused.logits) <= tolerance(dtype));
  for (std::size_t layer : {0, 1}) CHECK(error(seen.weights[layer], fused.weights[layer]) <= tolerance(dtype));
  const Gradients gradients = backward(seen.logits, cotangent);
  for (const auto& [name, parameter] : small.parameters) {
    CAPTURE(name);
    CHECK(error(gradients[parameter], expected[parameter]) <= 40 * tolerance(dtype));
  }
}

TEST_CASE("Layers continue with a value that a hook replaced, and gradients flow through it") {
  const SmallAnswerer small(DType::float64);
  const Tensor factor = variable(tensor({1}, {2}, DType::float64));
  const auto loss = [&] {
    const Hook hook([&](const std::string& name, Tensor& value) {
      if (name == "encoder.0.attention.V") value = value * factor;
    });
    return sum(square(small.model.logits(five_and_three)));
  };
  Tensor twice = small.parameters["encoder.0.attention.W_V.weight"].clone() * 2;
  const Tensor bias = small.parameters["encoder.0.attention.W_V.bias"];
  const SmallAnswerer doubled(DType::float64);
  Tensor(doubled.parameters["encoder.0.attention.W_V.weight"]).copy_from(twice);
  Tensor(doubled.parameters["encoder.0.attention.W_V.bias"]).copy_from(bias * 2);
  CHECK(std::abs(loss().item() - sum(square(doubled.model.logits(five_and_three))).item()) <= 1e-9);

  double gradient = 0;
  {
    const Recording recording;
    gradient = backward(loss())[factor].item();
  }
  const double step = 1e-5;
  Tensor(factor).copy_from(tensor({1}, {2 + step}, DType::float64));
  const double above = loss().item();
  Tensor(factor).copy_from(tensor({1}, {2 - step}, DType::float64));
  CHECK(std::abs(gradient - (above - loss().item()) / (2 * step)) <= 1e-6 * std::abs(gradient));
  CHECK(std::abs(gradient) > 1e-3);
}

TEST_CASE("A score of -infinity removes an edge, and masks apply to replaced scores, too") {
  const SmallAnswerer small(DType::float64);
  const Tensor before = small.model.run(five_and_three, {.weights = true}).weights[1];
  const Hook hook([](const std::string& name, Tensor& value) {
    if (name != "encoder.1.attention.scores") return;
    std::vector<std::uint8_t> cut(25, 0);
    cut[4 * 5 + 2] = 1;  // token 4 no longer sees token 2
    value = masked_fill(value, Booleans({5, 5}, cut), -std::numeric_limits<double>::infinity());
  });
  const Tensor after = small.model.run(five_and_three, {.weights = true}).weights[1];
  CHECK(after.at({0, 1, 4, 2}) == 0);
  CHECK(after.at({0, 1, 4, 3}) == Approx(before.at({0, 1, 4, 3}) / (1 - before.at({0, 1, 4, 2}))));
  CHECK(after.at({0, 1, 3, 2}) == Approx(before.at({0, 1, 3, 2})));

  const Hook flat([](const std::string& name, Tensor& value) {
    if (name == "encoder.1.attention.scores") value = zeros(value.shape(), value.dtype());
  });
  const Tensor even = small.model.run(five_and_three, {.weights = true}).weights[1];
  CHECK(even.at({0, 0, 4, 2}) == Approx(0.2));  // the later hook takes precedence
  CHECK(even.at({1, 0, 1, 2}) == Approx(1.0 / 3));
  CHECK(even.at({1, 0, 1, 3}) == 0);  // beyond the second text's three tokens
}

TEST_CASE("Several hooks may be open, and may run a model themselves") {
  const SmallAnswerer small(DType::float32);
  std::string calls;
  const Hook first([&](const std::string& name, Tensor& value) {
    if (name != "logits") return;
    calls += "first ";
    value = value * 0;
  });
  {
    const Hook second([&](const std::string& name, Tensor& value) {
      if (name != "logits") return;
      calls += max(square(value)).item() == 0 ? "second" : "out of order";
      value = small.model.logits(five_and_three);  // runs without hooks
    });
    CHECK(max(square(small.model.logits(five_and_three))).item() > 0);
    CHECK(calls == "first second");
  }
  CHECK(max(square(small.model.logits(five_and_three))).item() == 0);
  CHECK(calls == "first secondfirst ");
}

TEST_CASE("A hook must keep the shape and dtype of a value, and closes after an error") {
  const SmallAnswerer small(DType::float32);
  const auto replaced_by = [&](const Tensor& other) {
    const Hook hook([&](const std::string& name, Tensor& value) {
      if (name == "encoder.1.attention.heads") value = other;
    });
    return message([&] { small.model.run(five_and_three); });
  };
  CHECK(replaced_by(zeros({2, 2, 5, 4})) ==
        "hook: encoder.1.attention.heads was replaced by float32 (2, 2, 5, 4); expected the same dtype and shape, "
        "float32 (2, 2, 5, 5)");
  CHECK(replaced_by(zeros({2, 2, 5, 5}, DType::float64)) ==
        "hook: encoder.1.attention.heads was replaced by float64 (2, 2, 5, 5); expected the same dtype and shape, "
        "float32 (2, 2, 5, 5)");
  CHECK(replaced_by({}) ==
        "hook: encoder.1.attention.heads was replaced by no tensor; expected the same dtype and shape, float32 (2, 2, "
        "5, 5)");
  CHECK(replaced_by(zeros({2, 2, 5, 5})) == "no error");
  CHECK_FALSE(Hook::is_open());
}
