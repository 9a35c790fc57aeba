#include "autograd/cpu/rates.h"

#include "tests/autograd/helpers.h"

using namespace heed;

TEST_CASE("fma_rate, gemm_rate and memory_rate lie between 1e7 and 1e13 per second") {
  for (const double rate : {cpu::fma_rate(1), cpu::fma_rate(2), cpu::gemm_rate(64, 1)}) {
    CHECK(rate > 1e7);
    CHECK(rate < 1e13);
  }
  for (const auto traffic :
       {cpu::Traffic::add, cpu::Traffic::read, cpu::Traffic::copy, cpu::Traffic::copy_past_caches}) {
    const double rate = cpu::memory_rate(1 << 16, 1, traffic);
    CHECK(rate > 1e7);
    CHECK(rate < 1e13);
  }
}
