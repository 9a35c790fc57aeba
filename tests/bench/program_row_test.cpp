#include "bench/rows.h"
#include "tests/catch.h"
#include "tests/scratch.h"
#include "train/experiment.h"

#include <heed/autograd/ops.h>

using namespace heed;

TEST_CASE("text_data holds the initial weights and the batches of train for nanoGPT") {
  const char* text = "/usr/share/common-licenses/GPL-3";
  const SafeTensors data = bench::text_data(text);
  const Experiment e = make_experiment(read_config("examples/nanogpt.yaml", {std::string("data.train=") + text}));
  CHECK(data.tensors.size() == e.model.parameters.size() + 2);
  for (const auto& [name, parameter] : e.model.parameters) {
    CHECK(data[name].to_vector() == parameter.to_vector());
  }
  REQUIRE(data["batches"].shape() == Shape{2000, 12, 65});
  REQUIRE(e.config.optim.schedule.steps == 2000);
  for (const std::int64_t step : {0, 1999}) {
    const auto batch = training_batch(e, step);
    for (const std::int64_t b : {0, 11}) {
      for (const std::int64_t t : {0, 63}) {
        CHECK(data["batches"].at({step, b, t}) == batch.tokens[b * 64 + t]);
        CHECK(data["batches"].at({step, b, t + 1}) == batch.targets[b * 64 + t]);
      }
    }
  }
  CHECK(data["held_out"].numel() == e.task.corpus->held_out.size());
}
