#include "autograd/cpu/memory.h"

#include <heed/autograd/error.h>
#include <heed/autograd/tensor.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <malloc.h>
#include <mutex>
#include <pthread.h>
#include <sys/mman.h>
#include <vector>

namespace heed {
namespace cpu {
namespace {

constexpr int class_count = 4 * 48;

// Rounds up to four sizes per power of two, from 256 bytes on: above that, at most a fifth of a block is unused.
int size_class(std::int64_t bytes) {
  if (bytes <= 256) return 0;
  const std::uint64_t last = static_cast<std::uint64_t>(bytes - 1);
  const int exponent = static_cast<int>(std::bit_width(last)) - 1;
  return 4 * (exponent - 8) + static_cast<int>((last >> (exponent - 2)) & 3U) + 1;
}

std::int64_t class_bytes(int size_class) {
  const int exponent = 8 + size_class / 4;
  return (std::int64_t{1} << exponent) + (size_class % 4) * (std::int64_t{1} << (exponent - 2));
}

// A block that no tensor holds.
struct FreeBlock {
  void* data;
  std::int64_t since;  // Pool::handed_out when it was freed
};

struct Pool {
  std::mutex mutex;
  std::array<std::vector<FreeBlock>, class_count> free_blocks;  // of each class, the last freed last
  std::size_t large_blocks = 0;                                 // allocated so far
  MemoryUse use;
  std::int64_t max_in_use = 0, handed_out = 0;  // bytes: at once, and in all
};

Pool& pool() {
  static Pool* const instance = [] {
    // A forked child gets the lock as it is, so no other thread may hold it then.
    pthread_atfork([] { pool().mutex.lock(); }, [] { pool().mutex.unlock(); }, [] { pool().mutex.unlock(); });
    return new Pool;  // outlives every tensor of static lifetime
  }();
  return *instance;
}

constexpr std::size_t huge_page = std::size_t{1} << 21;
constexpr bool is_large(std::size_t bytes) { return bytes >= 4 * huge_page; }

// Allocates large blocks in pages of 2 MB if the system supports it (Linux: transparent huge pages), which needs 512
// times fewer page lookups. Blocks start at 16 different offsets within a page: processors compare only some address
// bits when they match loads with earlier stores and when they select an L1 cache set.
void* allocate_block(Pool& pool, std::size_t bytes) {
  if (!is_large(bytes)) return std::aligned_alloc(64, bytes);
  const std::size_t begin = pool.large_blocks++ % 16 * (4096 + 256);
  char* const pages = static_cast<char*>(std::aligned_alloc(huge_page, bytes + huge_page));
#if defined(MADV_HUGEPAGE)
  if (pages) madvise(pages, bytes, MADV_HUGEPAGE);  // only the block's own pages, not those behind it
#endif
  return pages ? pages + begin : nullptr;
}

void free_block(void* block, std::size_t bytes) {
  const std::uintptr_t into_page = reinterpret_cast<std::uintptr_t>(block) % huge_page;
  std::free(static_cast<char*>(block) - (is_large(bytes) ? into_page : 0));
}

// Gives the blocks back to the system that no tensor has held since `handed_out` was `before`.
void free_unused(Pool& pool, std::int64_t before) {
  for (int c = 0; c < class_count; ++c) {
    std::vector<FreeBlock>& blocks = pool.free_blocks[static_cast<std::size_t>(c)];
    auto kept = blocks.begin();
    for (; kept != blocks.end() && kept->since <= before; ++kept) {
      free_block(kept->data, static_cast<std::size_t>(class_bytes(c)));
    }
    pool.use.bytes_reserved -= (kept - blocks.begin()) * class_bytes(c);
    blocks.erase(blocks.begin(), kept);
  }
}

void* system_allocate(Pool& pool, std::int64_t bytes, const char* operation) {
  // Texts of ever new lengths would leave blocks of all sizes in the cache. When it holds more than tensors ever held, those go
  // back that nothing has asked for while 16 times as much was handed out: equal steps ask for each of their blocks sooner.
  constexpr std::int64_t small = std::int64_t{1} << 26;
  if (pool.use.bytes_reserved + bytes > 2 * pool.max_in_use + small) {
    free_unused(pool, pool.handed_out - 16 * pool.max_in_use);
  }
  const std::size_t size = static_cast<std::size_t>(bytes);
  void* block = allocate_block(pool, size);
  if (!block) {
    free_unused(pool, pool.handed_out);
    block = allocate_block(pool, size);
  }
  if (!block) {
    throw OutOfMemoryError(in_layer(
        fmt::format("{}: out of memory: {} bytes requested, {} in use", operation, bytes, pool.use.bytes_in_use)));
  }
  pool.use.bytes_reserved += bytes;
  ++pool.use.system_allocations;
  return block;
}

// Drops an owner. It may hold the last tensor in other memory, whose owner is dropped after it, not within it: a chain of owners of
// any length takes no stack.
void drop(std::shared_ptr<const void> owner) {
  constinit static thread_local std::vector<std::shared_ptr<const void>>* waiting = nullptr;
  if (waiting) {
    try {
      waiting->push_back(std::move(owner));
    } catch (const std::bad_alloc&) {  // is dropped here
    }
    return;
  }
  std::vector<std::shared_ptr<const void>> owners;
  waiting = &owners;
  owner.reset();
  while (!owners.empty()) {
    const std::shared_ptr<const void> next = std::move(owners.back());
    owners.pop_back();
  }
  waiting = nullptr;
}

}  // namespace

Storage::Storage(std::int64_t bytes, const char* operation) : bytes_(bytes), size_class_(size_class(bytes)) {
  if (size_class_ >= class_count) fail("{}: {} bytes are more than this machine can address", operation, bytes);
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  const std::int64_t size = class_bytes(size_class_);
  std::vector<FreeBlock>& blocks = p.free_blocks[static_cast<std::size_t>(size_class_)];
  if (blocks.empty()) {
    data_ = system_allocate(p, size, operation);
  } else {
    data_ = blocks.back().data;
    blocks.pop_back();
  }
  p.handed_out += size;
  p.use.bytes_in_use += size;
  p.use.peak_bytes = std::max(p.use.peak_bytes, p.use.bytes_in_use);
  p.max_in_use = std::max(p.max_in_use, p.use.bytes_in_use);
}

Storage::Storage(void* data, std::int64_t bytes, std::shared_ptr<const void> owner)
    : data_(data), bytes_(bytes), owner_(std::move(owner)) {}

Storage::~Storage() {
  if (owner_) {
    drop(std::move(owner_));
    return;
  }
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  p.free_blocks[static_cast<std::size_t>(size_class_)].push_back({data_, p.handed_out});
  p.use.bytes_in_use -= class_bytes(size_class_);
}

}  // namespace cpu

void reset_peak_memory() {
  cpu::Pool& p = cpu::pool();
  const std::lock_guard lock(p.mutex);
  p.use.peak_bytes = p.use.bytes_in_use;
}

void release_cached_memory() {
  cpu::Pool& p = cpu::pool();
  const std::lock_guard lock(p.mutex);
  cpu::free_unused(p, p.handed_out);
#if defined(__GLIBC__)
  ::malloc_trim(0);
#endif
}

MemoryUse memory_use() {
  cpu::Pool& p = cpu::pool();
  const std::lock_guard lock(p.mutex);
  return p.use;
}

}  // namespace heed
