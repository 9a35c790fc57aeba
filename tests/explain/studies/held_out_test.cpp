#include "tests/explain/studies/helpers.h"
#include "tests/message.h"

#include <heed/autograd/machine.h>
#include <heed/explain/studies/evaluation.h>
#include <heed/explain/studies/held_out.h>

#include <set>
#include <span>

using namespace heed;

TEST_CASE("HeldOut puts counterparts side by side, and does not separate pairs") {
  const Model model = small_model();
  const HeldOut held_out(model, sentences(), any_number);
  REQUIRE(held_out.sentences().size() == 5);
  for (std::size_t i = 0; i < 4; ++i) CHECK(held_out.sentences()[i].counterpart == static_cast<int>(i ^ 1));
  CHECK(held_out.sentences()[1].tokens.back() == "too");
  CHECK(held_out.sentences()[4].counterpart == -1);
  CHECK(HeldOut(model, sentences(), 1).sentences().size() == 2);  // pairs are not separated
  std::vector<Example> unknown = sentences();
  unknown[1].tokens[0] = "cat";
  CHECK(message([&] { HeldOut(model, unknown, any_number); }) == "not among the 14 words that the model knows: 'cat'");
}

TEST_CASE("HeldOut takes sentences evenly from first to last") {
  const Model model = small_model();
  std::vector<Example> sorted;
  for (int i = 0; i < 10; ++i) sorted.push_back(sentences()[1]);  // which has no pair
  for (int i = 0; i < 10; ++i) sorted[static_cast<std::size_t>(i)].relation = std::to_string(i);
  const auto taken = [&](std::size_t most) {
    std::string found;
    const HeldOut held_out(model, sorted, most);
    for (const Example& e : held_out.sentences()) found += e.relation;
    return found;
  };
  CHECK(taken(1) == "0");
  CHECK(taken(2) == "05");
  CHECK(taken(3) == "047");
  CHECK(taken(10) == "0123456789");
  CHECK(taken(any_number) == "0123456789");
  sorted[3].counterpart = 8, sorted[8].counterpart = 3;
  CHECK(taken(5) == "02457");
  CHECK(taken(4) == "3807");
}

TEST_CASE("The sentences of a pair and repetitions are one observation") {
  std::vector<Example> repeated = sentences();  // two pairs and one alone
  const std::vector<int> once = observations_of(repeated);
  repeated.insert(repeated.end(), {repeated[1], repeated[4], repeated[4]});
  for (Example& e : std::span(repeated).subspan(5)) e.counterpart = -1;
  std::vector<int> expected = once;
  expected.insert(expected.end(), {once[1], once[4], once[4]});
  CHECK(observations_of(repeated) == expected);
  CHECK(std::set(once.begin(), once.end()).size() == 3);

  repeated[7].query = 0;  // the same tokens, asked about another: not the same question
  CHECK(observations_of(repeated)[7] == 7);
  const std::vector<Example> ten(10, sentences()[1]);
  CHECK(observations_of(ten) == std::vector<int>(10, 0));
  const Model model = small_model();
  const Interval one = evaluate_answers(model, {ten[0]}).accuracy, all = evaluate_answers(model, ten).accuracy;
  CHECK((one.low == all.low && one.high == all.high));
}

TEST_CASE(
    "The sentences of a pair are one observation although they differ in length, and cannot be exchanged in place") {
  std::vector<Example> pairs = sentences();
  pairs[3].tokens.insert(pairs[3].tokens.begin() + 3, "was");
  const Model model = small_model();
  const HeldOut held_out(model, pairs, any_number);
  CHECK(held_out.sentences()[3].counterpart == -1);
  std::set<int> groups;
  for (std::size_t i = 0; i < 5; ++i) groups.insert(held_out.group(i));
  CHECK(groups.size() == 3);
  CHECK(held_out.group(3) == held_out.group(4));
}

TEST_CASE("HeldOut::answers throws for values that are not finite, and names the first") {
  Model model = small_model();
  const Tensor gain = model.parameters["encoder.1.attention_norm.gain"];
  Tensor(gain).copy_from(zeros(gain.shape()) + 3.4e38);
  const HeldOut held_out(model, sentences(), any_number);
  CHECK(message([&] { held_out.answers(); })
            .starts_with("the model computes values that are not finite, the first of them in "
                         "encoder.1.attention_norm.output (1, 5, 8): "));
}

TEST_CASE("HeldOut answers under many interventions as under each, to the bit, for any number of threads") {
  TransformerConfig config = small_config();
  config.layers = 3;
  const Model model = small_model(answerer_of(config));
  const HeldOut held_out(model, sentences(), any_number);
  std::vector<InterventionOf> interventions;
  for (int layer = -1; layer < 3; ++layer) {
    interventions.emplace_back([layer](auto) { return ablate({layer, layer < 0 ? -1 : 1}); });
    interventions.push_back(cut_in_each({layer, 0}, [](const Example& e) { return Edge{e.query, {0, 1}}; }));
    interventions.push_back(patch_from_counterparts({layer, 0}));
  }
  std::vector<std::vector<HeldOut::Answer>> each;
  for (const InterventionOf& one : interventions) each.push_back(held_out.answers(one));
  const int before = threads();
  for (const int count : {1, 2, 5}) {
    set_threads(count);
    CAPTURE(count);
    int begun = 0;
    const auto all = held_out.answers(interventions, [&] { ++begun; });
    CHECK(begun == std::ssize(interventions));
    REQUIRE(all.size() == each.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t k = 0; k < all[i].size(); ++k) {
        CHECK((all[i][k].probability == each[i][k].probability && all[i][k].word == each[i][k].word));
      }
    }
  }
  set_threads(before);
}

TEST_CASE("HeldOut passes an error of an intervention on from any thread") {
  const Model model = small_model();
  const HeldOut held_out(model, sentences(), any_number);
  const std::vector<InterventionOf> some{[](auto) { return ablate({0, 0}); }, [](auto) { return ablate({0, 7}); }};
  CHECK(message([&] { held_out.answers(some); }) ==
        "Intervention: no layer 0 head 7 in a model of 2 layers with 2 heads (from 0)");
}
