#pragma once
#include <heed/explain/generated_pairs.h>

#include <optional>
#include <string>
#include <vector>

namespace heed {

/// The two texts of a pair up to their answers, with right and wrong answers to the first.
struct PairDraft {
  std::string clean, corrupted, tail, space, group;
  std::vector<std::string> answer, wrong;
};

/// Reads texts of generate_pairs() as the model does, which must outlive this object.
///
///     const TextReader reader(model, PairLanguage::english);
///     reader.added_token("the", " cat");   // the token of " cat", if it is one
class TextReader {
 public:
  TextReader(const Model& model, PairLanguage language);

  bool has_mask() const { return !mask_.empty(); }
  const std::string& space() const { return space_; }  ///< between words
  /// Returns a text up to its answer as the model is asked, with a mask for the answer if it fills masks.
  std::string asked(const std::string& text, const std::string& space, const std::string& tail) const;
  /// Returns the one token that `more` adds to those of a text, as the function of this name does.
  std::optional<int> added_token(const std::string& text, const std::string& more) const;
  /// Returns the tokens of a text as the model is asked; none where it cannot be.
  std::vector<std::string> tokens_of(const std::string& text) const;
  /// Returns whether read_pairs() takes `answer` for the token with which the text goes on.
  bool is_answer(const std::string& text, const std::string& space, const std::string& tail,
                 const std::string& answer) const;

 private:
  const Model& model_;
  std::string space_, mask_;
};

}  // namespace heed
