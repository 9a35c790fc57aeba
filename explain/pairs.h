#pragma once
#include <heed/models/model.h>
#include <heed/models/reading.h>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace heed {

/// A text, a text that differs from it in what a behaviour depends on, and the answers to the first.
struct TextPair {
  Example clean, corrupted;       ///< as question() reads them; as many tokens
  std::vector<int> right, wrong;  ///< indices of logits of the answers to `clean` that count for and against
  std::string group{};            ///< of paraphrases, or kind of the pair; empty: none

  std::size_t first_difference() const;  ///< returns the number of tokens with which both texts begin
};

/// Returns whether what a model computes at a token, its answer there included, depends on this token and earlier ones alone.
bool answers_from_earlier_tokens(const Model& model);

/// Reads pairs, one object per line: {"clean": "When Mary and John went out, John spoke to", "corrupted": "When Mary and John went
/// out, Mary spoke to", "answer": "Mary", "wrong": "John"}. `answer` and `wrong` may be lists. Optional keys: "query", the token at
/// which both texts are asked (as of question()), and "group". A text may be the list of the ids of its tokens, and its answers ids,
/// too. Classes may be their numbers. Answers are as for answer_index(). Blank lines are skipped, and so is a pair that repeats an
/// earlier one. Throws `Error` with all mistakes of the file, by line.
///
///     const std::vector<TextPair> pairs = read_pairs(model, "ioi.jsonl");
std::vector<TextPair> read_pairs(const Model& model, const std::filesystem::path& file);

/// Returns the index of the logit of an answer to `text`, which was read as `clean`: a candidate, a word, or one token of a model that
/// predicts tokens. It is the token with which the text continues behind a space, where that is one token, else without it; the other
/// way round for a digit behind a digit and for Chinese and Japanese characters. Throws `Error` for other answers.
int answer_index(const Model& model, const std::string& text, const Example& clean, const std::string& answer);

/// Returns the minimal pairs among examples, each in both directions: the corrupted text of one is the clean text of the other. Both
/// have one group. A pair that repeats an earlier one is left out.
std::vector<TextPair> minimal_pairs(const Model& model, const std::vector<Example>& examples);

/// Keeps `most` of the pairs, evenly from first to last, since files are often sorted by kind, and one more where a pair would lose the
/// other direction of it that follows. 0: keeps all.
void keep_evenly(std::vector<TextPair>& pairs, std::size_t most);

/// Pairs of one length.
struct PairBatch {
  Batch clean, corrupted;                      ///< B texts each
  std::vector<std::vector<int>> right, wrong;  ///< of each pair
  std::vector<std::size_t> pairs;              ///< indices in the list
};

/// Returns all pairs in batches of at most `max_pairs` pairs of one length, those that begin to differ early first.
std::vector<PairBatch> pair_batches(const Model& model, std::span<const TextPair> pairs, std::size_t max_pairs);

/// Returns the words that are answers in a batch of a model that answers with words, and makes `right` and `wrong` places in this
/// list: the indices of their logits where no other word has one. For a model that chooses among candidates or classes it
/// returns an empty list, and changes nothing.
Ids keep_answers(const Model& model, PairBatch& batch);

/// Returns logsumexp of the logits of the right answers, minus that of the wrong ones: (B, answers) -> (B). With one answer each it
/// is the logit difference.
Tensor log_odds(const Tensor& logits, const PairBatch& batch);
/// Returns these figures as numbers. Throws NotFinite that begins with `where` when one is infinite or NaN.
std::vector<double> finite_log_odds(const Tensor& logits, const PairBatch& batch, const char* where);

}  // namespace heed
