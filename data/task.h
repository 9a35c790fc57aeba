#pragma once
#include <heed/autograd/array.h>
#include <heed/autograd/random.h>
#include <heed/data/corpus.h>
#include <heed/data/tokenize.h>
#include <heed/data/vocabulary.h>
#include <heed/files/text_file.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

// Tokens from `begin` to before `end`.
struct Span {
  int begin = 0, end = 0;
  bool operator==(const Span&) const = default;
};

/// Candidates that a sentence may have.
constexpr int max_candidates = 100;

/// A text with one question: at token `query`, which word is meant, or which of the candidates?
struct Example {
  std::vector<std::string> tokens;
  int query = 0;
  int antecedent = -1;           // the token that the answer refers to; -1 when there is none
  int distractor = -1;           // the token that it might have been; -1 when there is none
  std::string answer{};          // the word to predict: tokens[antecedent] for coreference
  std::string decider{};         // the word that decides (the adjective), one of the tokens; empty when unknown
  std::string relation{};        // kind of question ("pronoun", "adjective", ...), for tables
  int twin = -1;                 // the same text but for the decider, in the same set; -1 when there is none
  std::vector<int> sentences{};  // number of each token's sentence counted back from the question's, or empty
  // Places that may be meant, and which of them is; -1: none of them. Then `antecedent` is the last token of that one,
  // `distractor` that of the other where there are two.
  std::vector<Span> candidates{};
  int chosen = -1;
  SourceLine source{};
  bool operator==(const Example&) const = default;
};

// The index of the first token that is `word`; -1 when there is none.
int index_of(std::string_view word, const std::vector<std::string>& tokens);

// Makes candidate number `chosen`, or none of them (-1), the answer: antecedent, distractor and answer follow it.
void choose(Example& example, int chosen);

// Its tokens with spaces between them.
std::string text_of(const Example& example, Span span);

// What is to be learned, and on what it is tested.
struct Task {
  std::string name;
  std::vector<Example> train, held_out;
  Vocabulary vocabulary;  // every word of both sets
  int max_length = 0;     // longest text
  int max_sentences = 0;  // 0: texts are not divided into sentences
  Tokenizer tokenizer{};  // of texts that are asked about later
  // What a language model learns from. Then `train` is empty, and `held_out` holds pieces to look at.
  std::optional<Corpus> corpus{};
  std::size_t known_left_out = 0;  // held-out sentences that are in the training set, too, and were left out
  std::size_t alike_left_out = 0;  // sentences of which two candidates are the same tokens, and which were left out
};

// B examples, padded to the longest among them (T), or B windows of a corpus.
struct Batch {
  Ids tokens;                // (B, T)
  Ids next{};                // (B T), of a corpus: what follows each token; -1 where that does not count
  std::vector<int> lengths;  // (B)
  Ids query;                 // (B)
  Ids answer;                // (B), word numbers; -1 where the vocabulary does not know the word
  Ids sentences;             // (B, T), (0) when undivided
  // Of examples with candidates, else (0): begin and end of each, -1 where an example has fewer; and which is meant, -1:
  // none of them.
  Ids candidates{};  // (B, C, 2)
  Ids chosen{};      // (B)
};

// Examples in numbers, to make batches of; antecedent and twin as in Example.
class NumberedExamples {
 public:
  NumberedExamples() = default;
  // Error for a word that the vocabulary does not know, and where only some of the texts are divided into sentences or
  // have candidates.
  NumberedExamples(const std::vector<Example>& examples, const Vocabulary& vocabulary);

  // Number of examples.
  std::int64_t size() const { return std::ssize(query_); }
  Batch batch(const std::vector<int>& chosen) const;        // those of these numbers
  Batch batch(std::int64_t first, std::int64_t end) const;  // those from `first` to before `end`
  std::vector<Batch> batches(std::int64_t most) const;      // all, in order, at most `most` in each
  // Of example n, as in Example.
  int antecedent(std::int64_t n) const { return antecedent_[static_cast<std::size_t>(n)]; }
  Span antecedent_span(std::int64_t n) const;  // all of its tokens: the candidate's
  int twin(std::int64_t n) const { return twin_[static_cast<std::size_t>(n)]; }

 private:
  std::vector<std::int32_t> tokens_, sentences_;  // of one example after another; no sentences when undivided
  std::vector<std::size_t> end_;                  // of each example in tokens_
  std::vector<std::int32_t> query_, answer_, antecedent_, twin_;
  std::vector<std::vector<Span>> candidates_;  // none, or of each example
  std::vector<std::int32_t> chosen_;
};

// The rows of part `part` of `parts` equal ones; T stays that of the whole batch. Error where they are not equal.
Batch part_of(const Batch& batch, int part, int parts);

// The numbers of the examples in batch `step` (0, 1, ...) of an endless walk over `count` examples, shuffled
// anew each time round: a function of (seed, step) alone, so that a resumed run sees the same data.
std::vector<int> batch_order(std::int64_t count, int batch_size, std::int64_t step, const Random& random);

// Fills in vocabulary, max_length and max_sentences from the two sets.
void complete(Task& task);

// Sets `twin` of examples with equal tokens but one, the same query, and different antecedent and answer; the
// antecedent of a twin is the distractor where none is known. Time O(n log n) in the number of tokens.
void pair_twins(std::vector<Example>& examples);

// Adds a set to another of its kind: the numbers of its twins are then those in the whole.
template <class Sentence>
void append_set(std::vector<Sentence>& all, std::vector<Sentence> more) {
  const int before = static_cast<int>(all.size());
  for (Sentence& one : more) {
    if (one.twin >= 0) one.twin += before;
    all.push_back(std::move(one));
  }
}

// Each example with its twin, in the order of the first of them.
std::vector<std::vector<Example>> with_twins(const std::vector<Example>& examples);

// Holds out a tenth of the groups, chosen by `random`; a group (twins, a story) stays together.
void hold_out_tenth(Task& task, std::vector<std::vector<Example>> groups, Random random);

// A control: each answer is, with probability 1/2, the distractor, or any of its candidates, each as likely (none of
// them, too, where the set has such answers). Error for an example without either.
void shuffle_antecedents(std::vector<Example>& examples, const Random& random);

}  // namespace heed
