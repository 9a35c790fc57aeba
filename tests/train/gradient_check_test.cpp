#include "train/gradient_check.h"

#include "tests/catch.h"

#include <heed/autograd/ops.h>

#include <algorithm>

using namespace heed;

namespace {

const Operation wrong_operation("wrong", "y = f(x)", "any", Samples::none("an operation whose gradient is wrong"));

// y = f(x), recorded with the gradient gradient(dy, x).
template <class F, class G>
Tensor wrong(const Tensor& x, F f, G gradient) {
  return record(wrong_operation, {&x}, f(x.detach()), Saved(x.detach()),
                [gradient](const Tensor& dy, const Tensor& v) { return std::vector{gradient(dy, v)}; });
}

ModelCheck check_of(const std::string& model, int seed = 1) {
  return check_model_gradients(parse_config(
      "data: {sentences: 20, held_out: 4}\nmodel: {d_model: 8, heads: 2, " + model + "}\nseed: " + std::to_string(seed),
      "f"));
}

std::string line_of(const ModelCheck& check, const std::string& beginning) {
  const std::size_t at = check.table.find("\n" + beginning) + 1;
  REQUIRE(at > 0);
  return check.table.substr(at, check.table.find('\n', at) - at);
}

// Checks mean((x relu(W) + b)^2), where the square has this gradient.
template <class G>
ModelCheck check_square(G gradient) {
  Parameters parameters;
  const Scope scope(parameters, 1, DType::float64);
  const Tensor W = scope.parameter("W", {3, 2}, Init::normal(1)), b = scope.parameter("b", {2}, Init::zeros());
  const Tensor x = tensor({2, 3}, {1, -2, 0.5, 0.25, 1, 3}, DType::float64);
  return check_parameters(
      parameters,
      [&] {
        return mean(wrong(
            linear(x, relu(W), b), [](const Tensor& v) { return square(v); }, gradient));
      },
      1);
}

}  // namespace

TEST_CASE("check_model_gradients prints one line per parameter, and all parameters pass") {
  const ModelCheck check = check_model_gradients(
      parse_config("data: {sentences: 20, held_out: 4}\nmodel: {d_model: 16, heads: 2, layers: 2, mlp: 3}\n", "f"));
  CHECK(check.passed);
  for (const char* name : {"words.weight ", "positions.weight ", "encoder.0.attention.W_Q.weight ", "output_bias "}) {
    CAPTURE(name, check.table);
    const std::size_t at = check.table.find(std::string("\n") + name);
    REQUIRE(at != std::string::npos);
    CHECK(check.table.substr(at + 1, check.table.find('\n', at + 1) - at - 1).ends_with("  pass"));
  }
  const auto parameters = std::ranges::count(check.table, '\n') - 5;  // without the heading and the totals
  line_of(check, fmt::format("{0} of {0} parameters pass, 0 of them with a gradient below 1e-08.", parameters));
  CHECK(line_of(check, "Worst error: ").find(" of a gradient's norm, ") != std::string::npos);
  line_of(check,
          fmt::format("{} derivatives agree with 8th-order central differences in float64, to 1e-07", 8 * parameters));
}

TEST_CASE("check_model_gradients passes for the optional parts of word, candidate and language models") {
  for (const char* model :
       {"norm_placement: after, embedding_norm: true, score_scale: 0.5, answer: candidate_or_none, activation: silu",
        "norm_placement: both, norm: rms, activation: geglu, soft_cap: 2, logit_cap: 3, logits: untied",
        "norm_placement: output, normalised_heads: true, positions: rotary, rotary_fraction: 0.5, kv_heads: 1",
        "parallel: true, positions: rotary, rotary_scaling: llama3, rotary_factor: 4, bias: true, activation: "
        "quick_gelu",
        "norm: rms, activation: reglu2"}) {
    for (const char* data :
         {"{sentences: 20, held_out: 4}", "{task: induction, context: 16, sentences: 20, held_out: 4}"}) {
      const std::string parts = model;
      const bool is_text = std::string(data).find("induction") != std::string::npos;
      if (is_text && parts.find("answer") != std::string::npos) continue;
      const ModelCheck check = check_model_gradients(
          parse_config(fmt::format("data: {}\nmodel: {{d_model: 16, heads: 2, layers: 2, mlp: 6, {}{}}}\n", data, parts,
                                   is_text ? ", window: 5, full_attention_every: 2" : ""),
                       "f"));
      CAPTURE(model, data, check.table);
      CHECK(check.passed);
    }
  }
}

