#include "autograd/cpu/blocks.h"
#include "formats/gguf/gguf_config.h"
#include "formats/hugging_face/pretrained.h"
#include "formats/internal/model_size.h"

#include <heed/autograd/ops.h>
#include <heed/files/utf8.h>
#include <heed/formats/gguf.h>

#include <fstream>
#include <memory>
#include <string>

namespace heed {
namespace {

// Returns the rows of queries or keys in the order before llama.cpp put the two halves of each rotated pair side by
// side. The bytes of a row stay as they are.
Tensor without_permutation(const Tensor& stored, std::int64_t heads) {
  const Tensor rows = stored.rank() == 1 ? stored.to(DType::float32) : stored;  // rows of whole blocks
  const std::int64_t count = rows.size(0), pairs = count / (2 * heads);
  const auto bytes = static_cast<std::size_t>(rows.bytes() / count);
  const auto* const from = reinterpret_cast<const char*>(cpu::blocks_of(rows).bytes);
  const auto moved = std::make_shared<std::string>();
  for (std::int64_t head = 0; head < heads; ++head) {
    for (std::int64_t row = 0; row < 2 * pairs; ++row) {
      const std::int64_t half = row / pairs, pair = row % pairs;
      moved->append(from + static_cast<std::size_t>((head * pairs + pair) * 2 + half) * bytes, bytes);
    }
  }
  const Tensor result(rows.shape(), rows.dtype(), moved->data(), moved);
  note_finite(result);  // as `stored`, which was checked
  return result;
}

}  // namespace

bool is_gguf(const std::filesystem::path& path) {
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(path, unreadable)) return false;
  if (path.extension() == ".gguf") return true;
  char first[4] = {};
  std::ifstream(path, std::ios::binary).read(first, sizeof first);
  return std::string_view(first, sizeof first) == "GGUF";
}

Model load_gguf(const std::filesystem::path& path, const Loading& loading) { return read_gguf(path, &loading); }

Model read_gguf(const std::filesystem::path& path, const Loading* loading) {
  GgufFile file(path);
  const Json config = config_of_gguf(file);
  const std::vector<GgufTensor> tensors = tensors_of_gguf(file, config);
  std::vector<WeightFiles::Entry> entries;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::int64_t heads = tensors[i].permuted_heads, rows = tensors[i].stored.shape[0];
    if (heads > 0 && (heads > rows || rows % (2 * heads) != 0)) {
      fail("{}: tensor '{}' has {} rows, which {} heads cannot share in pairs", file.path(),
           excerpt(tensors[i].stored.name), rows, heads);
    }
    entries.push_back({tensors[i].stored, file.path(), i});
  }
  const auto read = [&](const WeightFiles::Entry& entry) {
    const GgufTensor& tensor = tensors[entry.file];
    const StoredTensor& stored = file.tensors()[tensor.index];
    Tensor values = loading->mapped ? file.map(stored) : file.read(stored);
    check_finite(stored.name, values, file.path());  // under its name in the file
    if (tensor.permuted_heads > 0) values = without_permutation(values, tensor.permuted_heads);
    return tensor.is_transposed ? transpose(values) : values;
  };
  ConfigReader json(config, file.path());
  Model model = load_pretrained(json, WeightFiles(entries, read), file.path(), loading);
  const std::string tokenizer = tokenizer_of_gguf(file);
  set_tokenizer(model, tokenizer.empty() ? std::nullopt : std::optional(tokenizer), file.path());
  model.pretrained_config = config.dump();
  model.end_tokens = read_end_tokens(config, model.vocabulary.size());
  return model;
}

}  // namespace heed
