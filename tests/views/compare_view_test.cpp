#include "tests/views/helpers.h"
#include "views/view.h"

using namespace heed;

namespace {

Side side(const char* name, Dump dump) {
  const Evaluation figures{
      .loss = 1.5, .accuracy = 0.5, .counterpart_accuracy = 0.25, .antecedent_weight = {{0.25, 0.75}}};
  return {.run = name,
          .name = name,
          .dump = std::move(dump),
          .metrics = Metrics{.step = 0, .train_loss = 2, .held_out = figures, .learning_rate = 0}};
}

// All weight of layer 3 head 5 is on "street".
Dump changed_dump() {
  Dump dump = large_dump();
  for (SentenceAttention& sentence : dump.sentences) {
    std::vector<double> weights = sentence.layers[2].to_vector();
    for (std::size_t key = 0; key < 11; ++key) weights[(4 * 11 + 7) * 11 + key] = key == 5;
    sentence.layers[2] = tensor({8, 11, 11}, weights);
  }
  return dump;
}

}  // namespace

TEST_CASE("compare_view shows the heads of a large model that differ most first") {
  const std::string text = compare_view(side("a", large_dump()), side("b", changed_dump()), {});
  const std::size_t predicts = text.find("\npredicts ");
  CHECK(text.substr(text.find('\n', predicts + 1))
            .starts_with("\nlayer 3 head 5      it       0.80 ████▊   street   1.00 ██████  street   +1.00\n"));
  CHECK(text.find("\nShown: 6 of 48 heads, those that differ most. --layer 3 shows all of layer 3.\n") !=
        std::string::npos);
  check_width(text, 80);
  View view = choosing(4, {});
  CHECK(compare_view(side("a", large_dump()), side("b", changed_dump()), view).find("\nlayer 4 head 8 ") !=
        std::string::npos);
}

TEST_CASE("compare_view prints each figure on two lines if the terminal is narrow") {
  const std::string text =
      compare_view(side("a", large_dump()), side("runs/a-name-that-is-too-long-é", changed_dump()), at_width(40));
  check_width(text, 40);
  CHECK(text.find("  that-is-too-long-é") != std::string::npos);
  CHECK(text.find("\naccuracy\n              50.0 %              50.0 %\n") != std::string::npos);
  CHECK(text.find("\nlayer 3 head 5    street   +1.00\n it       0.80 ███▎  street   1.00 ████\n") !=
        std::string::npos);
}
