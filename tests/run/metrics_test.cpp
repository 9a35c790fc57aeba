#include "run/metrics.h"

#include "tests/catch.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/files/file.h>

#include <cmath>
#include <limits>

using namespace heed;

TEST_CASE("Metrics are read back as written, including unknown values") {
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  const Metrics written{.step = 30,
                        .train_loss = 0.1,
                        .held_out = {.loss = 0.5,
                                     .accuracy = 0.25,
                                     .counterpart_accuracy = unknown,
                                     .antecedent_weight = {{0.5, unknown}, {0.125, 0.75}}},
                        .learning_rate = 3e-3};
  const Scratch scratch;
  write_file(scratch / "metrics.jsonl", to_line(written) + "\n{\"step\":60}\n");
  const std::vector<Metrics> read = read_metrics(scratch.path);
  REQUIRE(read.size() == 2);
  CHECK((read[0].step == 30 && read[0].train_loss == 0.1 && read[0].learning_rate == 3e-3));
  CHECK((read[0].held_out.loss == 0.5 && read[0].held_out.accuracy == 0.25));
  CHECK(std::isnan(read[0].held_out.counterpart_accuracy));
  CHECK(std::isnan(read[0].held_out.antecedent_weight[0][1]));
  CHECK(read[0].held_out.antecedent_weight[1][1] == 0.75);
  CHECK((read[1].step == 60 && std::isnan(read[1].held_out.accuracy)));
  CHECK(read_metrics(scratch / "none").empty());
}

TEST_CASE("The best head has the largest weight over all layers") {
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  Evaluation e;
  CHECK_FALSE(e.best_head());
  e.antecedent_weight = {{unknown}};
  CHECK_FALSE(e.best_head());
  e.antecedent_weight = {{0.1, 0.6}, {unknown, 0.5}};
  REQUIRE(e.best_head());
  CHECK((e.best_head()->layer == 0 && e.best_head()->head == 1 && e.best_head()->weight == 0.6));
}

TEST_CASE("evaluations_since_best counts the evaluations after the one with the smallest loss") {
  const Scratch scratch;
  CHECK(evaluations_since_best(scratch.path) == 0);  // no evaluation yet
  std::string lines;
  for (const double loss : {0.7, 0.5, 0.6, 0.5, 0.9}) {
    lines += fmt::format("{{\"step\":1,\"held_out_loss\":{}}}\n", loss);
  }
  write_file(scratch / "metrics.jsonl", lines);
  CHECK(evaluations_since_best(scratch.path) == 3);
  write_file(scratch / "metrics.jsonl", "{\"step\":0,\"held_out_loss\":null}\n" + lines);
  CHECK(evaluations_since_best(scratch.path) == 3);  // an unknown loss is not the best
}

TEST_CASE("read_metrics names all invalid lines") {
  const Scratch scratch;
  write_file(scratch / "metrics.jsonl", "{\"step\":1}\n[]\n{\"step\":2,\"train_loss\":\"x\"}\n{\"step\":-1}\n");
  const std::string file = (scratch / "metrics.jsonl").string();
  CHECK(message([&] { read_metrics(scratch.path); }) ==
        file + ":2: expected an object {\"step\": ...} with a step from 0\n" + file +
            ":3: 'train_loss': expected a number, got string\n" + file +
            ":4: expected an object {\"step\": ...} with a step from 0");
}
