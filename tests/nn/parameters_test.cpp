#include "tests/catch.h"
#include "tests/message.h"

#include <heed/autograd/format.h>
#include <heed/autograd/profile.h>
#include <heed/nn/layers.h>
#include <heed/nn/parameters.h>

#include <optional>

using namespace heed;

TEST_CASE("Parameters have full names and keep the order of their creation") {
  Parameters parameters;
  const Scope scope(parameters, 1);
  (scope / "encoder" / 0 / "W_Q").parameter("weight", {2, 3}, Init::ones());
  scope.parameter("bias", {4}, Init::zeros());

  CHECK((scope / "encoder").dtype() == DType::float32);
  CHECK(Scope(parameters, 1, DType::float64).dtype() == DType::float64);

  std::vector<std::string> names;
  for (const auto& [name, value] : parameters) names.push_back(name);
  CHECK(names == std::vector<std::string>{"encoder.0.W_Q.weight", "bias"});
  CHECK(parameters.numel() == 10);
  CHECK(parameters["encoder.0.W_Q.weight"].to_vector() == std::vector<double>(6, 1));
  CHECK(parameters["bias"].is_variable());
  CHECK(message([&] { parameters["encoder.0.W_K.weight"]; }) ==
        "parameters: no 'encoder.0.W_K.weight' (did you mean 'encoder.0.W_Q.weight'?)");
  CHECK(message([&] { scope.parameter("bias", {4}, Init::zeros()); }) ==
        "parameters: 'bias' already exists; give each layer its own scope");
}

TEST_CASE("A scope that shares takes the parameters of another one, under names of its own") {
  Parameters parameters;
  const Scope scope(parameters, 1), first = scope / "0", second = (scope / "1").sharing(first);
  const Linear one(first / "W", 2, 3), other(second / "W", 2, 3);
  CHECK(parameters.size() == 2);
  CHECK(other.name == "1.W");
  const Recording recording;
  const Gradients gradients = backward(sum(other(ones({1, 2}))));
  CHECK(gradients.contains(parameters["0.W.bias"]));
  CHECK(message([&] {
          (second / "V").parameter("weight", {2}, Init::ones());
        }).starts_with("parameters: no '0.V.weight'"));
}

TEST_CASE("Parameters::load copies every value, or none when names or shapes do not match") {
  Parameters parameters;
  const Scope scope(parameters, 1);
  const Tensor a = scope.parameter("a", {2}, Init::zeros());
  const Tensor b = scope.parameter("b", {3}, Init::zeros());

  parameters.load({{"b", tensor({3}, {3, 4, 5}, DType::float64)}, {"a", tensor({2}, {1, 2})}}, "good");
  CHECK(a.to_vector() == std::vector<double>{1, 2});
  CHECK(b.to_vector() == std::vector<double>{3, 4, 5});

  CHECK(message([&] {
          parameters.load({{"a", ones({2})}, {"c", ones({})}, {"b", ones({3, 1})}}, "bad.safetensors");
        }) ==
        "bad.safetensors: its tensors do not match; was the model or the optimiser configured "
        "differently?\n"
        "  b: expected shape (3), got (3, 1)\n"
        "  extra: c ()");
  CHECK(message([&] {
          parameters.load({{"a", ones({2})}}, "short");
        }) ==
        "short: its tensors do not match; was the model or the optimiser configured differently?\n"
        "  missing: b (3)");
  NamedTensors many{{"a", ones({2})}, {std::string(1000, 'b'), ones({3})}};
  for (int i = 0; i < 5000; ++i) many.emplace_back("n" + std::to_string(i), ones({}));
  const std::string said = message([&] { parameters.load(many, "damaged"); });
  CHECK(
      said.starts_with("damaged: its tensors do not match; was the model or the optimiser configured differently?\n"
                       "  missing: b (3)\n"
                       "  extra: " +
                       std::string(59, 'b') + "… (3)\n  extra: n0 ()\n"));
  CHECK(said.ends_with("\n  extra: n17 ()\n  ... and 4982 more"));
  CHECK(a.to_vector() == std::vector<double>{1, 2});
}

