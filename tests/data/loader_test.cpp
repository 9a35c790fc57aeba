#include "tests/catch.h"
#include "tests/message.h"

#include <heed/autograd/ops.h>
#include <heed/data/loader.h>

#include <atomic>
#include <chrono>
#include <thread>

using namespace heed;

TEST_CASE("A Loader gives the same batches in the order of the steps for any number of workers") {
  const Random random(1);
  const auto make = [&](std::int64_t step) {
    std::this_thread::sleep_for(std::chrono::microseconds(step % 3 * 300));  // later batches may be ready first
    Random own = random.stream(static_cast<std::uint64_t>(step));
    return matmul(random_normal({3, 3}, own), random_normal({3, 3}, own)).to_vector();
  };
  for (const int workers : {1, 4}) {
    for (const int prefetch : {0, 1, 4}) {
      Loader loader(make, {.steps = 20, .first = 3, .prefetch = prefetch, .workers = workers});
      std::int64_t step = 3;
      for (const auto& batch : loader) CHECK(batch == make(step++));
      CHECK(step == 20);
      CHECK_FALSE(loader.has_next());
      CHECK(message([&] { loader.next(); }) == "Loader: all 20 batches were taken");
    }
  }
}

TEST_CASE("A Loader passes an exception on at its step, and goes on behind it") {
  const int prefetch = GENERATE(0, 4);
  Loader loader(
      [](std::int64_t step) {
        if (step == 2) fail("damaged example {}", step);
        return step;
      },
      {.steps = 4, .prefetch = prefetch, .workers = 2});
  CHECK(loader.next() == 0);
  CHECK(loader.next() == 1);
  CHECK(message([&] { loader.next(); }) == "damaged example 2");
  CHECK(loader.next() == 3);
}

TEST_CASE("A Loader prepares at most `prefetch` batches, and ends without making others") {
  std::atomic<int> made{0};
  {
    Loader loader([&](std::int64_t step) { return ++made, step; }, {.prefetch = 3, .workers = 2});  // endless
    CHECK(loader.next() == 0);
    for (int i = 0; made < 4 && i < 2000; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    CHECK(made == 4);
  }
  CHECK(made == 4);
  CHECK(message([] { Loader([](std::int64_t step) { return step; }, {.workers = 0}); }) ==
        "Loader: expected steps, first and prefetch of at least 0 and workers of at least 1, got 0, 0, 2 and 0");
}
