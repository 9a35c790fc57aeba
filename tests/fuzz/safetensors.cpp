// A safetensors file is rejected, or survives writing and reading.
#include "tests/fuzz/fuzz.h"

#include <heed/formats/safetensors.h>

#include <cstring>

using namespace heed;

void heed::fuzz::safetensors(std::string_view input) {
  static const fuzz::MemoryFile file;
  SafeTensors content;
  if (!fuzz::accepts([&] { content = parse_safetensors(input, "f"); })) return;
  std::size_t bytes = 0;
  for (const auto& [name, tensor] : content.tensors) bytes += static_cast<std::size_t>(tensor.numel());
  fuzz::demand(bytes <= input.size(), "there are at most as many numbers as bytes");
  const std::filesystem::path path = file.path("");
  write_safetensors(path, content);
  const SafeTensors again = read_safetensors(path);
  fuzz::demand(again.has_digest && again.metadata == content.metadata, "the metadata is unchanged");
  fuzz::demand(again.tensors.size() == content.tensors.size(), "the number of tensors is unchanged");
  for (std::size_t i = 0; i < again.tensors.size(); ++i) {
    const std::string& name = content.tensors[i].first;  // clang 14 captures no structured binding
    const Tensor& tensor = content.tensors[i].second;
    fuzz::demand(again.tensors[i].first == name && again.tensors[i].second.shape() == tensor.shape() &&
                     again.tensors[i].second.dtype() == tensor.dtype(),
                 "name, shape and dtype are unchanged");
    const std::size_t length = static_cast<std::size_t>(tensor.numel());
    dispatch(tensor.dtype(), [&]<class T>() {
      fuzz::demand(
          length == 0 || std::memcmp(tensor.data<T>(), again.tensors[i].second.data<T>(), length * sizeof(T)) == 0,
          "the numbers are unchanged");
    });
  }
}