TEST_CASE("Parameters::load reads names without what torch.compile and DataParallel put before all of them") {
  Parameters parameters;
  const Scope scope(parameters, 1);
  Tensor a = scope.parameter("a.weight", {2}, Init::ones()), b = scope.parameter("b", {2}, Init::ones());
  const Tensor two = tensor({2}, {2, 3});
  for (const char* prefix : {"", "module.", "_orig_mod.", "module._orig_mod.", "_orig_mod.module."}) {
    CAPTURE(prefix);
    a.copy_from(zeros({2}));
    parameters.load({{std::string(prefix) + "a.weight", two}, {std::string(prefix) + "b", two}}, "file");
    CHECK(a.to_vector() == std::vector<double>{2, 3});
  }
  CHECK(message([&] {
          parameters.load({{"module.a.weight", two}, {"b", two}}, "file");
        }).find("extra: module.a.weight (2)") != std::string::npos);
  Parameters own;
  const Tensor inner = (Scope(own, 1) / "module").parameter("a", {2}, Init::ones());
  own.load({{"module.a", two}}, "file");  // the model's own scope
  CHECK(inner.to_vector() == std::vector<double>{2, 3});
}

TEST_CASE("Parameters::load refuses the parameters themselves, and takes copies of their values") {
  Parameters parameters;
  const Parameter a = Scope(parameters, 1).parameter("a", {2}, Init::ones());
  const NamedTensors kept(parameters.begin(), parameters.end()), copied{{"a", a.clone()}};
  a.copy_from(tensor({5.0, 6.0}));
  CHECK(
      message([&] { parameters.load(kept, "best"); }) ==
      "best: these are the parameters themselves, so that loading them changes nothing; keep copies of the values with "
      "clone()");
  parameters.load(copied, "best");
  CHECK(fmt::format("{}", a) == "[1. 1.]");
}

TEST_CASE("Parameters::load swaps and shifts values that are other parameters") {
  Parameters parameters;
  const Scope scope(parameters, 1);
  for (int i = 0; i < 3; ++i) scope.parameter(std::string(1, "abc"[i]), {2}, Init::constant(i));
  const auto values = [&] { return fmt::format("{} {} {}", parameters["a"], parameters["b"], parameters["c"]); };
  parameters.load({{"a", parameters["b"]}, {"b", parameters["a"]}, {"c", parameters["c"]}}, "swapped");
  CHECK(values() == "[1. 1.] [0. 0.] [2. 2.]");
  parameters.load({{"a", parameters["b"]}, {"b", parameters["c"]}, {"c", parameters["a"]}}, "shifted");
  CHECK(values() == "[0. 0.] [2. 2.] [1. 1.]");
}

TEST_CASE("A layer can be created with Values::none, without memory for its values") {
  Parameters shapes, drawn;
  const std::int64_t before = memory_use().bytes_in_use;
  const Linear layer(Scope(shapes, 1, DType::float32, Values::none) / "large", 1 << 20, 1 << 20);
  CHECK(shapes.numel() == (std::int64_t{1} << 40) + (1 << 20));
  CHECK(memory_use().bytes_in_use - before < 1 << 16);
  const Linear small(Scope(drawn, 1) / "large", 2, 3);
  CHECK(shapes.begin()->first == drawn.begin()->first);
}

TEST_CASE("Parameters::add accepts only variables") {
  Parameters parameters;
  const auto refused = [](const std::string& given) {
    return fmt::format("parameters: 'w' must be a variable, got {}; add variable(x), and compute with that", given);
  };
  CHECK(message([&] { parameters.add("w", ones({2, 3})); }) == refused("a constant of shape (2, 3)"));
  CHECK(message([&] { parameters.add("w", {}); }) == refused("an undefined tensor"));
  {
    const Recording recording;
    CHECK(message([&] { parameters.add("w", square(variable(ones({2})))); }) ==
          refused("a recorded tensor of shape (2)"));
  }
  CHECK(parameters.size() == 0);
  parameters.add("w", variable(ones({2, 3})));
  CHECK(parameters["w"].is_variable());
}

TEST_CASE("Errors about gradients name the parameter") {
  Parameters parameters;
  const Linear layer(Scope(parameters, 1) / "head", 2, 3), other(Scope(parameters, 1) / "other", 2, 3);
  const Tensor& weight = parameters["head.weight"];
  const Tensor x = ones({1, 2});
  const Recording recording;
  const Tensor loss = sum(layer(x));
  Gradients gradients = backward(loss);
  CHECK(message([&] { gradients[other.weight]; }) ==
        "gradients: none for parameter 'other.weight' of shape (2, 3): the loss does not depend on it");
  CHECK(message([&] { gradients.set(weight, ones({2})); }) ==
        "gradients: parameter 'head.weight' of shape (2, 3), float32, cannot have a gradient float32 (2)");
  Tensor(layer.bias).mutable_data<float>();
  Tensor(weight).mutable_data<float>();
  CHECK(message([&] { backward(loss); }) ==
        "backward: parameter 'head.weight' of shape (2, 3) was written after it was recorded; call backward before the "
        "optimiser's step, and open a new Recording after it");
}

