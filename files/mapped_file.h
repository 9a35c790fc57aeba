#pragma once
#include <filesystem>
#include <string_view>

namespace heed {

// The bytes of a file, read as they are looked at, so that a large one takes no memory of its own. For as long as this
// is there, nobody may make the file shorter.
class MappedFile {
 public:
  // Error with the path and the system's reason, and for what is no regular file.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::string_view bytes() const { return {data_, size_}; }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace heed
