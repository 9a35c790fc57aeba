#include <heed/autograd/error.h>
#include <heed/files/file.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace heed {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void fail_with_reason(const char* action, const fs::path& path, int reason) {
  const fs::path directory = path.has_parent_path() ? path.parent_path() : ".";
  std::string hint;
  if (reason == ENOSPC || reason == EDQUOT) hint = ". Make room on that disk and try again";
  if (reason == EACCES || reason == EPERM) hint = ". Check the permissions of it and of its directory";
  if (reason == EROFS) hint = ". Choose a directory that can be written";
  std::error_code ignored;
  if (reason == ENOENT && !fs::exists(directory, ignored)) {
    hint = fmt::format(": there is no directory {}", directory.string());
  }
  fail("cannot {} {}: {}{}", action, path.string(), std::strerror(reason), hint);
}

// An open file, closed at the end of its scope.
class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags) : number_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  bool is_open() const { return number_ >= 0; }
  int number() const { return number_; }
  int close() { return is_open() ? ::close(std::exchange(number_, -1)) : 0; }

 private:
  int number_;
};

fs::path aside(const fs::path& path) {
  static std::atomic<unsigned> count = 0;
  return fmt::format("{}.tmp-{}-{}", path.string(), ::getpid(), ++count);
}

// 0, or the reason why not all bytes are on the disk.
int write_all(Descriptor& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.number(), bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fsync(file.number()) != 0) return errno;
  return file.close() == 0 ? 0 : errno;
}

}  // namespace

std::string read_file(const fs::path& path) {
  Descriptor file(path, O_RDONLY);
  if (!file.is_open()) fail_with_reason("read", path, errno);
  std::string bytes;
  std::error_code unknown_size;
  const std::uintmax_t size = fs::is_regular_file(path, unknown_size) ? fs::file_size(path, unknown_size) : 0;
  if (!unknown_size) bytes.reserve(size);
  char block[1 << 16];
  while (true) {
    const ssize_t count = ::read(file.number(), block, sizeof block);
    if (count == 0) return bytes;
    if (count < 0 && errno != EINTR) fail_with_reason("read", path, errno);
    if (count > 0) bytes.append(block, static_cast<std::size_t>(count));
  }
}

void write_file(const fs::path& path, std::string_view bytes) {
  const fs::path temporary = aside(path);
  Descriptor file(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW);
  if (!file.is_open()) fail_with_reason("write", path, errno);
  int reason = write_all(file, bytes);
  if (reason == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) reason = errno;
  if (reason != 0) {
    ::unlink(temporary.c_str());
    fail_with_reason("write", path, reason);
  }
  // The new name is on the disk only when its directory is; some file systems cannot sync one (EINVAL).
  Descriptor directory(path.has_parent_path() ? path.parent_path() : ".", O_RDONLY | O_DIRECTORY);
  if (directory.is_open() && ::fsync(directory.number()) != 0 && errno != EINVAL) {
    fail_with_reason("write", path, errno);
  }
}

}  // namespace heed
