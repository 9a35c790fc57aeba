#include "tests/golden.h"
#include "tests/message.h"

#include <heed/optim/schedule.h>

using namespace heed;

TEST_CASE("Schedules with warm-up match PyTorch") {
  const auto [name, kind] =
      GENERATE(table<std::string, Schedule::Kind>({{"constant", Schedule::Kind::constant},
                                                   {"linear", Schedule::Kind::linear},
                                                   {"cosine", Schedule::Kind::cosine},
                                                   {"step", Schedule::Kind::step},
                                                   {"warmup_stable_decay", Schedule::Kind::warmup_stable_decay}}));
  CAPTURE(name);
  const Tensor expected = Golden("optim")("schedule." + name);
  for (int step = 0; step < 20; ++step) {
    CAPTURE(step);
    const Schedule schedule{
        .kind = kind, .lr = 0.3, .warmup = 5, .steps = 20, .step_size = 4, .gamma = 0.5, .decay_steps = 6};
    CHECK(learning_rate(schedule, step) == Approx(expected.at({step})).epsilon(1e-12));
  }
}

TEST_CASE("The one-cycle schedule matches PyTorch") {
  const Tensor expected = Golden("optim")("schedule.one_cycle");
  const Schedule schedule{.kind = Schedule::Kind::one_cycle, .lr = 0.3, .steps = 20};
  for (int step = 0; step < 20; ++step) {
    CAPTURE(step);
    CHECK(learning_rate(schedule, step) == Approx(expected.at({step})).epsilon(1e-12));
  }
  CHECK(learning_rate(schedule, 30) == learning_rate(schedule, 19));
  CHECK(learning_rate({.kind = Schedule::Kind::one_cycle, .lr = 0.3, .warmup = 4, .steps = 20, .least = 0.1}, 4) ==
        0.3);
}

TEST_CASE("A schedule rises to its peak after the warm-up and falls to 0 at its end") {
  const Schedule cosine{Schedule::Kind::cosine, 0.3, 5, 20};
  CHECK(learning_rate(cosine, 0) == Approx(0.05));
  CHECK(learning_rate(cosine, 5) == 0.3);
  CHECK(learning_rate(cosine, 20) == Approx(0).margin(1e-16));
  CHECK(learning_rate(cosine, 1000) == learning_rate(cosine, 20));
  CHECK(learning_rate({Schedule::Kind::linear, 0.3, 5, 6}, 6) == 0);
  CHECK(learning_rate({Schedule::Kind::linear, 0.3, 0, 10}, 0) == 0.3);
}

TEST_CASE("A schedule falls to its minimal rate") {
  const Schedule cosine{Schedule::Kind::cosine, 0.3, 5, 20, 0.03}, linear{Schedule::Kind::linear, 0.3, 0, 10, 0.1};
  CHECK(learning_rate(cosine, 0) == Approx(0.05));
  CHECK(learning_rate(cosine, 5) == Approx(0.3));
  CHECK(learning_rate(cosine, 20) == Approx(0.03));
  CHECK(learning_rate(linear, 5) == Approx(0.2));
  CHECK(learning_rate(linear, 10) == Approx(0.1));
}

TEST_CASE("learning_rate rejects an unknown schedule kind") {
  CHECK(message([] {
          learning_rate({static_cast<Schedule::Kind>(99), 0.3, 5, 20}, 6);
        }) == "learning_rate: 99 is not a schedule kind");
}

TEST_CASE("A schedule refuses a step before 0") {
  using Kind = Schedule::Kind;
  for (const Kind kind :
       {Kind::constant, Kind::linear, Kind::cosine, Kind::step, Kind::warmup_stable_decay, Kind::one_cycle}) {
    CAPTURE(static_cast<int>(kind));
    CHECK(message([&] { learning_rate({.kind = kind, .lr = 1, .steps = 10}, -3); }) ==
          "learning_rate: expected a step of at least 0, got -3");
  }
}

TEST_CASE("A schedule that falls needs the number of steps") {
  CHECK(message([] { learning_rate({.kind = Schedule::Kind::cosine, .lr = 1e-3}, 0); }) ==
        "learning_rate: a cosine schedule needs steps, the number of steps of the run, got 0");
  CHECK(learning_rate({.lr = 1e-3}, 7) == 1e-3);
  CHECK(message([] { learning_rate({.kind = Schedule::Kind::step}, 0); }) ==
        "learning_rate: a step schedule needs steps, the number of steps of the run, got 0");
  CHECK(learning_rate({.kind = Schedule::Kind::step, .lr = 1, .steps = 30}, 20) == Approx(0.01));
}
