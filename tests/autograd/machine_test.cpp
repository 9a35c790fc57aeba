#include "tests/autograd/helpers.h"

using namespace heed;

TEST_CASE("vector_instructions, blas_description and threads describe the machine") {
  const std::string vectors = vector_instructions();
  CHECK((vectors == "AVX-512 and AMX" || vectors == "AVX-512" || vectors == "AVX2" || vectors == "NEON" ||
         vectors == "basic"));
  CHECK(blas_description().find("OpenBLAS ") == 0);
  const int before = threads();
  {
    const Threads three(3);
    CHECK(threads() == 3);
  }
  CHECK(threads() == before);
}

TEST_CASE("Wrong use of threads throws an Error that states what was expected") {
  const auto nothing = [](std::int64_t, std::int64_t) {};
  check_messages({{"set_threads: expected from 1 to 1024 threads, got 0", [] { set_threads(0); }},
                  {"set_threads: expected from 1 to 1024 threads, got 1025", [] { set_threads(1025); }},
                  {"parallel_for: expected a grain of at least 1, got 0", [&] { parallel_for(10, 0, nothing); }},
                  {"parallel_for: expected a count of at least 0, got -1", [&] { parallel_for(-1, 1, nothing); }},
                  {"parallel_for: the function is empty", [&] { parallel_for(10, 1, nullptr); }}});
  std::int64_t covered = 0;
  parallel_for(10, std::numeric_limits<std::int64_t>::max(), [&](auto begin, auto end) { covered += end - begin; });
  CHECK(covered == 10);
}
