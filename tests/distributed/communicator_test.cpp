#include "tests/catch.h"
#include "tests/message.h"

#include <heed/distributed/communicator.h>

#include <vector>

using namespace heed;

TEST_CASE("Every index has one owner, and shares differ by 1 at most") {
  for (const int size : {1, 2, 3, 4, 7}) {
    for (const std::int64_t count : {0, 1, 2, 5, 7, 64}) {
      CAPTURE(size, count);
      std::int64_t next = 0;
      for (int rank = 0; rank < size; ++rank) {
        const Share share = share_of(count, rank, size);
        CHECK(share.first == next);
        CHECK((share.end - share.first == count / size || share.end - share.first == count / size + 1));
        for (; next < share.end; ++next) CHECK(owner_of(next, count, size) == rank);
      }
      CHECK(next == count);
    }
  }
}

TEST_CASE("A Communicator of one process exchanges data only with itself") {
  const Communicator alone;
  CHECK((alone.rank() == 0 && alone.size() == 1 && alone.size_on_host() == 1));
  CHECK(alone.exchange("text") == std::vector<std::string>{"text"});
  CHECK(alone.gather(std::vector{1.5, 2.0}) == std::vector{1.5, 2.0});
  CHECK((alone.any(true) && !alone.any(false)));
  CHECK(message([&] { auto sent = alone.send({}, 1); }) == "send: rank 0 cannot send to rank 1 of 1");
  CHECK(message([&] { auto received = alone.receive({}, 0); }) == "receive: rank 0 cannot receive from rank 0 of 1");
}
