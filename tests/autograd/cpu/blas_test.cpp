#include "autograd/cpu/blas.h"

#include "tests/catch.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/autograd/machine.h>
#include <heed/autograd/ops.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

std::vector<std::string> environment() {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry; ++entry) variables.emplace_back(*entry);
  return variables;
}

#if defined(__x86_64__)
// Restarts this program, with `settings` before its name, and returns its output for one of the hidden tests below.
std::string printed_with(const std::string& settings, const std::string& test) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  FILE* child = popen((settings + " '" + self + "' '" + test + "'").c_str(), "r");
  REQUIRE(child);
  std::string text;
  for (int c; (c = std::fgetc(child)) != EOF;) text += static_cast<char>(c);
  INFO(text);
  CHECK(pclose(child) == 0);
  return text;
}

std::string description_with(const std::string& settings) { return printed_with(settings, "[.description]"); }
#endif

}  // namespace

TEST_CASE("prints the description; leaves the environment as it was", "[.description]") {
  const std::vector<std::string> before = environment();
  std::puts(heed::blas_description().c_str());
  CHECK(environment() == before);
}

TEST_CASE("prints why OpenBLAS cannot be loaded", "[.refusal]") {
  std::puts(heed::message([] { heed::blas_description(); }).c_str());
}

TEST_CASE("prints the instructions", "[.units]") { std::puts(heed::vector_instructions()); }

TEST_CASE("Products of every kind equal their sums", "[products]") {
  using namespace heed;
  struct Size {
    std::int64_t m, n, k;
  };
  for (const auto [m, n, k] : {Size{520, 513, 512}, {7, 3, 40}, {1, 5, 600}, {9, 8, 0}, {40, 33, 17}}) {
    Random random(1);
    const Tensor a = random_normal({m, k}, random, 0, 1, DType::float64);
    const Tensor b = random_normal({k, n}, random, 0, 1, DType::float64);
    const std::int64_t rows = std::min<std::int64_t>(m, 3);
    const Tensor expected = sum(unsqueeze(slice(a, 0, 0, rows), 2) * unsqueeze(b, 0), {1});
    CHECK(norm(slice(matmul(a, b), 0, 0, rows) - expected).item() < 1e-10);
    const Tensor narrow = matmul(a.to(DType::float32), b.to(DType::float32)).to(DType::float64);
    CHECK(norm(slice(narrow, 0, 0, rows) - expected).item() < 1e-2);
  }
}

#if defined(__x86_64__)
TEST_CASE("HEED_WITHOUT hides instructions") {
  CHECK(printed_with("HEED_WITHOUT=amx_bf16,avx512_bf16", "[.units]").find("AVX-512 and AMX") == std::string::npos);
  CHECK(
      printed_with("HEED_WITHOUT=avx2,avx512", "[.refusal]")
          .find("HEED_WITHOUT: expected names among avx2, avx512_vnni, avx512_bf16, amx_bf16, separated by commas, got "
                "'avx512'\n") != std::string::npos);
}

TEST_CASE("Without OpenBLAS own kernels serve") {
  CHECK(description_with("HEED_OPENBLAS=none").find("own kernels without OpenBLAS\n") != std::string::npos);
  CHECK(description_with("HEED_OPENBLAS=").find("OpenBLAS 0.") != std::string::npos);
  CHECK(printed_with("HEED_OPENBLAS=none", "[products]").find("All tests passed") != std::string::npos);
  CHECK(
      printed_with("HEED_OPENBLAS=/no/such/file", "[.refusal]")
          .find("OpenBLAS cannot be loaded: /no/such/file: cannot open shared object file: No such file or directory. "
                "HEED_OPENBLAS names this file\n") != std::string::npos);
}

TEST_CASE("Loading OpenBLAS keeps the user's OPENBLAS_NUM_THREADS in the environment") {
  CHECK(description_with("OPENBLAS_NUM_THREADS=3").find("OpenBLAS 0.") != std::string::npos);
}

TEST_CASE("If OpenBLAS cannot be loaded, the message names the reason and the package to install") {
  const heed::Scratch scratch;
  for (const char* name : {"libopenblas.so.0", "libopenblas.so"}) {
    std::ofstream(scratch / name) << std::string(10'000, 'x');
  }
  const std::string text = printed_with("LD_LIBRARY_PATH=" + scratch.path.string(), "[.refusal]");
  INFO(text);
  CHECK(text.find("OpenBLAS cannot be loaded: " + (scratch / "libopenblas.so.0").string() + ": ") != std::string::npos);
  CHECK(text.find(". On Debian: apt-get install libopenblas0-pthread\n") != std::string::npos);
}

#if !defined(HEED_SANITIZED)  // a sanitizer's address space exceeds the limit
TEST_CASE("The message for refused address space states how much OpenBLAS needs") {
  const std::string text = printed_with("ulimit -v 2000000; OMP_NUM_THREADS=64", "[.refusal]");
  INFO(text);
  CHECK(text.find("OpenBLAS cannot be loaded: for 64 threads it needs 8449 MiB of address space, which the system "
                  "refuses; check the limit (ulimit -v)") != std::string::npos);
}
#endif

TEST_CASE("OpenBLAS uses the fastest kernels that the processor supports") {
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

TEST_CASE("OPENBLAS_CORETYPE selects the kernels") {
  for (const std::string kernels : {"Nehalem", "Sandybridge"}) {
    const std::string text = description_with("OPENBLAS_CORETYPE=" + kernels);
    INFO(text);
    CHECK(text.find(", " + kernels + " kernels") != std::string::npos);
  }
}
#endif

TEST_CASE("is_blas_layout accepts dense, non-overlapping rows or columns") {
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
  CHECK_FALSE(is_blas_layout(3, 1, 0, 1));  // a number that is repeated
  CHECK(heed::message([] { is_blas_layout(3, 4, 3'000'000'000, 1); }) ==
        "matmul: a matrix of 3 x 4 with strides 3000000000 and 1 is more than BLAS can count");
}

TEST_CASE("blas_function finds functions of OpenBLAS and LAPACK by name") {
  CHECK(heed::cpu::blas_function("dgesvd_") != nullptr);
  CHECK(heed::message([] { heed::cpu::blas_function("dnosuch_"); }).starts_with("OpenBLAS has no function dnosuch_: "));
}

TEMPLATE_TEST_CASE("gemm is exact for few columns, for an empty sum and for large matrices", "", float, double) {
  for (const auto& [m, n, k] : {std::array{70, 1, 40}, {70, 5, 40}, {3, 8, 0}, {520, 512, 513}, {0, 5, 3}}) {
    CAPTURE(m, n, k);
    // small integers, whose sums are exact
    std::vector<TestType> A, B_t, C(static_cast<std::size_t>(m * n), TestType(1));
    for (int i = 0; i < m * k; ++i) A.push_back(static_cast<TestType>((i / k + i % k) % 9));
    for (int i = 0; i < n * k; ++i) B_t.push_back(static_cast<TestType>((i % k - i / k) % 5));
    heed::cpu::gemm<TestType>(m, n, k, TestType(2), {A.data(), k, 1}, {B_t.data(), 1, k}, TestType(3), C.data(), n);
    int wrong = 0;
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) {
        int sum = 0;
        for (int p = 0; p < k; ++p) sum += (i + p) % 9 * ((p - j) % 5);
        wrong += C[static_cast<std::size_t>(i) * n + j] != static_cast<TestType>(2 * sum + 3);
      }
    }
    CHECK(wrong == 0);
  }
}
