#pragma once
#include "tokenizers/pipeline/aligned_text.h"
#include "tokenizers/pipeline/part.h"
#include "tokenizers/pipeline/regex.h"

namespace heed::tokenizers {

/// Returns the regular expression of a key "pattern": {"String": TEXT} or {"Regex": PATTERN}.
Regex pattern_of(const Part& part);

/// Replaces the matches of the key "pattern" of a part by the text of its key "content".
class Replacement {
 public:
  explicit Replacement(const Part& part) : pattern_(pattern_of(part)), content_(part.text("content")) {}
  AlignedText operator()(const AlignedText& text) const;
  std::string operator()(const std::string& text) const;

 private:
  Regex pattern_;
  std::string content_;
};

}  // namespace heed::tokenizers
