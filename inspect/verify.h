#pragma once
#include <filesystem>
#include <string>

namespace heed {

// Reads every file of a run, and says of each whether it is whole: "model.safetensors  whole". Error with the same list
// where one is not.
std::string verify(const std::filesystem::path& run);

}  // namespace heed
