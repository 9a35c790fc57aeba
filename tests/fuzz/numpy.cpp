// A file of NumPy is rejected, or survives writing and reading.
#include "tests/fuzz/fuzz.h"

#include <heed/formats/numpy.h>

using namespace heed;

void heed::fuzz::numpy(std::string_view input) {
  static const fuzz::MemoryFile file;
  NamedTensors arrays;
  const bool is_archive = input.starts_with("PK");
  if (!fuzz::accepts([&] {
        if (is_archive) {
          arrays = parse_npz(input, "f");
        } else {
          arrays = {{"x", parse_npy(input, "f")}};
        }
      })) {
    return;
  }
  fuzz::accepts([&] { parse_npy_ids(input, "f"); });
  const std::filesystem::path path = file.path("");
  NamedTensors again;
  if (!fuzz::accepts([&] { write_npz(path, arrays); })) return;
  again = read_npz(path);
  fuzz::demand(again.size() == arrays.size(), "the number of arrays is unchanged");
  for (std::size_t i = 0; i < again.size(); ++i) {
    const Tensor &before = arrays[i].second, &after = again[i].second;
    fuzz::demand(
        again[i].first == arrays[i].first && before.shape() == after.shape() && before.dtype() == after.dtype(),
        "name, shape and dtype are unchanged");
  }
}