TEST_CASE("The error for a frozen parameter written before backward names it") {
  Parameters parameters;
  const Linear layer(Scope(parameters, 1) / "body", 2, 3);
  parameters.freeze("body");
  const Tensor x = variable(ones({1, 2}));
  const Recording recording;
  const Tensor loss = sum(layer(x));
  Tensor(layer.weight).mutable_data<float>();
  CHECK(message([&] { backward(loss); }) ==
        "body: backward of linear: the memory of input 1 (parameter 'body.weight'), of shape (2, 3), was written after "
        "the operation, but its gradient needs the old values; write to a clone(), or after backward");
}

TEST_CASE("Frozen parameters are not recorded and cost no gradient computation") {
  Parameters parameters;
  const Scope scope(parameters, 1);
  const Linear body(scope / "body", 64, 64), head(scope / "head", 64, 64);
  const Tensor x = ones({32, 64});
  constexpr double product = 2.0 * 32 * 64 * 64;
  Gradients gradients;
  std::int64_t recorded = 0;
  const auto flops = [&] {
    const Profile profile;
    {
      const Recording recording;
      gradients = backward(sum(head(gelu(body(x)))));
      recorded = recording.size();
    }
    double total = 0;
    for (const auto& [name, work] : profile.totals()) total += work.flops;
    return total;
  };
  CHECK(flops() == 5 * product);  // two forward; dW, dx of the head, dW of the body
  const Tensor whole = gradients[head.weight];
  CHECK(gradients.size() == 4);
  CHECK(recorded == 8);

  parameters.freeze("body");
  CHECK(flops() == 3 * product);
  CHECK(gradients.size() == 2);
  CHECK(gradients[head.weight].to_vector() == whole.to_vector());
  CHECK(recorded == 4);
  CHECK(message([&] { gradients[body.weight]; }) ==
        "gradients: none for parameter 'body.weight' of shape (64, 64): it is frozen, as buffers are");

  parameters.unfreeze("body");
  parameters.freeze("head");
  CHECK(flops() == 4 * product);
  CHECK(gradients.size() == 2);
  CHECK(gradients.contains(body.weight));

  parameters.freeze("");
  const Recording recording;
  CHECK(message([&] { backward(sum(head(body(x)))); }) ==
        "backward: the output, of shape (), was not recorded: no Recording was open, a NoRecording was, or it depends "
        "on no variable (frozen variables do not count)");
  CHECK(message([&] { parameters.freeze("hed.weight"); }) ==
        "parameters: unknown parameter or scope 'hed.weight' (did you mean 'head.weight'?)");
  CHECK(message([&] { parameters.freeze("haed"); }) ==
        "parameters: unknown parameter or scope 'haed' (did you mean 'head'?)");
  CHECK(message([&] {
          parameters.freeze("zzzzzzzzzzzz");
        }).starts_with("parameters: unknown parameter or scope 'zzzzzzzzzzzz'; the outermost names are "));
}

TEST_CASE("A frozen layer above a trained one keeps no activations") {
  Parameters parameters;
  const Scope scope(parameters, 1);
  const Linear body(scope / "body", 64, 64), head(scope / "head", 64, 64);
  const Tensor x = ones({256, 64});
  constexpr std::int64_t activation = 256 * 64 * 4;
  const auto held = [&] {
    const Recording recording;
    const std::int64_t before = memory_use().bytes_in_use;
    const Tensor y = head(body(x));
    return memory_use().bytes_in_use - before;
  };
  CHECK(held() == 2 * activation);
  parameters.freeze("head");
  CHECK(held() == activation);
}

TEST_CASE("copy_from sets a layer's weights, and the store keeps them") {
  Parameters parameters;
  const Linear layer(Scope(parameters, 1) / "head", 2, 2);
  static_assert(!std::is_assignable_v<decltype((Linear(layer).weight)), Tensor>);
  layer.weight.copy_from(tensor({2, 2}, {1, 2, 3, 4}));
  CHECK(parameters["head.weight"].to_vector() == std::vector<double>{1, 2, 3, 4});
  for (auto [name, p] : parameters) p.copy_from(p + 1);
  CHECK(layer.weight.to_vector() == std::vector<double>{2, 3, 4, 5});
}

