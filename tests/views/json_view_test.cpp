#include "tests/views/helpers.h"
#include "views/view.h"

using namespace heed;

TEST_CASE("json_view prints shortest float32 figures in the documented form") {
  SentenceAttention sentence = chinese_sentence();
  sentence.tokens = {"a", "\"\n"};
  sentence.query = 1;
  sentence.probability = 0.1;
  sentence.layers = {tensor({2, 2, 2}, {1, 0, 0.3, 0.7, 0.5, 0.5, 1.0 / 3, 2.0 / 3})};
  CHECK(
      json_view({7, {sentence}}) ==
      R"({"step":7,"sentences":[{"tokens":["a","\"\n"],"query":1,"antecedent":0,"predicted":"苹果","probability":0.1,)"
      R"("answer":null,"layers":[[[[1.0,0.0],[0.3,0.7]],[[0.5,0.5],[0.33333334,0.6666667]]]]}]})"
      "\n");
  CHECK(json_view({0, {}}) == "{\"step\":0,\"sentences\":[]}\n");
  sentence.answer = "苹果";
  sentence.likeliest = {{"苹果", 0.5}, {"树", 0.25}};
  CHECK(json_view({7, {sentence}})
            .find(R"("answer":"苹果","likeliest":[{"answer":"苹果","probability":0.5},{"answer":"树",)"
                  R"("probability":0.25}],"layers")") != std::string::npos);
}
