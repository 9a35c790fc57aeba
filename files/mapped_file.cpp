#include <heed/files/file.h>
#include <heed/files/mapped_file.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace heed {

MappedFile::MappedFile(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) throw FileError(fmt::format("{}: cannot be opened: {}", path.string(), std::strerror(errno)));
  struct stat about {};
  const bool known = ::fstat(file, &about) == 0;
  if (!known || !S_ISREG(about.st_mode)) {
    ::close(file);
    fail("{}: expected a file of text, got {}", path.string(),
         S_ISDIR(about.st_mode) ? "a directory" : "no regular file");
  }
  size_ = static_cast<std::size_t>(about.st_size);
  if (size_ > 0) {  // nothing cannot be mapped
    void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    const int problem = errno;
    ::close(file);
    if (mapped == MAP_FAILED) fail("{}: cannot be read: {}", path.string(), std::strerror(problem));
    ::madvise(mapped, size_, MADV_SEQUENTIAL);
    data_ = static_cast<const char*>(mapped);
  } else {
    ::close(file);
  }
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<char*>(data_), size_);
}

}  // namespace heed
