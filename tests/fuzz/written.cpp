// Tensors with arbitrary names, shapes and metadata are rejected, or survive writing and reading.
#include "tests/fuzz/fuzz.h"

#include <heed/files/safetensors.h>

#include <fuzzer/FuzzedDataProvider.h>

using namespace heed;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::MemoryFile file;
  FuzzedDataProvider given(data, size);
  SafeTensors content;
  for (int count = given.ConsumeIntegralInRange(0, 4); count > 0; --count) {
    Shape shape;
    for (int rank = given.ConsumeIntegralInRange(0, 4); rank > 0; --rank) {
      shape.append(given.ConsumeIntegralInRange(0, 5));
    }
    const DType dtype = given.ConsumeBool() ? DType::float32 : DType::float64;
    std::vector<double> values(static_cast<std::size_t>(shape.numel()));
    for (double& value : values) value = given.ConsumeFloatingPoint<float>();
    content.tensors.emplace_back(given.ConsumeRandomLengthString(20), tensor(shape, values, dtype));
  }
  for (int count = given.ConsumeIntegralInRange(0, 3); count > 0; --count) {
    content.metadata[given.ConsumeRandomLengthString(20)] = given.ConsumeRandomLengthString(60);
  }
  content.metadata.erase("heed.digest");  // write_safetensors writes it
  const std::filesystem::path path = file.path("");
  if (!fuzz::accepts([&] { write_safetensors(path, content); })) return 0;
  const SafeTensors again = read_safetensors(path);
  fuzz::demand(again.has_digest && again.metadata == content.metadata, "the metadata is unchanged");
  fuzz::demand(again.tensors.size() == content.tensors.size(), "the number of tensors is unchanged");
  for (std::size_t i = 0; i < again.tensors.size(); ++i) {
    fuzz::demand(again.tensors[i].first == content.tensors[i].first, "the names are unchanged");
    fuzz::demand(again.tensors[i].second.to_vector().size() == content.tensors[i].second.to_vector().size(),
                 "the number of values is unchanged");
  }
  return 0;
}
