#include "bench/toy_data.h"

#include "tests/catch.h"
#include "train/experiment.h"

using namespace heed;

TEST_CASE("toy_task equals the task of toy.yaml") {
  const Task ours = bench::toy_task(), trained = make_experiment(read_config("toy.yaml")).task;
  CHECK(ours.train == trained.train);
  CHECK(ours.held_out == trained.held_out);
  CHECK(ours.vocabulary.words() == trained.vocabulary.words());
}

TEST_CASE("add_batch writes a batch as float64 tensors under the names that counterparts read") {
  SafeTensors content;
  bench::add_batch(content, "train",
                   {.tokens = Ids({1, 2}, {3, 4}), .lengths = {2}, .query = Ids({1}, {1}), .answer = Ids({1}, {5})});
  REQUIRE(content.tensors.size() == 4);
  CHECK(content["train.tokens"].shape() == Shape{1, 2});
  CHECK(content["train.tokens"].dtype() == DType::float64);
  CHECK(content["train.tokens"].to_vector() == std::vector<double>{3, 4});
  CHECK(content["train.lengths"].to_vector() == std::vector<double>{2});
  CHECK(content["train.query"].to_vector() == std::vector<double>{1});
  CHECK(content["train.answer"].to_vector() == std::vector<double>{5});
}
