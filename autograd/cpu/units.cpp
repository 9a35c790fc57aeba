#include "autograd/cpu/units.h"

#include <heed/autograd/enum_names.h>
#include <heed/autograd/error.h>

#include <fmt/ranges.h>

#include <atomic>
#include <cstdlib>
#include <string_view>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace heed {

template <>
inline constexpr EnumName<cpu::Unit> enum_names<cpu::Unit>[] = {{cpu::Unit::avx2, "avx2"},
                                                                {cpu::Unit::avx512_vnni, "avx512_vnni"},
                                                                {cpu::Unit::avx512_bf16, "avx512_bf16"},
                                                                {cpu::Unit::amx_bf16, "amx_bf16"}};

namespace cpu {
namespace {

constexpr std::uint32_t bit(Unit unit) { return std::uint32_t{1} << static_cast<unsigned>(unit); }

std::uint32_t units_of_processor() {
  std::uint32_t units = 0;
#if defined(__x86_64__)
  __builtin_cpu_init();
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned f16c = 1U << 29, amx_bf16 = 1U << 22, amx_tile = 1U << 24;
  const bool has_f16c = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & f16c) != 0;
  if (has_f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) units |= bit(Unit::avx2);
  const bool has_level_4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                           __builtin_cpu_supports("avx512vl");
  if (has_level_4 && __builtin_cpu_supports("avx512vnni")) units |= bit(Unit::avx512_vnni);
  if (has_level_4 && __builtin_cpu_supports("avx512bf16")) units |= bit(Unit::avx512_bf16);
  constexpr unsigned wanted = amx_bf16 | amx_tile;
  if (has_level_4 && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & wanted) == wanted) {
    constexpr int request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    if (syscall(SYS_arch_prctl, request_permission, tile_data) == 0) units |= bit(Unit::amx_bf16);
  }
#endif
  return units;
}

std::uint32_t units_of_variable() {
  std::uint32_t units = 0;
  const char* const value = std::getenv("HEED_WITHOUT");
  std::string_view rest = value ? value : "";
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    const auto unit = value_named<Unit>(name);
    if (!unit) {
      fail("HEED_WITHOUT: expected names among {}, separated by commas, got '{}'", fmt::join(names_of<Unit>(), ", "),
           name);
    }
    units |= bit(*unit);
  }
  return units;
}

std::atomic<std::uint32_t> hidden = 0;

}  // namespace

bool has_unit(Unit unit) {
  static const std::uint32_t units = units_of_processor() & ~units_of_variable();
  return (units & ~hidden.load(std::memory_order_relaxed) & bit(unit)) != 0;
}

BFloat16Unit bfloat16_unit() {
#ifdef HEED_LEVEL_4
  if (!has_unit(Unit::avx512_bf16)) return BFloat16Unit::none;
  if (has_unit(Unit::amx_bf16)) return BFloat16Unit::tiles;
  static const bool is_amd = (__builtin_cpu_init(), __builtin_cpu_is("amd"));
  if (is_amd) return BFloat16Unit::vectors;
#endif
  return BFloat16Unit::none;
}

bool has_int8_unit() { return has_unit(Unit::avx512_vnni) || has_unit(Unit::avx2); }

WithoutUnits::WithoutUnits(std::initializer_list<Unit> units) : before_(hidden) {
  for (const Unit unit : units) hidden |= bit(unit);
}
WithoutUnits::~WithoutUnits() { hidden = before_; }

}  // namespace cpu
}  // namespace heed
