#include "autograd/internal/open_recordings.h"

#include <mutex>
#include <set>

namespace heed::tape {
namespace {

std::mutex open_mutex;
std::set<std::uint64_t>& open_recordings() {
  static auto* const all = new std::set<std::uint64_t>;  // threads may end after the statics
  return *all;
}

}  // namespace

void note_opened(std::uint64_t recording) {
  const std::lock_guard lock(open_mutex);
  open_recordings().insert(recording);
}

void note_ended(std::uint64_t recording) {
  const std::lock_guard lock(open_mutex);
  open_recordings().erase(recording);
}

bool is_open(std::uint64_t recording) {
  const std::lock_guard lock(open_mutex);
  return open_recordings().contains(recording);
}

}  // namespace heed::tape
