#pragma once
#include "formats/gguf/gguf_file.h"

#include <heed/tokenizers/pretrained_tokenizer.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace heed {

/// The bytes of a GGUF file, version 3: metadata, a directory of tensors, and their numbers, which are made while they are written.
class GgufWriter {
 public:
  void text(const std::string& key, const std::string& value);
  void number(const std::string& key, std::int64_t value);  // uint32
  void real(const std::string& key, double value);          // float32
  void flag(const std::string& key, bool value);
  void texts(const std::string& key, const std::vector<std::string>& values);
  void numbers(const std::string& key, const std::vector<std::int32_t>& values);
  void reals(const std::string& key, const std::vector<float>& values);

  /// Adds a tensor (rows, columns) or (columns) of a type of StoredTensor; `numbers` returns its float32 values, row-major.
  void tensor(const std::string& name, const Shape& shape, const std::string& type, std::function<Tensor()> numbers);

  /// Writes the file, one tensor after the other.
  void write(const std::filesystem::path& path) const;

  /// Returns whether a tensor with such rows can have a type: blocks must fill them.
  static bool fits(const Shape& shape, const std::string& type);

 private:
  struct Planned {
    std::string name;
    Shape shape;
    std::string type;
    std::uint64_t bytes;
    std::function<Tensor()> numbers;
  };
  void entry(const std::string& key, std::uint32_t type);

  std::string metadata_, directory_;
  std::uint64_t entries_ = 0, data_ = 0;
  std::vector<Planned> tensors_;
};

/// Writes the tokenizer of a model. Throws `Error` for one that GGUF cannot express.
void write_tokenizer(GgufWriter& writer, const PretrainedTokenizer& tokenizer, int vocabulary,
                     const std::vector<std::int32_t>& end_tokens);

}  // namespace heed
