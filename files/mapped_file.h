#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>

namespace heed {

/// A handle to a regular file in memory. The system reads a page when it is first used, and may drop it again. Writes
/// change only this process's copy. Copies share the mapping.
///
/// When the process uses a page that is lost, because another program cut the file or the disk failed, it ends with exit
/// code 1 and a message that names the file. The first mapping installs a handler of SIGBUS for this, which leaves all
/// other faults to the previous handler.
///
///     const MappedFile file("model.safetensors");
///     const char first = file.data()[0];
class MappedFile {
 public:
  /// Throws FileError with the path and the system's reason, and Error for anything but a regular file that is not empty.
  explicit MappedFile(const std::filesystem::path& path);
  /// Returns the first byte.
  char* data() const { return data_.get(); }
  /// Returns the number of bytes.
  std::uint64_t size() const { return size_; }
  /// Returns a handle that keeps the mapping open.
  std::shared_ptr<const void> owner() const { return data_; }

 private:
  std::shared_ptr<char> data_;
  std::uint64_t size_ = 0;
};

}  // namespace heed