TEST_CASE("check_model_gradients passes for layer norms of 4 features, where the loss curves most") {
  for (const int seed : {1, 2, 3, 4, 5}) {
    const ModelCheck check = check_model_gradients(parse_config(
        "data: {sentences: 20, held_out: 4}\nmodel: {d_model: 4, heads: 2, mlp: 3}\nseed: " + std::to_string(seed),
        "f"));
    CAPTURE(seed, check.table);
    CHECK(check.passed);
  }
}

TEST_CASE("A gradient that is 0 by construction, as of the key bias, passes as below 1e-08") {
  const ModelCheck check = check_of("bias: true");
  CAPTURE(check.table);
  CHECK(check.passed);
  CHECK(line_of(check, "encoder.0.attention.W_K.bias ").ends_with("  pass: below 1e-08"));
  CHECK(line_of(check, "encoder.0.attention.W_Q.bias ").ends_with("  pass"));
  CHECK(check.table.find(" parameters pass, 2 of them with a gradient below 1e-08.\n") != std::string::npos);
}

TEST_CASE("With zero_outputs, every parameter still has a gradient of 1e-08 or more in the check") {
  const ModelCheck check = check_of("zero_outputs: true, mlp: 5");
  CAPTURE(check.table);
  CHECK(check.passed);
  CHECK(check.table.find(" parameters pass, 0 of them with a gradient below 1e-08.\n") != std::string::npos);
}

TEST_CASE("check_model_gradients passes near kinks of relu and counts the smaller steps") {
  int smaller_steps = 0;
  for (int seed = 1; seed <= 6; ++seed) {
    const ModelCheck check = check_of("mlp: 64, activation: relu", seed);
    CAPTURE(seed, check.table);
    CHECK(check.passed);
    smaller_steps += check.table.find("of them took a smaller step") != std::string::npos &&
                     check.table.find(" 0 of them took") == std::string::npos;
  }
  CHECK(smaller_steps > 0);
}

TEST_CASE("A wrong gradient fails the check, and the message gives both derivatives") {
  const auto right = [](const Tensor& dy, const Tensor& x) { return 2 * dy * x; };
  CHECK(check_square(right).passed);
  const auto failure = [](const auto& gradient) {
    const ModelCheck check = check_square(gradient);
    CHECK_FALSE(check.passed);
    return line_of(check, "b ");
  };
  CHECK(failure([](const Tensor& dy, const Tensor& x) { return 2.02 * dy * x; }).find("  FAIL: expected ") !=
        std::string::npos);
  CHECK(failure([](const Tensor& dy, const Tensor& x) { return -2 * dy * x; }).find(", got ") != std::string::npos);
  CHECK(failure([](const Tensor& dy, const Tensor& x) {
          return 0 * dy * x;
        }).find(", got 0 along a random direction") != std::string::npos);
  CHECK(failure([](const Tensor& dy, const Tensor& x) {
          return 2 * dy * x * tensor({2}, {1, 1.0001}, DType::float64);
        }).find(" along the gradient") != std::string::npos);
}

TEST_CASE("A parameter that the loss does not depend on fails the check") {
  Parameters parameters;
  const Scope scope(parameters, 1, DType::float64);
  const Tensor used = scope.parameter("used", {2}, Init::normal(1));
  scope.parameter("unused", {2}, Init::normal(1));
  const ModelCheck check = check_parameters(
      parameters, [&] { return sum(square(used)); }, 1);
  CHECK_FALSE(check.passed);
  CHECK(line_of(check, "unused ").ends_with("  FAIL: the loss does not depend on it"));
  CHECK(check.table.find("\n1 of 2 parameters pass, ") != std::string::npos);
}
