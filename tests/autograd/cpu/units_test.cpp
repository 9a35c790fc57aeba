#include "autograd/cpu/units.h"

#include "tests/catch.h"

#include <heed/autograd/machine.h>

#include <fstream>
#include <iterator>
#include <string>

using namespace heed;
using cpu::Unit;

#if defined(__x86_64__)
namespace {

// Returns whether Linux lists this flag of the processor.
bool is_listed(const std::string& flag) {
  std::ifstream file("/proc/cpuinfo");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::size_t begin = text.find("\nflags"), end = text.find('\n', begin + 1);
  return (text.substr(begin, end - begin) + " ").find(" " + flag + " ") != std::string::npos;
}

}  // namespace

TEST_CASE("has_unit finds the instructions that Linux lists") {
  CHECK(cpu::has_unit(Unit::avx2) == (is_listed("avx2") && is_listed("fma") && is_listed("f16c")));
  CHECK(cpu::has_unit(Unit::avx512_vnni) == (is_listed("avx512vl") && is_listed("avx512_vnni")));
  CHECK(cpu::has_unit(Unit::avx512_bf16) == (is_listed("avx512vl") && is_listed("avx512_bf16")));
  CHECK(cpu::has_unit(Unit::amx_bf16) == (is_listed("avx512vl") && is_listed("amx_tile") && is_listed("amx_bf16")));
  const std::string vectors = vector_instructions();
  if (vectors.starts_with("AVX-512")) CHECK((vectors == "AVX-512 and AMX") == cpu::has_unit(Unit::amx_bf16));
}
#endif

TEST_CASE("WithoutUnits hides units while it exists") {
  const bool before = cpu::has_unit(Unit::avx2), other = cpu::has_unit(Unit::avx512_bf16);
  {
    const cpu::WithoutUnits without{Unit::avx2};
    CHECK_FALSE(cpu::has_unit(Unit::avx2));
    {
      const cpu::WithoutUnits both{Unit::avx512_bf16};
      CHECK_FALSE(cpu::has_unit(Unit::avx2));
      CHECK_FALSE(cpu::has_unit(Unit::avx512_bf16));
    }
    CHECK_FALSE(cpu::has_unit(Unit::avx2));
    CHECK(cpu::has_unit(Unit::avx512_bf16) == other);
  }
  CHECK(cpu::has_unit(Unit::avx2) == before);
}
