#pragma once
#include "tests/catch.h"
#include "tests/inspect/sample.h"

#include <heed/explain/studies/held_out.h>
#include <heed/nn/hook.h>

#include <cmath>

namespace heed {

// Returns two minimal pairs and a single sentence, of different lengths.
inline std::vector<Example> sentences() {
  const auto make = [](std::vector<std::string> tokens, int antecedent, int distractor, int counterpart) {
    Example e;
    e.query = 2;
    e.antecedent = antecedent;
    e.distractor = distractor;
    e.answer = tokens[static_cast<std::size_t>(antecedent)];
    e.cue = tokens.back();
    e.tokens = std::move(tokens);
    e.counterpart = counterpart;
    return e;
  };
  return {make({"dog", "street", "it", "was", "tired"}, 0, 1, 2), make({"animal", "street", "it", "too"}, 1, 0, -1),
          make({"dog", "street", "it", "was", "too"}, 1, 0, 0),
          make({"the", "street", "it", "was", "too", "tired"}, 0, 1, 4),
          make({"the", "street", "it", "was", "too", "because"}, 1, 0, 3)};
}

constexpr std::size_t any_number = 100;

// Returns the answers after `edit` has changed the weights of a layer.
inline std::vector<HeldOut::Answer> by_hand(const HeldOut& held_out, const Model& model, int layer,
                                            const std::function<void(std::vector<double>&, std::int64_t T)>& edit) {
  const Hook hook([&](const std::string& name, Tensor& value) {
    if (name != hook_name(model.transformer(), layer, "weights")) return;
    std::vector<double> values = value.to_vector();
    edit(values, value.size(2));
    value = tensor(value.shape(), values);
  });
  return held_out.answers();
}

inline void check_equal(const std::vector<HeldOut::Answer>& a, const std::vector<HeldOut::Answer>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].probability == Approx(b[i].probability).epsilon(1e-5));
    CHECK(a[i].word == b[i].word);
  }
}

inline bool differ(const std::vector<HeldOut::Answer>& a, const std::vector<HeldOut::Answer>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i].probability - b[i].probability));
  return most > 1e-4;
}

}  // namespace heed
