#pragma once
#include <cstdint>
#include <initializer_list>

// Instructions that some kernels use where the processor has them, whatever level the library is compiled for.
namespace heed::cpu {

// Named as in /proc/cpuinfo.
enum class Unit : std::uint8_t { avx2, avx512_vnni, avx512_bf16, amx_bf16 };

// Returns whether the processor has this unit and the system lets this process use it. avx2 implies FMA and F16C; avx512_vnni and
// avx512_bf16 imply level x86-64-v4; amx_bf16 implies AMX's tiles. The environment variable HEED_WITHOUT names units that count
// as missing: "amx_bf16,avx512_bf16". The first call throws Error when it names an unknown one.
bool has_unit(Unit unit);

// The instructions with which bfloat16_gemm() multiplies: none of its own, AVX512_BF16, or AMX.
enum class BFloat16Unit : std::uint8_t { none, vectors, tiles };

// Returns the fastest here. AVX512_BF16 is for AMD's processors, where products take 0.5 to 0.7 of the time of float32 (Zen 4). Intel's
// begin one of these instructions in two cycles, where they begin two of float32, so that products take 1.7 times as long (a Xeon).
BFloat16Unit bfloat16_unit();

// Returns whether int8_product() runs on instructions for 8-bit integers here (AVX512_VNNI or AVX2). Elsewhere it gives the same bits,
// and takes longer than a product with widened weights.
bool has_int8_unit();

// Lets units count as missing while one exists, so that tests run the other kernels.
class WithoutUnits {
 public:
  [[nodiscard]] WithoutUnits(std::initializer_list<Unit> units);
  ~WithoutUnits();
  WithoutUnits(const WithoutUnits&) = delete;

 private:
  const std::uint32_t before_;
};

}  // namespace heed::cpu

// Defined where a file is compiled for level x86-64-v4, as the kernels for bfloat16 need.
#if defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define HEED_LEVEL_4
#endif

// Functions between HEED_TARGET("...") and HEED_END_TARGET use these instructions beside those of the library's level. No header is
// included between them: its functions could replace those of other files.
#if defined(__clang__)
#define HEED_PRAGMA(...) _Pragma(#__VA_ARGS__)
#define HEED_TARGET(instructions) \
  HEED_PRAGMA(clang attribute push(__attribute__((target(instructions))), apply_to = function))
#define HEED_END_TARGET HEED_PRAGMA(clang attribute pop)
#elif defined(__GNUC__)
#define HEED_PRAGMA(...) _Pragma(#__VA_ARGS__)
#define HEED_TARGET(instructions) HEED_PRAGMA(GCC push_options) HEED_PRAGMA(GCC target(instructions))
#define HEED_END_TARGET HEED_PRAGMA(GCC pop_options)
#endif
