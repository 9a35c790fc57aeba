#include "autograd/cpu/blas.h"

#include "tests/catch.h"

#include <heed/autograd/machine.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

std::vector<std::string> environment() {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry; ++entry) variables.emplace_back(*entry);
  return variables;
}

// What this program prints when it starts anew, with `settings` before its name, and loads OpenBLAS.
std::string description_with(const std::string& settings) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  FILE* child = popen((settings + " '" + self + "' '[.description]'").c_str(), "r");
  REQUIRE(child);
  std::string text;
  for (int c; (c = std::fgetc(child)) != EOF;) text += static_cast<char>(c);
  INFO(text);
  CHECK(pclose(child) == 0);
  return text;
}

}  // namespace

TEST_CASE("prints the description; leaves the environment as it was", "[.description]") {
  const std::vector<std::string> before = environment();
  std::puts(heed::blas_description().c_str());
  CHECK(environment() == before);
}

#if defined(__x86_64__)
TEST_CASE("The kernels are the fastest that the processor runs") {
  __builtin_cpu_init();
  std::string kernels = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? "Haswell" : "";
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    kernels = "SkylakeX";
  }
  const std::string text = description_with("env -u OPENBLAS_CORETYPE");
  INFO(text);
  const std::size_t name = text.find("OpenBLAS 0.");
  REQUIRE(name != std::string::npos);
  CHECK(text.find(", " + kernels, name) != std::string::npos);
}

TEST_CASE("The user's choice of kernels stands") {
  for (const std::string kernels : {"Nehalem", "Sandybridge"}) {
    const std::string text = description_with("OPENBLAS_CORETYPE=" + kernels);
    INFO(text);
    CHECK(text.find(", " + kernels + " kernels") != std::string::npos);
  }
}
#endif

TEST_CASE("A layout is BLAS's when rows or columns are dense and do not overlap") {
  using heed::cpu::is_blas_layout;
  CHECK(is_blas_layout(3, 4, 4, 1));
  CHECK(is_blas_layout(3, 4, 9, 1));
  CHECK(is_blas_layout(3, 4, 1, 3));
  CHECK(is_blas_layout(1, 4, 0, 1));
  CHECK(is_blas_layout(3, 1, 4, 9));
  CHECK_FALSE(is_blas_layout(3, 4, 8, 2));
  CHECK_FALSE(is_blas_layout(3, 4, 0, 1));
  CHECK_FALSE(is_blas_layout(3, 4, 2, 1));
  CHECK_FALSE(is_blas_layout(3, 4, 1, 0));
}
