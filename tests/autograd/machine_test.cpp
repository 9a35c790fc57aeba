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
  check_messages({{"set_threads: expected at least 1 thread, got 0", [] { set_threads(0); }}});
}
