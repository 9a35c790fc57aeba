#pragma once
#include <cstddef>
#include <cstdint>

namespace heed::cpu {

// A block of memory shared by a tensor and its views. Freed blocks are kept and given out again, so that a
// training loop in its steady state asks the system for nothing.
class Storage {
 public:
  explicit Storage(std::int64_t bytes);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  void* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }

  std::uint64_t version = 0;  // grows with each request for writable access

 private:
  void* data_;
  std::int64_t bytes_;  // asked for
  int size_class_;
};

}  // namespace heed::cpu
