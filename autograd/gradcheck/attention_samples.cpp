#include <heed/autograd/gradcheck/attention_samples.h>
#include <heed/autograd/ops.h>

namespace heed {
namespace {

struct Case {
  const char* name;
  Shape Q, K, V;
  AttentionOptions options;
  std::vector<Shape> bias = {};  // none or one
};

std::vector<Case> cases() {
  const std::vector<int> lengths = {3, 1};
  const auto masked = [](const Mask& mask) { return AttentionOptions{.mask = mask}; };
  return {{"one sequence", {3, 2}, {3, 2}, {3, 2}, {}},
          {"d_v and T_k apart", {2, 3}, {4, 3}, {4, 2}, {}},
          {"heads", {2, 2, 3, 2}, {2, 2, 3, 2}, {2, 2, 3, 2}, {}},
          {"causal", {1, 2, 3, 2}, {1, 2, 3, 2}, {1, 2, 3, 2}, masked(Mask::causal())},
          {"causal, fewer queries", {2, 2}, {4, 2}, {4, 2}, masked(Mask::causal())},
          {"padding", {2, 1, 3, 2}, {2, 1, 3, 2}, {2, 1, 3, 2}, masked(Mask::padding(lengths, 3))},
          {"padding of three axes", {2, 3, 2}, {2, 3, 2}, {2, 3, 2}, masked(Mask::padding(lengths, 3))},
          {"padding and causal",
           {2, 1, 3, 2},
           {2, 1, 3, 2},
           {2, 1, 3, 2},
           masked(Mask::padding(lengths, 3) & Mask::causal())},
          {"boolean with a blind query",
           {3, 2},
           {3, 2},
           {3, 2},
           masked(Mask(Booleans({3, 3}, {1, 0, 1, 0, 0, 0, 0, 1, 1})))},
          {"more queries than a block", {130, 1}, {2, 1}, {2, 1}, {}},
          {"scaled and capped", {2, 3}, {4, 3}, {4, 2}, {.scale = 0.7, .soft_cap = 1.5}},
          {"a window", {6, 2}, {6, 2}, {6, 2}, masked(Mask::window(2, 0))},
          {"causal from the start", {2, 2}, {4, 2}, {4, 2}, masked(Mask::causal(Mask::Align::start))},
          {"with a bias", {2, 2, 3, 2}, {2, 2, 4, 2}, {2, 2, 4, 2}, {.soft_cap = 2}, {{2, 3, 4}}},
          {"shared heads", {1, 4, 3, 2}, {1, 2, 3, 2}, {1, 2, 3, 2}, masked(Mask::causal()), {{4, 1, 3}}},
          {"no queries", {0, 2}, {3, 2}, {3, 2}, {}},
          {"no sequences", {0, 3, 2}, {0, 3, 2}, {0, 3, 2}, {}}};
}

}  // namespace

std::vector<GradientSample> attention_samples(AttentionOutput output) {
  std::vector<GradientSample> samples;
  for (const Case& c : cases()) {
    std::vector<Argument> arguments{{c.Q}, {c.K}, {c.V}};
    for (const Shape& bias : c.bias) arguments.push_back({bias});
    samples.push_back({c.name, arguments, [=](auto& x) {
                         AttentionOptions options = c.options;
                         if (x.size() > 3) options.bias = x[3];
                         if (output == AttentionOutput::output) return attention(x[0], x[1], x[2], options).output;
                         options.weights = true;
                         const AttentionResult both = attention(x[0], x[1], x[2], options);
                         return concat({both.output, both.weights}, -1);
                       }});
  }
  return samples;
}

}  // namespace heed
