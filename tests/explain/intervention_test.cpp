#include "tests/explain/studies/helpers.h"
#include "tests/message.h"

#include <heed/explain/intervention.h>
#include <heed/explain/studies/baseline.h>

using namespace heed;

TEST_CASE("Cutting an edge sets its weight to 0 and keeps the proportions of the other weights") {
  const Model model = small_model();
  const HeldOut held_out(model, sentences(), any_number);
  const int layer = GENERATE(0, 1);
  const Edge edge{2, {1, 2}};
  const auto renormalised = [&](bool only) {
    return by_hand(held_out, model, layer, [=](std::vector<double>& w, std::int64_t T) {
      for (std::size_t b = 0; b < 5; ++b) {
        double* row = &w[((b * 2 + 1) * static_cast<std::size_t>(T) + 2) * static_cast<std::size_t>(T)];  // head 1
        const double of_edge = row[1];
        for (std::int64_t key = 0; key < T; ++key) row[key] = only ? key == 1 : key == 1 ? 0 : row[key] / (1 - of_edge);
      }
    });
  };
  const auto edge_of = [=](const Example&) { return edge; };
  const auto cut_answers = held_out.answers(cut_in_each({layer, 1}, edge_of));
  check_equal(cut_answers, renormalised(false));
  check_equal(held_out.answers(keep_only_in_each({layer, 1}, edge_of)), renormalised(true));
  CHECK(differ(cut_answers, held_out.answers()));
  check_equal(held_out.answers(cut_in_each({layer, 1}, [](const Example&) { return Edge{}; })), held_out.answers());
}

TEST_CASE("zero_weight takes one edge away and keeps the other weights") {
  const Model model = small_model();
  const HeldOut held_out(model, sentences(), any_number);
  const int layer = GENERATE(0, 1);
  const auto edge_of = [](const Example&) { return Edge{2, {1, 2}}; };
  const auto zeroed = held_out.answers(zero_weight_in_each({layer, 1}, edge_of));
  check_equal(zeroed, by_hand(held_out, model, layer, [](std::vector<double>& w, std::int64_t T) {
                for (std::size_t b = 0; b < 5; ++b)
                  w[((b * 2 + 1) * static_cast<std::size_t>(T) + 2) * static_cast<std::size_t>(T) + 1] = 0;
              }));
  CHECK(differ(zeroed, held_out.answers(cut_in_each({layer, 1}, edge_of))));
  check_equal(held_out.answers(zero_weight_in_each({layer, 1}, [](const Example&) { return Edge{}; })),
              held_out.answers());

  // The head loses weight x value; the other heads, queries and weights stay. Layer -1: in every layer.
  const Batch asked = batch_of(model, sentences()[0]);
  const Trace seen = trace(model, asked), changed = trace(model, asked, {zero_weight({-1, 1}, Edge{2, {1, 2}})});
  const auto row = [](const Tensor& x, std::int64_t head, std::int64_t t) {
    return slice(slice(x, 1, head, head + 1), 2, t, t + 1).to_vector();
  };
  const LayerTrace &before = seen.layers[0], &after = changed.layers[0];
  const double weight = before.weights.at({0, 1, 2, 1});
  std::vector<double> weights = row(before.weights, 1, 2), output = row(before.head_output, 1, 2);
  weights[1] = 0;
  for (std::size_t c = 0; c < output.size(); ++c) output[c] -= weight * row(before.v, 1, 1)[c];
  CHECK(row(after.weights, 1, 2) == weights);
  for (std::size_t c = 0; c < output.size(); ++c)
    CHECK(row(after.head_output, 1, 2)[c] == Approx(output[c]).margin(1e-6));
  CHECK(row(after.head_output, 0, 2) == row(before.head_output, 0, 2));
  CHECK(row(after.head_output, 1, 3) == row(before.head_output, 1, 3));
  CHECK(changed.layers[1].weights.at({0, 1, 2, 1}) == 0);

  // A row that is fully masked already stays at 0.
  const Trace masked = trace(model, asked, {cut({1, -1}, Edge{2, {0, 5}}), zero_weight({1, -1}, Edge{2, {1, 3}})});
  CHECK(row(masked.layers[1].weights, 0, 2) == std::vector<double>(5, 0.0));
  CHECK(is_finite(masked.logits));
}

