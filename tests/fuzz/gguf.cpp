// A GGUF file is rejected, or it gives a model and a tokenizer.
#include "formats/gguf/gguf_config.h"
#include "tests/fuzz/fuzz.h"

#include <heed/formats/gguf.h>

using namespace heed;

void heed::fuzz::gguf(std::string_view input) {
  static const fuzz::MemoryFile file;
  const std::filesystem::path path = file.path(input);
  fuzz::accepts([&] {
    const Model model = load_gguf(path);
    fuzz::demand(model.vocabulary.size() > 0, "a model has tokens");
  });
  fuzz::accepts([&] {
    const GgufFile opened(path);
    for (const StoredTensor& tensor : opened.tensors()) {
      fuzz::demand(opened.read(tensor).numel() > 0, "a tensor has numbers");
    }
  });
  fuzz::accepts([&] { tokenizer_of_gguf(GgufFile(path)); });
}
