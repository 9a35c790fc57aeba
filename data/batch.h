#pragma once
#include <heed/autograd/array.h>

#include <cstdint>
#include <vector>

namespace heed {

/// B texts of at most T tokens, padded with any id, with questions and labels where there are any: one type from the reader of a
/// file to the loss.
///
///     const Batch texts{.tokens = Ids({2, 5}, ids)};
///     const Tensor each_token = model.logits(texts);               // (2, 5, vocabulary)
///     const Tensor mean_loss = model.loss(examples.batch(0, 64));  // with questions and their answers
struct Batch {
  Ids tokens;                  ///< (B, T)
  std::vector<int> lengths{};  ///< (B); empty: T each
  Ids segments{};              ///< (B, T): token types or sentence numbers; empty: all 0
  Ids query{};                 ///< (B): the token at which each text is asked; empty: no questions
  Ids candidates{};            ///< (B, C, 2): begin and end of each candidate, -1 for padding; empty: none

  // Labels; -1 marks a missing one.
  Ids answer{};  ///< (B): the number of the word that answers the question, or of the text's class
  Ids chosen{};  ///< (B): the index of the correct candidate
  /// (B T) or (B, T): the token to predict at each token. They are not shifted: to predict the next token, targets[t] is tokens[t + 1];
  /// to predict hidden tokens, it is the token that was hidden at t. Targets behind a text's length do not count.
  Ids targets{};

  /// Returns B.
  std::int64_t size() const { return tokens.shape()[0]; }
  /// Returns segments, or zeros if empty. Throws `Error` when they are not (B, T).
  Ids segments_or_zero() const;
  /// Returns lengths, or T for each text if empty.
  std::vector<int> lengths_in_tokens() const;
  /// Returns targets, with -1 behind the length of each text. Throws `Error` when a text has no length or no targets.
  Ids targets_in_texts() const;
};

/// Returns the rows of part `part` of `parts` equal parts, padded like the whole batch. Throws `Error` when the parts are
/// unequal.
Batch part_of(const Batch& batch, int part, int parts);

}  // namespace heed
