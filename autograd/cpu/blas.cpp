// Matrix products: OpenBLAS for large ones, blocked_gemm() for the rest, split_gemm() where the processor has a matrix unit.
//
// OpenBLAS is loaded with dlopen() at the first product, not linked. It chooses its kernels when it is loaded, from a table of the
// processors known at its release, and takes slow ones for newer processors; OPENBLAS_CORETYPE overrides the choice, but only if it is
// set before. A constructor of this library that sets it comes too late, since a library's dependencies are initialised first.
//
// OpenBLAS computes on the calling thread, and heed's own pool shares out the tiles. An OpenMP team ends with its last member: beside
// one busy program a step took 200 ms under a team and 40 ms under the pool (21 ms alone for both).
//
// blocked_gemm() computes all products but those whose sizes are all 512 or more, or with few columns. OpenBLAS takes a lock for each
// product: with two threads 0.5 to 1.5 microseconds, where one of 14 x 16, of which attention over sentences makes hundreds per step,
// takes 0.05 to 0.18. For a layer's products on Zen 3 it reaches 80 of a core's 102 GFLOP/s, as it packs both operands; ours 94.
// For large squares ours was up to a tenth slower. Without OpenBLAS blocked_gemm() computes these, too. Tried without gain: one product
// for W_Q, W_K and W_V, A packed everywhere, other lengths of the sums over k, a bias added by the micro-kernel. bench/NOTES.md has the
// figures, also for other processors.

#include "autograd/cpu/blas.h"

#include "autograd/cpu/blocked_gemm.h"
#include "autograd/cpu/row_product.h"
#include "autograd/cpu/split_gemm.h"
#include "autograd/cpu/units.h"

#include <heed/autograd/error.h>
#include <heed/autograd/machine.h>
#include <heed/autograd/profile.h>

#include <algorithm>
#include <cblas.h>
#include <cstdlib>
#include <dlfcn.h>
#include <limits>
#include <optional>
#include <string_view>
#include <sys/mman.h>

namespace heed::cpu {
namespace {

// Sets an environment variable within its scope.
class ScopedVariable {
 public:
  [[nodiscard]] ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value, 1);
  }
  ~ScopedVariable() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

// Returns the kernels for this processor when OpenBLAS's processor table may be too old to know it; null: OpenBLAS
// chooses.
const char* preferred_kernels() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return "SkylakeX";
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
  return nullptr;
}

// If the system refuses its work buffers (128 MiB), OpenBLAS retries forever. It takes one for each thread, and 0.3.29 takes
// another when it is loaded.
void check_address_space() {
  constexpr std::size_t mib = 1 << 20, code = 64 * mib, buffer = 129 * mib;
  const std::size_t bytes = code + static_cast<std::size_t>(threads() + 1) * buffer;
  void* space = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) {
    throw Error(  // without a layer's name: the failure is unrelated to the layer
        fmt::format("OpenBLAS cannot be loaded: for {} it needs {} MiB of address space, which the system "
                    "refuses; check the limit (ulimit -v)",
                    counted(threads(), "thread"), bytes / mib));
  }
  munmap(space, bytes);
}

// OpenBLAS reads environment variables when it is loaded. It is therefore loaded here, after they are set, instead of
// linked. HEED_OPENBLAS names the library's file, or is "none". Without the library, blocked_gemm() serves.
struct OpenBlas {
  static constexpr const char* own_kernels = "own kernels without OpenBLAS";
  void* library = nullptr;
  std::string reason;  // why there is no library
  decltype(&cblas_sgemm) sgemm = nullptr;
  decltype(&cblas_dgemm) dgemm = nullptr;
  std::string description;

  OpenBlas() {
    has_unit(Unit::amx_bf16);  // throws if HEED_WITHOUT is wrong, before any thread needs it
    const char* given = std::getenv("HEED_OPENBLAS");
    if (given && !*given) given = nullptr;  // empty, as unset
    if (given && std::string_view(given) == "none") {
      description = own_kernels;
      reason = "HEED_OPENBLAS is none";
      return;
    }
    check_address_space();
    {
      const ScopedVariable one_thread("OPENBLAS_NUM_THREADS", "1");
      std::optional<ScopedVariable> kernels;
      if (!std::getenv("OPENBLAS_CORETYPE") && preferred_kernels()) {
        kernels.emplace("OPENBLAS_CORETYPE", preferred_kernels());
      }
      const auto open = [&](const char* name) {
        library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (!library) reason = dlerror();
        return library || reason.find("cannot open shared object file: No such file") == reason.npos;
      };
      if (given) {
        open(given);
      } else if (!open("libopenblas.so.0") && !open("libopenblas.so")) {
        description = own_kernels;
        return;
      }
    }
    if (!library) {
      throw Error(
          fmt::format("OpenBLAS cannot be loaded: {}. {}", reason,
                      given ? "HEED_OPENBLAS names this file" : "On Debian: apt-get install libopenblas0-pthread"));
    }
    find("cblas_sgemm", sgemm);
    find("cblas_dgemm", dgemm);
    void (*set_num_threads)(int) = nullptr;
    char* (*config)() = nullptr;
    char* (*core_name)() = nullptr;
    find("openblas_set_num_threads", set_num_threads);
    find("openblas_get_config", config);
    find("openblas_get_corename", core_name);
    set_num_threads(1);
    const std::string built = config();  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..."
    description = fmt::format("{}, {} kernels", built.substr(0, built.find(' ', built.find(' ') + 1)), core_name());
  }

