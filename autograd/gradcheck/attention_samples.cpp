#include <heed/autograd/gradcheck/attention_samples.h>
#include <heed/autograd/ops.h>

namespace heed {
namespace {

struct Case {
  const char* name;
  Shape Q, K, V;
  Mask mask;
};

std::vector<Case> cases() {
  const std::vector<int> lengths = {3, 1};
  return {{"one sequence", {3, 2}, {3, 2}, {3, 2}, {}},
          {"d_v and T_k apart", {2, 3}, {4, 3}, {4, 2}, {}},
          {"heads", {2, 2, 3, 2}, {2, 2, 3, 2}, {2, 2, 3, 2}, {}},
          {"causal", {1, 2, 3, 2}, {1, 2, 3, 2}, {1, 2, 3, 2}, Mask::causal()},
          {"causal, fewer queries", {2, 2}, {4, 2}, {4, 2}, Mask::causal()},
          {"padding", {2, 1, 3, 2}, {2, 1, 3, 2}, {2, 1, 3, 2}, Mask::padding(lengths, 3)},
          {"padding and causal", {2, 1, 3, 2}, {2, 1, 3, 2}, {2, 1, 3, 2}, Mask::padding(lengths, 3) & Mask::causal()},
          {"boolean with a blind query", {3, 2}, {3, 2}, {3, 2}, Mask(Booleans({3, 3}, {1, 0, 1, 0, 0, 0, 0, 1, 1}))},
          {"more queries than a block", {130, 1}, {2, 1}, {2, 1}, {}},
          {"no queries", {0, 2}, {3, 2}, {3, 2}, {}},
          {"no sequences", {0, 3, 2}, {0, 3, 2}, {0, 3, 2}, {}}};
}

}  // namespace

std::vector<Sample> attention_samples(AttentionOutput output) {
  std::vector<Sample> samples;
  for (const Case& c : cases()) {
    samples.push_back({c.name, {{c.Q}, {c.K}, {c.V}}, [=](const std::vector<Tensor>& x) {
                         if (output == AttentionOutput::output) return attention(x[0], x[1], x[2], c.mask).output;
                         const AttentionResult both = attention(x[0], x[1], x[2], c.mask, Weights::yes);
                         return concat({both.output, both.weights}, -1);
                       }});
  }
  return samples;
}

}  // namespace heed
