#include <heed/files/file.h>
#include <heed/files/utf8.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace heed {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t max_streamed = std::size_t{1} << 28;  // limit for devices and FIFOs, which may never end
constexpr int writer_awaited_ms = 2000;
constexpr int forever = -1;  // for poll()

// Returns false when the file system of the directory, or of its nearest existing parent, is out of inodes.
bool has_files_left(fs::path directory) {
  struct statvfs disk {};
  while (::statvfs(directory.c_str(), &disk) != 0) {
    if (!directory.has_parent_path() || directory == directory.root_path()) return true;
    directory = directory.parent_path();
  }
  return disk.f_files == 0 || disk.f_favail > 0;
}

[[noreturn]] void fail_with_reason(const char* action, const fs::path& path, int reason) {
  const fs::path directory = path.has_parent_path() ? path.parent_path() : ".";
  std::string hint;
  if (reason == ENOSPC || reason == EDQUOT) {
    hint = has_files_left(directory) ? ". Free some space on that disk and try again"
                                     : ". That disk cannot hold more files (df -i). Remove some and try again";
  }
  if (reason == EACCES || reason == EPERM) hint = ". Check its permissions and those of its directory";
  if (reason == ENXIO && action == std::string_view("write")) hint = ": nobody reads from it";
  if (reason == EROFS) hint = ". Choose a directory that can be written";
  std::error_code ignored;
  if (reason == ENOENT && !fs::exists(directory, ignored)) {
    hint = fmt::format(": the directory {} does not exist", directory.string());
  }
  if (path.empty()) throw FileError(fmt::format("cannot {} a file: the path is empty", action));
  throw FileError(fmt::format("cannot {} {}: {}{}", action, path.string(), std::strerror(reason), hint));
}

// Returns a path that the system would not cut.
const fs::path& checked(const fs::path& path) {
  if (path.native().find('\0') != std::string::npos) fail("'{}': a path cannot contain NUL", excerpt(path.native()));
  return path;
}

// An open file, closed at the end of its scope.
class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags) : number_(::open(checked(path).c_str(), flags | O_CLOEXEC, 0666)) {}
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

// Waits until the file is ready for reading (POLLIN) or writing (POLLOUT). Returns what poll() reports: POLLHUP when the
// other end was closed, 0 after `milliseconds` without an event.
short wait_for(const Descriptor& file, short events, int milliseconds) {
  pollfd waiting{file.number(), events, 0};
  const int count = ::poll(&waiting, 1, milliseconds);
  return count < 0 ? events : waiting.revents;  // interrupted by a signal: the caller tries again
}

