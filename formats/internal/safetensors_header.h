#pragma once
#include <heed/formats/safetensors.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

constexpr std::uint64_t largest_safetensors_header = 100'000'000;  // the format's own limit
constexpr const char* safetensors_metadata_key = "__metadata__";

/// The content of the header of a safetensors file.
struct SafeTensorsHeader {
  std::vector<StoredTensor> tensors;  // in their order there
  std::map<std::string, std::string> metadata;
};

/// Returns the length of the header, from the first bytes of a file of `size` bytes. Throws `Error` when it is no such file.
std::uint64_t safetensors_header_length(std::string_view bytes, std::uint64_t size, const std::string& source);

/// Parses a header before `data_size` bytes of data. Throws `Error` unless its tensors cover the data exactly.
SafeTensorsHeader parse_safetensors_header(std::string_view header, std::uint64_t data_size, const std::string& source);

/// Widens the numbers of one tensor, which begin at `bytes`.
Tensor widened(const StoredTensor& tensor, const char* bytes);

}  // namespace heed
