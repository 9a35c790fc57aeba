#pragma once
#include <heed/autograd/random.h>
#include <heed/data/batch.h>
#include <heed/data/corpus.h>
#include <heed/data/vocabulary.h>
#include <heed/files/text_file.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

/// The tokens [begin, end).
struct Span {
  int begin = 0, end = 0;
  bool operator==(const Span&) const = default;  ///< compares both ends
};

/// Maximum number of candidates per sentence.
constexpr int max_candidates = 100;

/// A text with one question: which word, or which candidate, does token `query` refer to?
struct Example {
  std::vector<std::string> tokens;
  int query = 0;
  int antecedent = -1;     ///< the token that the answer refers to, or -1
  int distractor = -1;     ///< the other candidate's token, or -1
  std::string answer{};    ///< the word to predict: tokens[antecedent] for coreference
  std::string cue{};       ///< the cue word, which decides (the adjective), one of the tokens; empty if unknown
  std::string relation{};  ///< kind of question ("pronoun", "adjective", ...), for tables
  int counterpart = -1;    ///< index of the counterpart, which differs only in the cue word, in the same set; or -1
  std::vector<int> sentences{};  ///< for each token, the number of sentences before the question's sentence; or empty
  /// Candidate spans, and the index of the correct one (-1: none of them). `antecedent` is the last token of the correct
  /// span, and `distractor` that of the other if there are two.
  std::vector<Span> candidates{};
  int chosen = -1;
  SourceLine source{};
  bool operator==(const Example&) const = default;  ///< compares every field
};

/// Returns the index of the first token equal to `word`, or -1.
int index_of(std::string_view word, const std::vector<std::string>& tokens);

/// Makes candidate `chosen` (or none of them, -1) the answer, and updates antecedent, distractor and answer. Throws Error when
/// there is no such candidate.
void choose(Example& example, int chosen);

/// Returns the text of `span`: its tokens, joined by spaces unless they hold their spaces, as subwords do. WordPiece tokens
/// are joined to words: "bass", "##oon" become "bassoon".
std::string text_of(const Example& example, Span span);

/// A task: training and held-out examples, and their vocabulary.
struct Task {
  std::string name;
  std::vector<Example> train, held_out;
  Vocabulary vocabulary;  ///< all words of both sets
  int max_length = 0;     ///< tokens of the longest text
  int max_sentences = 0;  ///< 0: texts are not divided into sentences
  /// The text of a language model. `train` is then empty, and `held_out` holds excerpts to look at.
  std::optional<Corpus> corpus{};
  std::size_t known_left_out = 0;  ///< held-out sentences that were removed because they are also in the training set
  std::vector<std::string> known_texts{};  ///< held-out files whose whole text is a part of the training text
  std::size_t alike_left_out = 0;          ///< sentences that were removed because two candidates have the same tokens
};

/// Examples as numbers, ready for batches. antecedent and counterpart have the meaning of Example.
///
///     const NumberedExamples examples(task.train, task.vocabulary);
///     const Batch batch = examples.batch(batch_order(examples.size(), 64, step, random));
class NumberedExamples {
 public:
  NumberedExamples() = default;
  /// Throws Error for a word outside the vocabulary, for an example without an answer or with a query beyond its tokens, and when
  /// only some of the texts have sentence numbers or candidates.
  /// `classes` are the answers of a model that tells the class of a text; empty: answers are words.
  NumberedExamples(const std::vector<Example>& examples, const Vocabulary& vocabulary,
                   const std::vector<std::string>& classes = {});

  /// Returns the number of examples.
  std::int64_t size() const { return std::ssize(query_); }
  Batch batch(const std::vector<int>& chosen) const;        ///< the examples with these indices
  Batch batch(std::int64_t first, std::int64_t end) const;  ///< the examples [first, end)
  std::vector<Batch> batches(std::int64_t most) const;      ///< all examples in order, at most `most` per batch
  /// Return the fields of example n.
  int antecedent(std::int64_t n) const { return antecedent_[static_cast<std::size_t>(n)]; }
  Span antecedent_span(std::int64_t n) const;  ///< all tokens of the antecedent's candidate
  int counterpart(std::int64_t n) const {
    return counterpart_[static_cast<std::size_t>(n)];
  }  ///< index of its counterpart, or -1

 private:
  std::vector<std::int32_t> tokens_, sentences_;  // concatenated over the examples; sentences_ may be empty
  std::vector<std::size_t> end_;                  // end of each example in tokens_
  std::vector<std::int32_t> query_, answer_, antecedent_, counterpart_;
  std::vector<std::vector<Span>> candidates_;  // empty, or one list per example
  std::vector<std::int32_t> chosen_;
};

/// Returns the indices of the examples in batch `step` (0, 1, ...) of an endless sequence of shuffled passes over
/// `count` examples. It depends only on (random, step), so a resumed run sees the same data.
/// Throws `Error` for a negative step, and without an example in the set or in a batch.
std::vector<int> batch_order(std::int64_t count, int batch_size, std::int64_t step, const Random& random);

/// Sets vocabulary, max_length and max_sentences from the two sets.
void complete(Task& task);

/// Links minimal pairs: examples whose tokens differ in one word, with the same query and a different antecedent and
/// answer. The counterpart's antecedent becomes the distractor if that is unknown. Takes O(n log n) time in the number
/// of tokens.
void pair_counterparts(std::vector<Example>& examples);

/// Appends a set to another one and shifts the indices of its counterparts.
template <class Sentence>
void append_set(std::vector<Sentence>& all, std::vector<Sentence> more) {
  const int before = static_cast<int>(all.size());
  for (Sentence& one : more) {
    if (one.counterpart >= 0) one.counterpart += before;
    all.push_back(std::move(one));
  }
}

/// Returns a hash of an example's tokens and query. It is the same for repetitions, whatever their answers are.
std::uint64_t question_number(const Example& example);

/// Returns groups of each example, its counterpart and the repetitions of both, in the order of the first of them. Repetitions have
/// equal numbers. Both of a pair are adjacent; an example whose counterpart is in another group loses the link.
std::vector<std::vector<Example>> with_counterparts(
    const std::vector<Example>& examples, const std::function<std::uint64_t(const Example&)>& number = question_number);

/// The part of a set that is held out: one of `of` parts, counted from 1. All parts together are the set.
struct Fold {
  int number = 1, of = 10;
};

/// Holds out a part of the groups, chosen by `random`. Groups (minimal pairs, stories) stay together. Adjacent examples of a group
/// that have counterparts are a pair, and refer to each other in their new set. Throws Error when there are fewer groups than parts
/// to train on and to hold out.
void hold_out(Task& task, std::vector<std::vector<Example>> groups, Fold fold, Random random);

/// A control: replaces each answer with the distractor with probability 1/2, or with any candidate, equally likely
/// (including none of them, if the set has such answers). Throws Error for an example without distractor and candidates.
void shuffle_antecedents(std::vector<Example>& examples, const Random& random);

}  // namespace heed