TEST_CASE("zero_weight of an edge that the window hides gives the answer of the model without hooks") {
  TransformerConfig config = small_config();
  config.block.attention.window = 2;
  const Model model = small_model(answerer_of(config));
  const Batch asked = batch_of(model, sentences()[0]);
  const auto logits = [&](const Edge& edge) { return logits_under({zero_weight({-1, -1}, edge)}, model, asked); };
  const Tensor without_hooks = model.logits(asked);
  CHECK(max(abs(logits({2, {0, 1}}) - without_hooks)).item() < 1e-5);
  CHECK(max(abs(logits({2, {1, 2}}) - without_hooks)).item() > 1e-3);
}

TEST_CASE("A head's output can be zeroed, replaced by its mean, or patched from the counterpart") {
  const Model model = small_model();
  const HeldOut held_out(model, sentences(), any_number);
  const auto before = held_out.answers();

  // A head whose rows of W_O are 0 contributes nothing.
  Model without = small_model();
  Tensor W_O = without.parameters["encoder.0.attention.W_O.weight"];  // (2 x 5, 8)
  std::vector<double> values = W_O.to_vector();
  std::fill_n(values.begin(), 5 * 8, 0.0);
  W_O.copy_from(tensor(W_O.shape(), values));
  const auto zeroed = held_out.answers([](auto) { return ablate({0, 0}); });
  check_equal(zeroed, HeldOut(without, sentences(), any_number).answers());
  CHECK(differ(zeroed, before));

  // The output at the query in the last layer determines the answer, so patching gives the counterpart's answer.
  const auto patched = held_out.answers(patch_from_counterparts({1, -1}));
  for (std::size_t i = 0; i < 4; ++i) CHECK(patched[i].word == before[i ^ 1].word);
  CHECK(patched[4].probability == before[4].probability);  // a sentence without a counterpart
  CHECK(differ(patched, before));

  const Baseline baseline(held_out);
  const auto averaged = held_out.answers([&](std::span<const Example> batch) {
    return ablate({1, -1}, baseline.mean_output(1), std::vector<int>(batch.size(), 2));
  });
  for (const HeldOut::Answer& answer : averaged)
    CHECK(answer.word == averaged[0].word);  // the answer no longer depends on the text
}

TEST_CASE("ablate, cut, keep_only and patch change the trace and the answer of one question") {
  const Model model = small_model();
  const Batch asked = batch_of(model, sentences()[0]);
  const Batch other = batch_of(model, sentences()[2]);
  const auto logits = [&](const std::vector<Intervention>& changes) {
    return logits_under(changes, model, asked).to_vector();
  };
  const Trace seen = trace(model, asked), of_other = trace(model, other);

  const Trace zeroed = trace(model, asked, {ablate({0, 1})});
  CHECK(sum(abs(slice(zeroed.layers[0].head_output, 1, 1, 2))).item() == 0);
  CHECK(slice(zeroed.layers[0].head_output, 1, 0, 1).to_vector() ==
        slice(seen.layers[0].head_output, 1, 0, 1).to_vector());

  const Trace without = trace(model, asked, {cut({1, 0}, {2, {0, 2}})});
  CHECK((without.layers[1].weights.at({0, 0, 2, 0}) == 0 && without.layers[1].weights.at({0, 0, 2, 1}) == 0));
  CHECK(without.layers[1].weights.at({0, 1, 2, 0}) == seen.layers[1].weights.at({0, 1, 2, 0}));
  CHECK(trace(model, asked, {keep_only({1, 0}, {2, {4, 5}})}).layers[1].weights.at({0, 0, 2, 4}) == 1);

  // Head 0 has the output of the other trace, and head 1 its own.
  const Trace patched = trace(model, asked, {patch({1, 0}, of_other)});
  CHECK(slice(patched.layers[1].head_output, 1, 0, 1).to_vector() ==
        slice(of_other.layers[1].head_output, 1, 0, 1).to_vector());
  CHECK(slice(patched.layers[1].head_output, 1, 1, 2).to_vector() ==
        slice(seen.layers[1].head_output, 1, 1, 2).to_vector());
  CHECK(logits({patch({1, -1}, seen)}) == seen.logits.to_vector());

  // Interventions apply in the given order.
  CHECK(logits({patch({1, -1}, of_other), ablate({1, -1})}) == logits({ablate({1, -1})}));
  CHECK(of_other.layers[1].head_output.to_vector() == trace(model, other).layers[1].head_output.to_vector());
}

