#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

// Pieces of words, learned from a text by byte-pair encoding (Sennrich et al. 2016, arXiv:1508.07909), by SentencePiece (Kudo &
// Richardson 2018, arXiv:1808.06226). Whatever they do not cover is cut into bytes: <0x00> to <0xFF>, line ends among them.
// A handle: copies share what was learned.
class Subwords {
 public:
  // Of `texts`, one after another: about `size` pieces, the bytes among them. The same for the same texts. Error where they
  // have too little for so many, or too many characters for so few.
  static Subwords learn(const std::vector<std::string_view>& texts, int size);
  explicit Subwords(const std::string& model);  // what model() gave; Error for anything else

  const std::string& model() const { return model_; }               // SentencePiece's own file
  const std::vector<std::string>& words() const { return words_; }  // by number, each as it is written, but for bytes
  // The words of any bytes, in their order: as they are written one after another, they are the text.
  void each(std::string_view text, const std::function<void(std::string_view word)>& visit) const;

 private:
  struct Processor;
  std::shared_ptr<const Processor> processor_;
  std::string model_;
  std::vector<std::string> words_;
};

}  // namespace heed