TEST_CASE("A scope keeps its store") {
  std::optional<Scope> scope;
  {
    Parameters parameters;
    scope.emplace(parameters, 1);
  }
  const Linear layer(*scope / "fc", 3, 2);
  CHECK(scope->parameters().size() == 2);
  CHECK(scope->parameters()["fc.weight"].to_vector() == layer.weight.to_vector());
}

TEST_CASE("A store has a variable under one name, and another store keeps that name") {
  Parameters parameters, other;
  const Embedding words(Scope(parameters, 1) / "words", 3, 2);
  CHECK(message([&] { parameters.add("head.weight", words.weight); }) ==
        "parameters: 'head.weight' is the variable 'words.weight', and optimisers would update it twice; to tie "
        "weights, add it once and compute with it, as in matmul(x, transpose(embedding.weight))");
  for (const Tensor& part : {words.weight.detach(), slice(words.weight, 0, 1, 2), reshape(words.weight, {6})}) {
    CHECK(
        message([&] { parameters.add("part", variable(part)); }) ==
        "parameters: 'part' is in the memory of 'words.weight', so that an update or a freeze of one would change the "
        "other; add variable(x.clone()), or compute 'part' from 'words.weight' in each call");
  }
  CHECK(parameters.size() == 1);
  parameters.add("copy", variable(words.weight.clone()));
  other.add("shared", words.weight);
  CHECK(words.weight.name() == "words.weight");
  CHECK(other["shared"].shares_storage(words.weight));
}

TEST_CASE("A scope of tensors refuses a view of a parameter that is not recorded") {
  Parameters parameters;
  const Embedding words(Scope(parameters, 1) / "words", 3, 2);
  const auto head = [&](const Tensor& weight) {
    return Linear(Scope(NamedTensors{{"weight", weight}}), 2, 3, {.bias = false});
  };
  CHECK(message([&] { head(transpose(words.weight)); }) ==
        "parameter 'weight': got a view of 'words.weight' that no Recording follows, so that 'words.weight' would lose "
        "its gradient; to tie weights, compute with the variable in each call, as in matmul(x, "
        "transpose(embedding.weight)); to keep a constant, give view.clone()");
  CHECK(head(transpose(words.weight).clone()).weight.shape() == Shape{2, 3});
  {
    const Recording recording;
    const Gradients gradients = backward(sum(head(transpose(words.weight))(ones({1, 2}))));
    CHECK(gradients[words.weight].to_vector() == std::vector<double>(6, 1));
  }
  // Views in the order of the memory lose it, too.
  for (const Tensor& view : {reshape(words.weight, {2, 3}), slice(reshape(words.weight, {3, 2}), 0, 0, 3),
                             words.weight.view({2, 3}, {3, 1}), transpose(reshape(words.weight, {3, 2}))}) {
    CHECK(message([&] {
            head(view.shape() == Shape{2, 3} ? view : reshape(view, {2, 3}));
          }).starts_with("parameter 'weight': got a view of 'words.weight' that no Recording follows"));
  }
  const auto row = [](const Tensor& weight) {
    return Linear(Scope(NamedTensors{{"weight", weight}}), 1, 2, {.bias = false});
  };
  CHECK(message([&] {
          row(slice(words.weight, 0, 1, 2));
        }).starts_with("parameter 'weight': got a view of 'words.weight'"));
  CHECK(
      message([&] {
        row(slice(variable(zeros({3, 2})), 0, 1, 2));
      }).starts_with("parameter 'weight': got a view of a variable that no Recording follows, so that the variable "));
  CHECK(row(slice(words.weight.detach(), 0, 1, 2)).weight.shares_storage(words.weight));  // a constant that is meant
  CHECK(row(slice(words.weight, 0, 1, 2).clone()).weight.shape() == Shape{1, 2});
  {
    const Recording recording;
    const Gradients gradients = backward(sum(row(slice(words.weight, 0, 1, 2))(ones({1, 1}))));
    CHECK(gradients[words.weight].to_vector() == std::vector<double>{0, 0, 1, 1, 0, 0});
  }
  parameters.freeze("words");
  CHECK(row(slice(words.weight, 0, 1, 2)).weight.shape() == Shape{1, 2});
  CHECK(head(transpose(words.weight)).weight.shape() == Shape{2, 3});
}
