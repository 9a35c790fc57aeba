// A library to preload (LD_PRELOAD): makes the N-th call of one kind fail, counted from the start of main(). HEED_FAULT
// is "KIND:N:ERRNO", or "KIND:N+:ERRNO" for all calls from the N-th on. KIND is open, read, write, fsync, rename,
// close, mmap or malloc (only of the program's own code, without OpenBLAS and the loader), or half: a write() that
// takes only half of its bytes, which is not a failure. At exit, the number of calls of the kind is written to the file
// HEED_FAULT_COUNT.
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

std::atomic<bool> armed{false};
std::atomic<long> calls{0};
char kind[16];
long first = 0, last = 0;  // calls that fail
int reason = EIO;
std::uintptr_t code_begin = UINTPTR_MAX, code_end = 0;  // of the program

template <class F>
F* next(F*, const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

bool fails(const char* what) {
  if (!armed || std::strcmp(what, kind) != 0) return false;
  const long number = ++calls;
  if (number < first || number > last) return false;
  errno = reason;
  return true;
}

bool is_of_program(void* caller) {
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  return code_begin <= address && address < code_end;
}

void find_program() {
  char program[4096] = {}, line[8192], path[4096];
  if (::readlink("/proc/self/exe", program, sizeof program - 1) < 0) return;
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  unsigned long begin, end;
  while (maps && std::fgets(line, sizeof line, maps)) {
    path[0] = '\0';
    if (std::sscanf(line, "%lx-%lx %*s %*s %*s %*s %4095[^\n]", &begin, &end, path) < 2) continue;
    if (std::strcmp(path, program) != 0) continue;
    if (begin < code_begin) code_begin = begin;
    if (end > code_end) code_end = end;
  }
  if (maps) std::fclose(maps);
}

void tell() {
  armed = false;
  const char* path = std::getenv("HEED_FAULT_COUNT");
  std::FILE* file = path ? std::fopen(path, "w") : nullptr;
  if (!file) return;
  std::fprintf(file, "%ld\n", calls.load());
  std::fclose(file);
}

int (*true_main)(int, char**, char**);

int armed_main(int argc, char** argv, char** environment) {
  if (const char* fault = std::getenv("HEED_FAULT")) {
    char number[24] = {};
    std::sscanf(fault, "%15[^:]:%23[^:]:%d", kind, number, &reason);
    first = last = std::atol(number);
    if (std::strchr(number, '+')) last = INT64_MAX;
    find_program();
    std::atexit(tell);
    armed = true;
  }
  return true_main(argc, argv, environment);
}

}  // namespace

extern "C" {

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(), void (*fini)(),
                      void (*rtld_fini)(), void* stack_end) {
  true_main = main;
  return next(&__libc_start_main, "__libc_start_main")(armed_main, argc, argv, init, fini, rtld_fini, stack_end);
}

int open(const char* path, int flags, ...) {
  static const auto real = next(&open, "open");
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return fails("open") ? -1 : real(path, flags, mode);
}

int openat(int directory, const char* path, int flags, ...) {
  static const auto real = next(&openat, "openat");
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return fails("open") ? -1 : real(directory, path, flags, mode);
}

ssize_t read(int file, void* bytes, std::size_t count) {
  static const auto real = next(&read, "read");
  return fails("read") ? -1 : real(file, bytes, count);
}

ssize_t write(int file, const void* bytes, std::size_t count) {
  static const auto real = next(&write, "write");
  if (fails("half")) count = (count + 1) / 2;
  return fails("write") ? -1 : real(file, bytes, count);
}

int fsync(int file) {
  static const auto real = next(&fsync, "fsync");
  return fails("fsync") ? -1 : real(file);
}

int rename(const char* from, const char* to) {
  static const auto real = next(&rename, "rename");
  return fails("rename") ? -1 : real(from, to);
}

int close(int file) {
  static const auto real = next(&close, "close");
  const int result = real(file);  // closes the file even if it reports a failure, as on Linux
  return fails("close") ? -1 : result;
}

void* mmap(void* address, std::size_t size, int protection, int flags, int file, off_t offset) {
  static const auto real = next(&mmap, "mmap");
  return fails("mmap") ? MAP_FAILED : real(address, size, protection, flags, file, offset);
}

void* malloc(std::size_t size) {
  return is_of_program(__builtin_return_address(0)) && fails("malloc") ? nullptr : __libc_malloc(size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return is_of_program(__builtin_return_address(0)) && fails("malloc") ? nullptr : __libc_memalign(alignment, size);
}

}  // extern "C"
