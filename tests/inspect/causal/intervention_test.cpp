#include "inspect/causal/intervention.h"

#include "inspect/causal/baseline.h"
#include "tests/inspect/causal/helpers.h"

using namespace heed;

TEST_CASE("cutting an edge takes its weight to 0 and leaves the others their proportions") {
  const SavedModel model = small_model();
  const HeldOut held_out(model, sentences(), any_number);
  const int layer = GENERATE(0, 1);
  const Edge edge{2, {1, 2}};
  const auto renormalised = [&](bool only) {
    return by_hand(held_out, value_of(layer, "weights"), [=](std::vector<double>& w, std::int64_t T) {
      for (std::size_t b = 0; b < 5; ++b) {
        double* row = &w[((b * 2 + 1) * static_cast<std::size_t>(T) + 2) * static_cast<std::size_t>(T)];  // head 1
        const double of_edge = row[1];
        for (std::int64_t key = 0; key < T; ++key) row[key] = only ? key == 1 : key == 1 ? 0 : row[key] / (1 - of_edge);
      }
    });
  };
  const auto edge_of = [=](const Example&) { return edge; };
  const auto cut_answers = held_out.answers(cut({layer, 1}, held_out, edge_of));
  check_equal(cut_answers, renormalised(false));
  check_equal(held_out.answers(keep_only({layer, 1}, held_out, edge_of)), renormalised(true));
  CHECK(differ(cut_answers, unchanged(held_out)));
  check_equal(held_out.answers(cut({layer, 1}, held_out, [](const Example&) { return Edge{}; })), unchanged(held_out));
}

TEST_CASE("a head's output is zeroed, averaged, or taken from the twin") {
  const SavedModel model = small_model();
  const HeldOut held_out(model, sentences(), any_number);
  const auto before = unchanged(held_out);

  // Without its rows of W_O a head gives nothing.
  SavedModel without = small_model();
  Tensor W_O = without.parameters["encoder.0.attention.W_O.weight"];  // (2 x 5, 8)
  std::vector<double> values = W_O.to_vector();
  std::fill_n(values.begin(), 5 * 8, 0.0);
  W_O.copy_from(tensor(W_O.shape(), values));
  const auto zeroed = held_out.answers(zero_output({0, 0}));
  check_equal(zeroed, unchanged(HeldOut(without, sentences(), any_number)));
  CHECK(differ(zeroed, before));

  // In the last layer the query's output is all that the answer is made of: with the twin's, the answer is the twin's.
  const auto patched = held_out.answers(output_of_twin({1, -1}, held_out));
  for (std::size_t i = 0; i < 4; ++i) CHECK(patched[i].word == before[i ^ 1].word);
  CHECK(patched[4].probability == before[4].probability);  // has no twin
  CHECK(differ(patched, before));

  const auto averaged = held_out.answers(mean_output({1, -1}, held_out, Baseline(held_out).mean_output(1)));
  for (const HeldOut::Answer& answer : averaged) CHECK(answer.word == averaged[0].word);  // nothing of the text is left
}
