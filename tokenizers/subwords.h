#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

/// Subwords learned from a text by byte-pair encoding (Sennrich et al. 2016, arXiv:1508.07909) with SentencePiece (Kudo
/// & Richardson 2018, arXiv:1808.06226). Bytes without a subword, such as line ends, become the tokens <0x00> to <0xFF>.
/// A handle: copies share the model.
class Subwords {
 public:
  /// Learns about `size` subwords, including the bytes, from the concatenated `texts`. The same texts give the same
  /// subwords. Throws Error when the texts are too short for that many, or have too many characters for so few.
  static Subwords learn(const std::vector<std::string_view>& texts, int size);
  explicit Subwords(const std::string& model);  ///< reads the result of model(); throws Error for anything else

  const std::string& model() const& { return model_; }               ///< SentencePiece's file format
  const std::vector<std::string>& words() const& { return words_; }  ///< by number; bytes as <0x00>, others as text
  std::string model() && { return std::move(model_); }               ///< of a temporary: its text itself
  std::vector<std::string> words() && { return std::move(words_); }  ///< of a temporary: its list itself
  /// Returns the subwords of any bytes, in order. Their concatenation is the text.
  void each(std::string_view text, const std::function<void(std::string_view word)>& visit) const;

 private:
  struct Processor;
  std::shared_ptr<const Processor> processor_;
  std::string model_;
  std::vector<std::string> words_;
};

}  // namespace heed
