#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace heed::cpu {

// A block of memory shared by a tensor and its views: uninitialised, aligned to 64 bytes. Freed blocks are cached and
// reused, so a steady training loop requests no memory from the system. Throws Error when memory runs out.
//
// Thread safety: any thread may make and destroy storages at any time (a mutex guards the free blocks). The contents
// follow the rules of ordinary variables: several readers or one writer. Tiles of one operation may write different
// elements.
//
// Invariants: a block never changes its size class; it belongs to one storage or to the free list of its class.
// memory_use() counts whole blocks, so it never counts less than was requested. It leaves out memory of an owner.
class Storage {
 public:
  explicit Storage(std::int64_t bytes, const char* operation = "tensor");  // errors begin with `operation`
  // Takes memory that `owner` keeps, aligned to the size of its elements.
  Storage(void* data, std::int64_t bytes, std::shared_ptr<const void> owner);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  void* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }

  std::uint64_t version = 0;                                // grows with each request for writable access
  std::atomic<std::uint64_t> finite_at{~std::uint64_t{0}};  // version whose values are known to be finite
  std::string name;                                         // of the parameter in this memory, or ""
  bool is_frozen = false;                                   // recordings treat a variable in this memory as a constant

 private:
  void* data_;
  std::int64_t bytes_;  // requested
  int size_class_ = 0;
  std::shared_ptr<const void> owner_;  // of the memory, unless it is a block
};

}  // namespace heed::cpu
