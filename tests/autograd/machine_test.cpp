#include "tests/autograd/helpers.h"

using namespace heed;

TEST_CASE("The machine says what it computes with") {
  const std::string vectors = vector_instructions();
  CHECK((vectors == "AVX-512" || vectors == "AVX2" || vectors == "NEON" || vectors == "basic"));
  CHECK(blas_description().find("OpenBLAS ") == 0);
  const int before = threads();
  {
    const Threads three(3);
    CHECK(threads() == 3);
  }
  CHECK(threads() == before);
}

TEST_CASE("Wrong use of threads is an error that says what was expected") {
  check_messages({{"set_threads: expected from 1 to 1024 threads, got 0", [] { set_threads(0); }},
                  {"set_threads: expected from 1 to 1024 threads, got 1025", [] { set_threads(1025); }}});
}
