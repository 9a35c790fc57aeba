#include "tests/autograd/helpers.h"

#include <heed/autograd/profile.h>

using namespace heed;

TEST_CASE("A profile counts calls, flops and bytes of operations and their backward") {
  const Tensor x = variable(ones({20, 30})), W = variable(ones({30, 40}));
  const Profile profile;
  {
    const Recording recording;
    backward(sum(matmul(reshape(x, {20, 30}), W)));
  }
  {
    const Recording recording;
    backward(sum(x * ones({20, 30})));
  }
  note_work("the rest");
  const auto& totals = profile.totals();
  REQUIRE(totals.contains("matmul"));
  CHECK(totals.at("matmul").calls == 1);
  CHECK(totals.at("matmul").flops == 2.0 * 20 * 30 * 40);
  CHECK(totals.at("matmul").bytes == 4.0 * (20 * 30 + 30 * 40 + 20 * 40));
  CHECK(totals.at("matmul backward").flops == 2 * 2.0 * 20 * 30 * 40);
  CHECK(totals.at("multiply backward").bytes == 4.0 * (2 * 20 * 30));  // none for the constant
  CHECK(totals.at("sum").calls == 2);
  CHECK_FALSE(totals.contains("reshape"));  // a view
  CHECK(totals.at("the rest").calls == 1);
  std::int64_t end = 0, duration = 0;
  for (const Profile::Work& work : profile.work()) {
    CHECK(work.begin >= end);
    end = work.begin + work.duration;
    duration += work.duration;
  }
  CHECK((duration > 0 && duration <= end));
}

TEST_CASE("A new Profile is empty, and a second open Profile throws") {
  note_work("nothing");
  CHECK_FALSE(is_profiling());
  const Profile profile;
  CHECK(is_profiling());
  CHECK(profile.totals().empty());
  CHECK(message([] { const Profile second; }) ==
        "Profile: one is already open on this thread; close it before opening another");
}
