#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace heed::cpu {

// A block of memory shared by a tensor and its views: uninitialised, aligned to 64 bytes. Freed blocks are kept and given
// out again, so that a training loop in its steady state asks the system for nothing. Error when the system has no more.
//
// Thread safety: storages may be made and destroyed on any thread, at the same time too (a mutex guards the free blocks).
// One storage is like any variable: read by several threads, or written by one, of which tiles of one operation write
// different elements.
//
// Invariants: a block belongs to one size class for good, and is either one storage's or in the list of free blocks of its
// class; memory_use() counts blocks whole, so what a storage was asked for is at most what it counts as.
class Storage {
 public:
  explicit Storage(std::int64_t bytes, const char* operation = "tensor");  // whose name an Error begins with
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  void* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }

  std::uint64_t version = 0;                                // grows with each request for writable access
  std::atomic<std::uint64_t> finite_at{~std::uint64_t{0}};  // the version of which all values were seen to be finite
  std::string name;                                         // of the parameter that lies here, or ""
  bool is_frozen = false;                                   // recordings treat a variable that lies here as a constant

 private:
  void* data_;
  std::int64_t bytes_;  // asked for
  int size_class_;
};

}  // namespace heed::cpu
