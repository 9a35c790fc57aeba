#pragma once
#include "explain/internal/text_reader.h"

#include <heed/autograd/random.h>

namespace heed {

/// Drafts pairs of induction: random words of the model, and a second copy of their beginning.
///
///     const PairDraft draft = TokenRepeater(model, reader, PairLanguage::english).draw(random);
class TokenRepeater {
 public:
  /// The reader must outlive this object. Throws `Error` where too few words are single tokens, and where the texts exceed what the model
  /// reads.
  TokenRepeater(const Model& model, const TextReader& reader, PairLanguage language);

  PairDraft draw(Random& random) const;
  std::string counts() const;  ///< returns how many words there are: "40 words"

 private:
  std::string repeated(std::vector<std::string> words, const std::vector<std::string>& second) const;

  const TextReader& reader_;
  std::string space_, before_;
  std::vector<std::string> words_{};
};

}  // namespace heed
