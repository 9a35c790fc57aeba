#include "tests/catch.h"

#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>

#include <thread>

using namespace heed;

TEST_CASE("Other threads know that a Recording is open, until it ends") {
  const auto elsewhere = [](const Tensor& x) {
    bool found = false;
    std::thread([&] { found = Recorder::is_of_other_thread(x); }).join();
    return found;
  };
  const Tensor x = variable(ones({2}));
  Tensor y;
  {
    const Recording recording;
    y = square(x);
    CHECK(elsewhere(y));
    CHECK_FALSE(Recorder::is_of_other_thread(y));  // it is this thread's
    CHECK_FALSE(elsewhere(x));
  }
  CHECK_FALSE(elsewhere(y));
}
