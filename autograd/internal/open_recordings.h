#pragma once
#include <cstdint>

// The recordings that are open on any thread, by their numbers. Internal.
namespace heed::tape {

void note_opened(std::uint64_t recording);
void note_ended(std::uint64_t recording);
bool is_open(std::uint64_t recording);

}  // namespace heed::tape
