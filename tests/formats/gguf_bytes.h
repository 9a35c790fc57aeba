#pragma once
#include "tests/scratch.h"

#include <heed/files/file.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace heed {

/// Writes metadata and tensors in the format of GGUF.
class GgufBytes {
 public:
  GgufBytes& text(const std::string& key, const std::string& value) { return entry(key, 8).add_text(value); }
  GgufBytes& u32(const std::string& key, std::uint32_t value) { return entry(key, 4).add(value); }
  GgufBytes& u64(const std::string& key, std::uint64_t value) { return entry(key, 10).add(value); }
  GgufBytes& f32(const std::string& key, float value) { return entry(key, 6).add(value); }
  GgufBytes& flag(const std::string& key, bool value) { return entry(key, 7).add(static_cast<std::uint8_t>(value)); }
  GgufBytes& texts(const std::string& key, const std::vector<std::string>& values) {
    entry(key, 9).add(std::uint32_t{8}).add(std::uint64_t{values.size()});
    for (const std::string& value : values) add_text(value);
    return *this;
  }
  template <class T>
  GgufBytes& numbers(const std::string& key, std::uint32_t type, const std::vector<T>& values) {
    entry(key, 9).add(type).add(std::uint64_t{values.size()});
    for (const T value : values) add(value);
    return *this;
  }
  // Adds a tensor to the directory, without its numbers.
  GgufBytes& tensor(const std::string& name, const std::vector<std::uint64_t>& sizes, std::uint32_t type,
                    std::uint64_t offset) {
    ++tensors_;
    add_text(name).add(static_cast<std::uint32_t>(sizes.size()));
    for (const std::uint64_t size : sizes) add(size);
    return add(type).add(offset);
  }

  std::string bytes(std::uint32_t version = 3) const {
    GgufBytes head;
    head.bytes_ = "GGUF";
    head.add(version).add(tensors_).add(entries_);
    return head.bytes_ + bytes_;
  }
  std::filesystem::path in(const Scratch& scratch) const {
    write_file(scratch / "model.gguf", bytes());
    return scratch / "model.gguf";
  }
  // Returns `file` with these entries before its own. One more entry pads them to 32 bytes for the tensors.
  std::string inserted_into(const std::string& file) const {
    GgufBytes all = *this, head;
    const std::size_t length = GgufBytes(*this).text("padding", "").bytes_.size();
    all.text("padding", std::string((32 - length % 32) % 32, ' '));
    std::uint64_t entries = 0;
    std::memcpy(&entries, file.data() + 16, sizeof entries);
    head.add(entries + all.entries_);
    return file.substr(0, 16) + head.bytes_ + all.bytes_ + file.substr(24);
  }

 private:
  template <class T>
  GgufBytes& add(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  GgufBytes& add_text(const std::string& value) {
    add(std::uint64_t{value.size()});
    bytes_ += value;
    return *this;
  }
  GgufBytes& entry(const std::string& key, std::uint32_t type) {
    ++entries_;
    return add_text(key).add(type);
  }

  std::string bytes_;
  std::uint64_t entries_ = 0, tensors_ = 0;
};

}  // namespace heed
