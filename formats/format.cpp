#include "formats/internal/format.h"

#include "formats/hugging_face/pretrained.h"

#include <heed/formats/gguf.h>
#include <heed/formats/hugging_face.h>

namespace heed {

std::span<const Format> formats() {
  static constexpr Format all[] = {
      {adapter_directory, read_adapter, "tokenizer.json"},
      {hugging_face_directory, read_hugging_face, "tokenizer.json"},
      {[](const std::filesystem::path& path) { return is_gguf(path) ? path : std::filesystem::path(); }, read_gguf,
       "tokenizer.ggml.model"},
  };
  return all;
}

}  // namespace heed
