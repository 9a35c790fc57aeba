#include "autograd/cpu/memory.h"

#include "tests/autograd/helpers.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace heed;
using cpu::Storage;

TEST_CASE("A block is aligned to 64 bytes, and at most a quarter larger than requested") {
  for (const std::int64_t bytes : {1, 256, 257, 4097, 100'000, 9'000'001}) {
    CAPTURE(bytes);
    const std::int64_t before = memory_use().bytes_in_use;
    const Storage storage(bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(storage.data()) % 64 == 0);
    CHECK(storage.bytes() == bytes);
    std::memset(storage.data(), 1, static_cast<std::size_t>(bytes));
    const std::int64_t block = memory_use().bytes_in_use - before;
    CHECK(block >= bytes);
    CHECK(block <= std::max<std::int64_t>(256, bytes * 5 / 4));
  }
}

TEST_CASE("Large blocks start at different offsets within a memory page") {
  constexpr std::int64_t bytes = 43'000'000;  // other tests leave no free block of this size class
  const Storage a(bytes), b(bytes), c(bytes), d(bytes);
  std::set<std::uintptr_t> places;
  for (const Storage* const block : {&a, &b, &c, &d}) {
    places.insert(reinterpret_cast<std::uintptr_t>(block->data()) % 4096);
  }
  CHECK(places.size() == 4);
}

TEST_CASE("A freed block is reused without a system allocation") {
  auto first = std::make_unique<Storage>(777'777);
  const void* const data = first->data();
  const MemoryUse before = memory_use();
  first.reset();
  CHECK(memory_use().bytes_in_use < before.bytes_in_use);
  CHECK(memory_use().bytes_reserved == before.bytes_reserved);
  const Storage second(770'000);  // of the same size class
  CHECK(second.data() == data);
  CHECK(memory_use().system_allocations == before.system_allocations);
  CHECK(memory_use().bytes_in_use == before.bytes_in_use);
}

TEST_CASE("Blocks of sizes that nothing asks for any more go back to the system") {
  constexpr std::int64_t MB = std::int64_t{1} << 20;
  const auto hand_out = [](std::int64_t bytes) { const Storage untouched(bytes); };
  const auto sizes = [&] {
    for (std::int64_t size = 512 * MB; size >= 8 * MB; size = size * 7 / 8) hand_out(size);
  };
  release_cached_memory();
  sizes();
  const MemoryUse cached = memory_use();
  CHECK(cached.bytes_reserved > cached.bytes_in_use + 2500 * MB);
  for (int step = 0; step < 100; ++step) sizes();  // equal steps keep all blocks
  CHECK(memory_use().system_allocations == cached.system_allocations);
  for (int i = 0; i < 400; ++i) hand_out(512 * MB);
  hand_out(640 * MB);
  const MemoryUse left = memory_use();
  CHECK(left.bytes_reserved <= left.bytes_in_use + (512 + 640) * MB);
  hand_out(512 * MB);
  CHECK(memory_use().system_allocations == left.system_allocations);
  release_cached_memory();
}

TEST_CASE("peak_bytes is the most memory in use at the same time") {
  reset_peak_memory();
  const std::int64_t before = memory_use().bytes_in_use;
  for (int i = 0; i < 3; ++i) const Storage one_after_the_other(1 << 20);
  CHECK(memory_use().peak_bytes == before + (1 << 20));
  { const Storage a(1 << 20), b(1 << 20); }
  CHECK(memory_use().peak_bytes == before + (2 << 20));
  CHECK(memory_use().bytes_in_use == before);
}

TEST_CASE("Unavailable memory throws an Error that states the size") {
  const std::int64_t absurd = std::numeric_limits<std::int64_t>::max();
  CHECK(message([&] { const Storage storage(absurd); }) ==
        fmt::format("tensor: {} bytes are more than this machine can address", absurd));
  const std::int64_t in_use = memory_use().bytes_in_use;
  CHECK(message([&] { const Storage storage(std::int64_t{1} << 54); }) ==
        fmt::format("tensor: out of memory: {} bytes requested, {} in use", std::int64_t{1} << 54, in_use));
  CHECK(memory_use().bytes_in_use == in_use);
}

TEST_CASE("Storages allocated concurrently on several threads never share a block") {
  const std::int64_t before = memory_use().bytes_in_use;
  std::array<bool, 4> own{};
  std::vector<std::thread> crowd;
  for (std::size_t t = 0; t < own.size(); ++t) {
    crowd.emplace_back([&own, t] {
      own[t] = true;
      for (int i = 0; i < 500; ++i) {
        const Storage storage(1000);
        auto* const bytes = static_cast<unsigned char*>(storage.data());
        std::memset(bytes, static_cast<int>(t), 1000);
        std::this_thread::yield();
        for (int j = 0; j < 1000; ++j) own[t] = own[t] && bytes[j] == t;
      }
    });
  }
  for (std::thread& one : crowd) one.join();
  CHECK((own[0] && own[1] && own[2] && own[3]));
  CHECK(memory_use().bytes_in_use == before);
}

TEST_CASE("A forked child takes memory although another thread took some at the fork") {
  std::atomic<bool> is_over = false;
  std::jthread other([&] {
    while (!is_over) static_cast<void>(zeros({64}));
  });
  for (int i = 0; i < 300; ++i) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      alarm(10);
      _exit(sum(ones({64})).item() == 64 ? 0 : 1);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(status == 0);
  }
  is_over = true;
}
