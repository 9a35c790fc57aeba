#include "tests/autograd/helpers.h"

#include <heed/autograd/gradcheck/attention_samples.h>

#include <algorithm>

using namespace heed;

TEST_CASE("attention_samples returns the output, or the output joined with the weights") {
  const std::vector<GradientSample> outputs = attention_samples(AttentionOutput::output);
  const std::vector<GradientSample> both = attention_samples(AttentionOutput::weights);
  REQUIRE(outputs.size() == both.size());
  Random random(1);
  int masked = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    INFO(outputs[i].name);
    std::vector<Tensor> x;
    for (const Argument& argument : outputs[i].arguments) x.push_back(draw(argument, random));
    const Tensor output = outputs[i].function(x), joined = both[i].function(x);
    const std::int64_t d_v = x[2].size(-1), T_k = x[1].size(-2);
    CHECK(output.size(-1) == d_v);
    CHECK(joined.size(-1) == d_v + T_k);
    CHECK(distance(slice(joined, -1, 0, d_v), output) < 1e-14);
    const std::vector<double> weights = slice(joined, -1, d_v, d_v + T_k).to_vector();
    masked += std::find(weights.begin(), weights.end(), 0.0) != weights.end();
  }
  CHECK(masked >= 5);  // causal twice, padding, both, boolean
}