TEST_CASE("in_text changes one text of a batch") {
  const Model model = small_model();
  const Batch two = NumberedExamples({sentences()[0], sentences()[2]}, model.vocabulary).batch(0, 2);
  const Tensor before = logits_under({}, model, two);
  const Tensor all = logits_under({ablate({0, 1})}, model, two);
  const Tensor second = logits_under({in_text(1, ablate({0, 1}))}, model, two);
  CHECK(max(abs(slice(second, 0, 0, 1) - slice(before, 0, 0, 1))).item() < 1e-6);
  CHECK(max(abs(slice(second, 0, 1, 2) - slice(all, 0, 1, 2))).item() < 1e-6);
  CHECK(max(abs(slice(second, 0, 1, 2) - slice(before, 0, 1, 2))).item() > 1e-6);
  CHECK(message([&] {
          logits_under({in_text(2, ablate({0, 1}))}, model, two);
        }) == "encoder.0.attention: in_text: no text 2 among 2");
}

TEST_CASE("A model continues from the input of a layer as if it had computed it") {
  for (const TransformerConfig& config : {small_config(), modern_config()}) {
    const Model model = small_model(answerer_of(config));
    const Batch asked = batch_of(model, sentences()[0]);
    const Trace seen = trace(model, asked);
    for (const Compute compute : {Compute::all, Compute::query}) {
      const auto logits = [&](std::optional<LayerInput> from) {
        return model.run(asked, {.compute = compute, .from = std::move(from)}).logits.to_vector();
      };
      const std::vector<double> whole = logits({});
      const std::vector<double> continued = logits(LayerInput{1, seen.layers[1].residual_in});
      for (std::size_t i = 0; i < whole.size(); ++i) CHECK(continued[i] == Approx(whole[i]).margin(1e-6));
      CHECK(message([&] {
              logits(LayerInput{2, seen.layers[1].residual_in});
            }).ends_with("expected a layer from 0 to 1, got 2"));
    }
  }
}

TEST_CASE("Interventions in a layer, head or edge that does not exist are refused") {
  const Model model = small_model();
  const Batch asked = batch_of(model, sentences()[0]);
  const Batch shorter = batch_of(model, sentences()[1]);
  const auto told = [&](const Intervention& one) { return message([&] { logits_under({one}, model, asked); }); };
  CHECK(told(ablate({2, 0})) == "Intervention: no layer 2 head 0 in a model of 2 layers with 2 heads (from 0)");
  CHECK(told(ablate({0, 2})) == "Intervention: no layer 0 head 2 in a model of 2 layers with 2 heads (from 0)");
  CHECK(told(cut({0, 0}, Edge{2, {4, 6}})) ==
        "encoder.0.attention: Intervention: no edge from token 2 to tokens 4 to 5 in a text of 5 tokens");
  CHECK(told(patch({0, 0}, trace(model, shorter))) ==
        "encoder.0.attention: patch: expected a trace with head outputs (1, 2, 5, 5), got (1, 2, 4, 5)");
}

TEST_CASE("cut and keep_only apply to a model with a soft cap on its scores") {
  TransformerConfig config = small_config();
  config.block.attention.soft_cap = 2;
  const Model model = small_model(answerer_of(config));
  const Batch asked = batch_of(model, sentences()[0]);
  const auto weights = [&](const std::vector<Intervention>& changes) {
    return trace(model, asked, changes).layers[1].weights;
  };
  const Tensor before = weights({}), after = weights({cut({1, 0}, Edge{2, {1, 2}})});
  CHECK(after.at({0, 0, 2, 1}) == 0);
  CHECK(after.at({0, 0, 2, 3}) == Approx(before.at({0, 0, 2, 3}) / (1 - before.at({0, 0, 2, 1}))));
  CHECK(weights({keep_only({1, 0}, Edge{2, {1, 2}})}).at({0, 0, 2, 1}) == 1);
}
