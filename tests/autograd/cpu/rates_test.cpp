#include "autograd/cpu/rates.h"

#include "tests/autograd/helpers.h"

using namespace heed;

TEST_CASE("Rates are of the order of a computer's, in operations and in bytes a second") {
  CHECK(cpu::gemm_rate(64, 1) > 1e7);
  CHECK(cpu::gemm_rate(64, 1) < 1e13);
  CHECK(cpu::memory_rate(1 << 16, 1) > 1e7);
  CHECK(cpu::memory_rate(1 << 16, 1) < 1e13);
}
