#pragma once
#include "tests/message.h"
#include "tests/scratch.h"
#include "tokenizers/internal/json.h"

#include <heed/explain/golden.h>
#include <heed/files/file.h>
#include <heed/formats/hugging_face.h>
#include <heed/formats/safetensors.h>

#include <algorithm>
#include <filesystem>
#include <string>

namespace heed {

const std::filesystem::path golden_models = "tests/golden/hugging_face";

/// A copy of one of the golden models, to be changed.
class CopiedModel {
 public:
  explicit CopiedModel(const std::string& name) : golden_(golden_models / name / "golden.safetensors") {
    std::filesystem::copy(golden_models / name, path());
  }
  const std::filesystem::path& path() const { return scratch_.path; }

  /// Changes config.json, an object.
  template <class Change>
  CopiedModel& config(const Change& change) {
    Json json = parse_json(read_file(path() / "config.json"));
    change(json);
    write_file(path() / "config.json", json.dump());
    return *this;
  }
  /// Changes the tensors of a file.
  template <class Change>
  CopiedModel& tensors(const Change& change, const std::string& file = "model.safetensors") {
    SafeTensors content = read_safetensors(path() / file);
    change(content.tensors);
    write_safetensors(path() / file, content);
    return *this;
  }

  /// Returns the message of the Error that loading throws, with DIR in place of the directory.
  std::string refused() const {
    std::string text = message([&] { load_model(path()); }, path().string());
    for (std::size_t at = 0; (at = text.find("FILE", at)) != text.npos;) text.replace(at, 4, "DIR");
    return text;
  }
  /// Returns the largest relative difference from the golden values, in float64.
  double difference() const {
    double largest = 0;
    for (const GoldenDifference& row : golden_differences(in_float64(load_model(path())), golden_)) {
      largest = std::max(largest, row.relative());
    }
    return largest;
  }

 private:
  Scratch scratch_;
  std::filesystem::path golden_;
};

/// Returns the tensor of this name.
inline std::pair<std::string, Tensor>& tensor_of(NamedTensors& tensors, const std::string& name) {
  for (auto& tensor : tensors) {
    if (tensor.first == name) return tensor;
  }
  fail("the file has no tensor '{}'", name);
}

}  // namespace heed
