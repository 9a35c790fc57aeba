#pragma once
#include <heed/autograd/error.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

/// Thrown when the system rejects a file operation. The text has the path and the system's reason.
struct FileError : Error {
  using Error::Error;
};

/// Returns the paths of a directory's entries, sorted; empty if the directory does not exist. Throws FileError when it
/// cannot be read.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& directory);

/// Splits a list of paths at commas: "a.txt, b.txt" -> "a.txt", "b.txt". A file whose name is the whole list takes
/// precedence. Throws Error for an empty name.
std::vector<std::string> divided_paths(const std::string& list);

/// Makes the directory `path` if it is missing. Throws FileError with the path and the system's reason.
void make_directory(const std::filesystem::path& path);

/// Makes `path` and its parent directories, with the errors of make_directory().
void make_directories(const std::filesystem::path& path);

/// Makes the directory `path`, or the first of path-2, path-3, ... that does not exist, and returns it. Two processes
/// never get the same directory.
std::filesystem::path make_free_directory(const std::filesystem::path& path);

/// Returns the file's bytes. Throws FileError with the path and the system's reason. Throws Error for a FIFO that gets
/// no writer within 2 s or whose writer is silent for `max_silence`, for a device with more than 256 MiB, for a file
/// larger than memory, and for a file that shrinks during the read. Waits for /dev/stdin and other descriptors without
/// a limit.
std::string read_file(const std::filesystem::path& path, std::chrono::seconds max_silence = std::chrono::seconds(30));
/// Throws `Error` for a file that another program truncated during the read, from `before` bytes to `now`.
[[noreturn]] void fail_truncated(const std::filesystem::path& path, std::uint64_t before, std::uint64_t now);

/// Returns whether a file that begins so is a pointer, which Git LFS keeps in place of a file that was not fetched. 8 bytes of
/// it tell.
bool is_lfs_pointer(std::string_view beginning);
constexpr const char* lfs_pointer =
    "it is a pointer of Git LFS in place of the file, which 'git lfs pull' fetches";  ///< to say of such a file

/// A regular file that is read piece by piece. A handle: copies share it.
class OpenFile {
 public:
  /// Throws FileError with the path and the system's reason, and Error for anything but a regular file.
  explicit OpenFile(const std::filesystem::path& path);
  std::uint64_t size() const { return size_; }  ///< bytes
  /// Returns `count` bytes from byte `begin` on. Throws Error when the file has become shorter.
  std::string read(std::uint64_t begin, std::uint64_t count) const;
  /// Maps the whole file to memory, copied on write (see MappedFile). The caller unmaps it. Throws FileError.
  void* map() const;

 private:
  std::filesystem::path path_;
  std::shared_ptr<const int> descriptor_;
  std::uint64_t size_ = 0;
};

/// Replaces the file at `path`, or the file that a link at `path` points to, atomically: writes a temporary file, syncs
/// it, renames it and syncs the directory. Throws FileError with the path and the system's reason. The file is then as
/// before, or the new one if only the directory was not synced; the temporary file is removed. Writes in place to a
/// device, a FIFO or a descriptor (/dev/stdout).
void write_file(const std::filesystem::path& path, std::string_view bytes);

/// The content of a file, which calls its argument with one piece of it after the other.
using Pieces = std::function<void(const std::function<void(std::string_view)>& write)>;

/// Does the same without the whole content in memory. When `pieces` throws, the file is as before.
///
///     write_file("squares.csv", [](const auto& write) {
///       for (int i = 0; i < 1'000'000; ++i) write(fmt::format("{},{}\n", i, i * i));
///     });
void write_file(const std::filesystem::path& path, const Pieces& pieces);

/// Returns a path quoted for a shell: 'my run' for a name with a space, ./-y for a name that looks like an option.
std::string shell_word(const std::filesystem::path& path);

}  // namespace heed
