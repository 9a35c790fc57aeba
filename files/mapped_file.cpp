#include <heed/files/file.h>
#include <heed/files/mapped_file.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

namespace heed {
namespace {

// A mapping, as the handler finds it without allocating or locking. `message` lives until another mapping takes the place.
struct Mapping {
  std::atomic<const char*> begin{nullptr}, end{nullptr}, message{nullptr};
};
std::array<Mapping, 1024> mappings;  // more mappings work, but a fault in them is not reported
std::mutex mappings_mutex;
struct sigaction previous_handler;

void report_lost_page(int signal, siginfo_t* info, void*) {
  const char* const place = static_cast<const char*>(info->si_addr);
  for (const Mapping& mapping : mappings) {
    const char* const begin = mapping.begin;
    if (!begin || place < begin || place >= mapping.end) continue;
    const char* const message = mapping.message;
    const ssize_t ignored = ::write(STDERR_FILENO, message, std::strlen(message));
    static_cast<void>(ignored);
    ::_exit(1);
  }
  ::sigaction(signal, &previous_handler, nullptr);  // a fault occurs again, under the previous handler
  if (info->si_code <= 0) ::raise(signal);          // a signal that a program sent does not
}

void add_mapping(const char* begin, std::uint64_t size, const std::string& path) {
  const std::lock_guard lock(mappings_mutex);
  static const bool installed = [] {
    struct sigaction handler {};
    handler.sa_sigaction = report_lost_page;
    handler.sa_flags = SA_SIGINFO;
    return ::sigaction(SIGBUS, &handler, &previous_handler) == 0;
  }();
  static_cast<void>(installed);
  for (Mapping& mapping : mappings) {
    if (mapping.begin) continue;
    std::free(const_cast<char*>(mapping.message.load()));
    const std::string message = path +
                                ": part of the file is lost: it was cut, or its disk failed, while it was in use; try "
                                "again with the whole file\n";
    mapping.message = ::strdup(message.c_str());
    mapping.end = begin + size;
    mapping.begin = begin;
    return;
  }
}

void remove_mapping(const char* begin) {
  const std::lock_guard lock(mappings_mutex);
  for (Mapping& mapping : mappings) {
    if (mapping.begin == begin) mapping.begin = nullptr;
  }
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  const OpenFile file(path);
  size_ = file.size();
  if (size_ == 0) fail("cannot read {}: it is empty", path.string());
  void* const memory = file.map();
  add_mapping(static_cast<const char*>(memory), size_, path.string());
  data_ = std::shared_ptr<char>(static_cast<char*>(memory), [size = size_](char* data) {
    remove_mapping(data);
    ::munmap(data, size);
  });
}

}  // namespace heed
