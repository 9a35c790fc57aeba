#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <new>

// The programs' operator new. The library leaves that of its user alone.
#if !defined(HEED_SANITIZED)  // sanitizers bring their own new and delete
namespace {

// Names the requested size, unlike std::bad_alloc. Its text needs no memory.
struct OutOfMemory : std::bad_alloc {
  char text[80];
  explicit OutOfMemory(std::size_t bytes) {
    std::snprintf(text, sizeof text, "out of memory: the system refused %zu bytes", bytes);
  }
  const char* what() const noexcept override { return text; }
};

// False while the initialisers of shared libraries run, before those of the program: nothing catches what they throw, and
// the C++ library may have too little memory to throw at all.
bool can_throw = false;
__attribute__((constructor)) void note_that_libraries_are_loaded() { can_throw = true; }

}  // namespace

void* operator new(std::size_t bytes) {
  if (void* block = std::malloc(std::max<std::size_t>(bytes, 1))) return block;
  if (can_throw) throw OutOfMemory(bytes);
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, OutOfMemory(bytes).text);
  std::_Exit(1);
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
#endif
