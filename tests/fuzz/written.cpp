// Tensors with arbitrary names, shapes and metadata are rejected, or survive writing and reading.
#include "tests/fuzz/fuzz.h"

#include <heed/formats/safetensors.h>

#include <cstring>
#include <vector>

using namespace heed;

namespace {

// Takes values from the input; after its end, zeros and empty strings.
class Given {
 public:
  explicit Given(std::string_view input) : rest_(input) {}
  // Returns a number from 0 to `largest`, which is below 255.
  int up_to(int largest) {
    const std::string byte = bytes(1);
    return byte.empty() ? 0 : static_cast<unsigned char>(byte[0]) % (largest + 1);
  }
  float number() {
    float value = 0;
    const std::string stored = bytes(sizeof(value));
    std::memcpy(&value, stored.data(), stored.size());
    return value;
  }
  std::string text(int longest) { return bytes(static_cast<std::size_t>(up_to(longest))); }

 private:
  std::string bytes(std::size_t count) {
    const std::string taken(rest_.substr(0, count));
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view rest_;
};

}  // namespace

void heed::fuzz::written(std::string_view input) {
  static const fuzz::MemoryFile file;
  Given given(input);
  SafeTensors content;
  for (int count = given.up_to(4); count > 0; --count) {
    Shape shape;
    for (int rank = given.up_to(4); rank > 0; --rank) {
      shape.append(given.up_to(5));
    }
    const DType dtype = given.up_to(1) == 1 ? DType::float32 : DType::float64;
    std::vector<double> values(static_cast<std::size_t>(shape.numel()));
    for (double& value : values) value = given.number();
    content.tensors.emplace_back(given.text(20), tensor(shape, values, dtype));
  }
  for (int count = given.up_to(3); count > 0; --count) {
    content.metadata[given.text(20)] = given.text(60);
  }
  content.metadata.erase("heed.digest");  // write_safetensors writes it
  const std::filesystem::path path = file.path("");
  if (!fuzz::accepts([&] { write_safetensors(path, content); })) return;
  const SafeTensors again = read_safetensors(path);
  fuzz::demand(again.has_digest && again.metadata == content.metadata, "the metadata is unchanged");
  fuzz::demand(again.tensors.size() == content.tensors.size(), "the number of tensors is unchanged");
  for (std::size_t i = 0; i < again.tensors.size(); ++i) {
    fuzz::demand(again.tensors[i].first == content.tensors[i].first, "the names are unchanged");
    fuzz::demand(again.tensors[i].second.to_vector().size() == content.tensors[i].second.to_vector().size(),
                 "the number of values is unchanged");
  }
}