// Returns 0, or the errno of a failed write.
int write_all(const Descriptor& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.number(), bytes.data(), bytes.size());
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
    if (written < 0 && errno == EAGAIN) {
      wait_for(file, POLLOUT, forever);
    } else if (written < 0 && errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

// Returns whether the path names an open descriptor, which is written in place even if it is a regular file.
bool is_descriptor(const std::string& path) {
  return path == "/dev/stdout" || path == "/dev/stderr" || path.starts_with("/dev/fd/") || path.starts_with("/proc/");
}

// Writes all pieces to `file`, with few calls of the system for many small ones. Returns 0, or the errno of a failed write.
int write_all(const Descriptor& file, const Pieces& pieces) {
  constexpr std::size_t block = std::size_t{1} << 20;
  std::string small;  // pieces that wait for others
  int reason = 0;
  const auto write = [&](std::string_view bytes) {
    if (reason == 0) reason = write_all(file, bytes);
  };
  pieces([&](std::string_view bytes) {
    if (small.size() + bytes.size() > block) write(std::exchange(small, {}));
    if (bytes.size() > block) {
      write(bytes);
    } else {
      small += bytes;
    }
  });
  write(small);
  return reason;
}

// Writes to a device or FIFO, which cannot be replaced.
void write_to(const fs::path& path, const Pieces& pieces) {
  Descriptor file(path, O_WRONLY | O_APPEND | O_NONBLOCK);  // opening a FIFO without a reader would block
  if (!file.is_open()) fail_with_reason("write", path, errno);
  const int reason = write_all(file, pieces);
  if (reason != 0) fail_with_reason("write", path, reason);
}

// Returns the target of a symbolic link, whether it exists or not.
fs::path target_of(const fs::path& path) {
  fs::path target = path;
  std::error_code ignored;
  for (int links = 0; fs::is_symlink(target, ignored); ++links) {
    if (links == 40) fail_with_reason("write", path, ELOOP);
    target = target.parent_path() / fs::read_symlink(target, ignored);
  }
  return target;
}

void replace(const fs::path& path, const Pieces& pieces) {
  // Syncing the directory makes the new name durable. It is opened first, so that nothing is replaced if that fails.
  Descriptor directory(path.has_parent_path() ? path.parent_path() : ".", O_RDONLY | O_DIRECTORY);
  if (!directory.is_open()) fail_with_reason("write", path, errno);
  const fs::path temporary = aside(path);
  Descriptor file(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW);
  if (!file.is_open()) fail_with_reason("write", path, errno);
  int reason = 0;
  try {
    reason = write_all(file, pieces);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  if (reason == 0 && (::fsync(file.number()) != 0 || file.close() != 0)) reason = errno;
  if (reason == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) reason = errno;
  if (reason != 0) {
    ::unlink(temporary.c_str());
    fail_with_reason("write", path, reason);
  }
  if (::fsync(directory.number()) != 0 && errno != EINVAL)
    fail_with_reason("write", path, errno);  // EINVAL: cannot sync
}

// Appends all that `file` holds to `bytes`. Waits `silence_ms` at most for the next bytes of a FIFO's writer.
void read_all(const Descriptor& file, const fs::path& path, mode_t mode, int silence_ms, std::string& bytes) {
  bool is_connected = !S_ISFIFO(mode), was_awaited = false;  // for the writer of a FIFO
  for (char block[1 << 16]; true;) {
    const ssize_t count = ::read(file.number(), block, sizeof block);
    if (count > 0) {
      if (!S_ISREG(mode) && bytes.size() + static_cast<std::size_t>(count) > max_streamed) {
        fail("cannot read {}: it is not a regular file and has more than {} MiB", path.string(), max_streamed >> 20);
      }
      bytes.append(block, static_cast<std::size_t>(count));
      is_connected = true;
    } else if (count < 0 && errno == EAGAIN) {
      is_connected = true;
      if (wait_for(file, POLLIN, silence_ms) == 0) {
        fail("cannot read {}: it is a FIFO, and its writer sent nothing for {} s. Give a regular file", path.string(),
             silence_ms / 1000);
      }
    } else if (count < 0 && errno != EINTR) {
      fail_with_reason("read", path, errno);
    } else if (count == 0 && is_connected) {
      return;
    } else if (count == 0) {
      if (was_awaited) fail("cannot read {}: it is a FIFO, and nobody writes to it", path.string());
      was_awaited = true;
      is_connected = (wait_for(file, POLLIN, writer_awaited_ms) & POLLHUP) != 0;
    }
  }
}

}  // namespace

std::vector<fs::path> entries_of(const fs::path& directory) {
  std::vector<fs::path> entries;
  const auto close = [](DIR* open) { ::closedir(open); };
  // libstdc++'s fs::directory_iterator terminates the program when memory runs out.
  const std::unique_ptr<DIR, decltype(close)> handle(::opendir(directory.c_str()), close);
  if (!handle && errno != ENOENT) fail_with_reason("read", directory, errno);
  errno = 0;
  while (const dirent* entry = handle ? ::readdir(handle.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") entries.push_back(directory / name);
    errno = 0;
  }
  if (handle && errno != 0) fail_with_reason("read", directory, errno);
  std::ranges::sort(entries);
  return entries;
}

std::vector<std::string> divided_paths(const std::string& list) {
  std::error_code ignored;
  if (fs::exists(list, ignored)) return {list};
  std::vector<std::string> paths;
  for (std::size_t begin = 0; begin <= list.size();) {
    begin = std::min(list.find_first_not_of(' ', begin), list.size());
    const std::size_t end = std::min(list.find(',', begin), list.size());
    paths.push_back(list.substr(begin, end - begin));
    if (paths.back().empty()) fail("'{}': expected file names separated by commas, got an empty name", list);
    begin = end + 1;
  }
  return paths;
}

void make_directory(const fs::path& path) {
  std::error_code error;
  fs::create_directory(path, error);
  if (error) fail_with_reason("make the directory", path, error.value());
}

void make_directories(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail_with_reason("make the directory", path, error.value());
}

fs::path make_free_directory(const fs::path& path) {
  if (const fs::path above = path.parent_path(); !above.empty()) {
    if (above.has_parent_path()) make_directories(above.parent_path());
    make_directory(above);
  }
  fs::path free = path;
  for (int number = 2; ::mkdir(free.c_str(), 0777) != 0; ++number) {
    if (errno != EEXIST) fail_with_reason("make the directory", free, errno);
    free = fmt::format("{}-{}", path.string(), number);
  }
  return free;
}

void fail_truncated(const fs::path& path, std::uint64_t before, std::uint64_t now) {
  fail("cannot read {}: it was truncated from {} bytes to {} while it was read; try again when it is whole",
       path.string(), before, now);
}

std::string read_file(const fs::path& path, std::chrono::seconds max_silence) {
  Descriptor file(path, O_RDONLY | O_NONBLOCK);  // opening a FIFO without a writer would block
  struct stat status {};
  if (!file.is_open() || ::fstat(file.number(), &status) != 0) fail_with_reason("read", path, errno);
  std::string bytes;
  const auto too_large = [&] {
    return FileError(fmt::format("cannot read {}: its {} bytes do not fit into memory", path.string(), status.st_size));
  };
  try {
    if (S_ISREG(status.st_mode)) bytes.reserve(static_cast<std::size_t>(status.st_size));
    // A terminal and a pipe of the shell's command line may be silent for as long as their user likes.
    const bool is_named_fifo = S_ISFIFO(status.st_mode) && !is_descriptor(path.string());
    const int silence_ms = is_named_fifo ? static_cast<int>(max_silence.count()) * 1000 : forever;
    read_all(file, path, status.st_mode, silence_ms, bytes);
    struct stat now {};
    const bool is_cut = S_ISREG(status.st_mode) && ::fstat(file.number(), &now) == 0 && now.st_size < status.st_size;
    if (is_cut) {
      fail_truncated(path, static_cast<std::uint64_t>(status.st_size), static_cast<std::uint64_t>(now.st_size));
    }
  } catch (const std::bad_alloc&) {
    throw too_large();
  } catch (const std::length_error&) {
    throw too_large();
  }
  return bytes;
}

bool is_lfs_pointer(std::string_view beginning) {
  constexpr std::string_view first_line = "version https://git-lfs.github.com/spec/";
  return beginning.size() >= 8 && beginning.substr(0, first_line.size()) == first_line.substr(0, beginning.size());
}

OpenFile::OpenFile(const fs::path& path) : path_(path) {
  const int number = ::open(checked(path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (number < 0) fail_with_reason("read", path, errno);
  descriptor_ = std::shared_ptr<const int>(new int(number), [](const int* open) {
    ::close(*open);
    delete open;
  });
  struct stat status {};
  if (::fstat(number, &status) != 0) fail_with_reason("read", path, errno);
  if (!S_ISREG(status.st_mode)) fail("cannot read {}: expected a regular file", path.string());
  size_ = static_cast<std::uint64_t>(status.st_size);
}

std::string OpenFile::read(std::uint64_t begin, std::uint64_t count) const {
  std::string bytes(count, '\0');
  std::size_t done = 0;
  while (done < count) {
    const ssize_t n = ::pread(*descriptor_, bytes.data() + done, count - done, static_cast<off_t>(begin + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_with_reason("read", path_, errno);
    if (n == 0) fail_truncated(path_, size_, begin + done);
    done += static_cast<std::size_t>(n);
  }
  return bytes;
}

void* OpenFile::map() const {
  int flags = MAP_PRIVATE;
#if defined(MAP_NORESERVE)
  flags |= MAP_NORESERVE;  // few pages are ever written
#endif
  void* const memory = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, flags, *descriptor_, 0);
  if (memory == MAP_FAILED) fail_with_reason("map", path_, errno);
  return memory;
}

void write_file(const fs::path& path, const Pieces& pieces) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  const bool is_replaceable = !fs::exists(status) || fs::is_regular_file(status) || fs::is_directory(status);
  if (is_replaceable && !is_descriptor(path.string())) {
    replace(target_of(path), pieces);
  } else {
    write_to(path, pieces);
  }
}

void write_file(const fs::path& path, std::string_view bytes) {
  write_file(path, [&](const auto& write) { write(bytes); });
}

std::string shell_word(const fs::path& path) {
  std::string word = path.string();
  if (word.starts_with('-')) word.insert(0, "./");
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("/._-+:,@%").find(c) != std::string_view::npos || static_cast<unsigned char>(c) >= 0x80;
  };
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

}  // namespace heed
