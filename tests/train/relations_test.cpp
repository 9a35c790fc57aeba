#include "train/relations.h"

#include "tests/catch.h"
#include "tests/models/sample.h"

using namespace heed;

namespace {

Example ask(int query, int antecedent, const char* relation) {
  Example example;
  example.tokens = {"a", "b", "c"};
  example.query = query;
  example.antecedent = antecedent;
  example.answer = "b";
  example.relation = relation;
  example.counterpart = 5;  // an index in a larger set
  return example;
}

}  // namespace

TEST_CASE("relations_table shows the weight on the antecedent per relation and head") {
  Parameters parameters;
  const Vocabulary vocabulary({"a", "b", "c"});
  Model model(Scope(parameters, 1), answerer_of({.vocabulary = 3,
                                                 .max_length = 3,
                                                 .layers = 1,
                                                 .positions = Positions::none,
                                                 .block = {.attention = {.d_model = 4, .heads = 2}}}));
  model.vocabulary = vocabulary;
  // W_Q = 0 makes attention uniform. Only the query "a" in head 2 has another row: it attends to "b".
  parameters.load({{"words.weight", tensor({3, 4}, {3, -1, -1, -1, -1, 3, -1, -1, -1, -1, 3, -1})},
                   {"encoder.0.attention.W_Q.weight", tensor({4, 4}, {0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})},
                   {"encoder.0.attention.W_K.weight", tensor({4, 4}, {0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0})},
                   {"output_bias", tensor({3}, {0, 99, 0})},
                   {"encoder.0.attention_norm.gain", parameters["encoder.0.attention_norm.gain"]},
                   {"encoder.0.attention_norm.bias", parameters["encoder.0.attention_norm.bias"]},
                   {"encoder.0.attention.W_V.weight", parameters["encoder.0.attention.W_V.weight"]},
                   {"encoder.0.attention.W_O.weight", parameters["encoder.0.attention.W_O.weight"]},
                   {"encoder.0.attention.W_O.bias", parameters["encoder.0.attention.W_O.bias"]},
                   {"encoder.norm.gain", parameters["encoder.norm.gain"]},
                   {"encoder.norm.bias", parameters["encoder.norm.bias"]}},
                  "test");
  std::vector<Example> examples = {ask(0, 1, "what"), ask(0, 2, "谁"), ask(0, 1, "what")};
  CHECK_FALSE(has_relations({examples[0], examples[2]}));
  CHECK(has_relations(examples));
  examples[1].answer = "c";
  CHECK(relations_table(evaluate_relations(model, examples), {}) ==
        "  query -> antecedent          what          谁 \n"
        "  layer 1, head 1              0.33        0.33*\n"
        "  layer 1, head 2              1.00*       0.00 \n"
        "  accuracy                   100.0 %       0.0 %\n");
}