  template <class Function>
  void find(const char* name, Function& function) const {
    if (!library) {
      fail("{} needs OpenBLAS, which is not loaded: {}. On Debian: apt-get install libopenblas0-pthread", name, reason);
    }
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (!function) fail("OpenBLAS has no function {}: {}", name, dlerror());
  }
};

const OpenBlas& open_blas() {
  static const OpenBlas instance;
  return instance;
}

blasint blas_int(std::int64_t n) { return static_cast<blasint>(n); }

}  // namespace

void* blas_function(const char* name) {
  void* function = nullptr;
  open_blas().find(name, function);
  return function;
}

bool is_blas_layout(std::int64_t rows, std::int64_t columns, std::int64_t row_stride, std::int64_t column_stride,
                    const char* operation) {
  if (std::max({rows, columns, row_stride, column_stride}) > std::numeric_limits<blasint>::max()) {
    fail("{}: a matrix of {} x {} with strides {} and {} is more than BLAS can count", operation, rows, columns,
         row_stride, column_stride);
  }
  const bool plain = (column_stride == 1 || columns <= 1) && (row_stride >= columns || rows <= 1);
  const bool transposed = (row_stride == 1 || rows <= 1) && (column_stride >= rows || columns <= 1);
  return plain || transposed;
}

template <class T>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const Matrix<T>& A, const Matrix<T>& B, T beta, T* C,
          std::int64_t ldc) {
  if (m == 0 || n == 0) return;
  count_flops(2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k));
  if (m == 1 && beta == T{0} && is_row_product(k, n, B.row_stride, B.column_stride)) {
    return row_product(k, n, alpha, A.data, A.column_stride, B, static_cast<const T*>(nullptr), C);
  }
  if constexpr (sizeof(T) == 4) {
    if (alpha == 1 && split_gemm(m, n, k, A, B, beta, C, ldc)) return;
  }
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  // blocked_gemm() is faster for at least a few columns, unless all sizes are large.
  if (k > 0 && n >= 6 && std::min({m, n, k}) < 512) {
    return blocked_gemm(m, n, k, alpha, A, B, beta, C, ldc);
  }
#endif
  if (!open_blas().library) {
    if (k > 0) return blocked_gemm(m, n, k, alpha, A, B, beta, C, ldc);
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) C[i * ldc + j] = beta == T{0} ? T{0} : beta * C[i * ldc + j];
    }
    return;
  }
  const auto layout = [](const Matrix<T>& x, std::int64_t rows, std::int64_t columns) {
    const bool plain = (x.column_stride == 1 || columns <= 1) && (x.row_stride >= columns || rows <= 1);
    const std::int64_t leading = plain ? (rows <= 1 ? columns : x.row_stride) : x.column_stride;
    return std::pair(plain ? CblasNoTrans : CblasTrans, blas_int(std::max<std::int64_t>(1, leading)));
  };
  const auto a = layout(A, m, k), b = layout(B, k, n);  // (transposed, leading dimension)
  const auto call = [&](auto function) {
    function(CblasRowMajor, a.first, b.first, blas_int(m), blas_int(n), blas_int(k), alpha, A.data, a.second, B.data,
             b.second, beta, C, blas_int(ldc));
  };
  if constexpr (sizeof(T) == 4) {
    call(open_blas().sgemm);
  } else {
    call(open_blas().dgemm);
  }
}

template void gemm(std::int64_t, std::int64_t, std::int64_t, float, const Matrix<float>&, const Matrix<float>&, float,
                   float*, std::int64_t);
template void gemm(std::int64_t, std::int64_t, std::int64_t, double, const Matrix<double>&, const Matrix<double>&,
                   double, double*, std::int64_t);

}  // namespace heed::cpu

const std::string& heed::blas_description() { return cpu::open_blas().description; }
