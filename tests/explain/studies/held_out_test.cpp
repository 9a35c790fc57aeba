#include "tests/explain/studies/helpers.h"
#include "tests/message.h"

#include <heed/explain/studies/held_out.h>

using namespace heed;

TEST_CASE("HeldOut puts counterparts side by side, and does not separate pairs") {
  const SavedModel model = small_model();
  const HeldOut held_out(model, sentences(), any_number);
  REQUIRE(held_out.sentences().size() == 5);
  for (std::size_t i = 0; i < 4; ++i) CHECK(held_out.sentences()[i].twin == static_cast<int>(i ^ 1));
  CHECK(held_out.sentences()[1].tokens.back() == "too");
  CHECK(held_out.sentences()[4].twin == -1);
  CHECK(HeldOut(model, sentences(), 1).sentences().size() == 2);  // pairs are not separated
  std::vector<Example> unknown = sentences();
  unknown[1].tokens[0] = "cat";
  CHECK(message([&] { HeldOut(model, unknown, any_number); }) == "not among the 14 words that the model knows: 'cat'");
}

TEST_CASE("HeldOut::answers throws for values that are not finite, and names the first") {
  SavedModel model = small_model();
  const Tensor gain = model.parameters["encoder.1.attention_norm.gain"];
  Tensor(gain).copy_from(zeros(gain.shape()) + 3.4e38);
  const HeldOut held_out(model, sentences(), any_number);
  CHECK(message([&] { held_out.answers(); })
            .starts_with("the model computes values that are not finite, the first of them in "
                         "encoder.1.attention_norm.output (1, 5, 8): "));
}
