#pragma once
#include <heed/autograd/array.h>
#include <heed/autograd/random.h>
#include <heed/data/corpus.h>
#include <heed/data/tokenize.h>
#include <heed/data/vocabulary.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

// A text with one question: at token `query`, which word is meant?
struct Example {
  std::vector<std::string> tokens;
  int query = 0;
  int antecedent = -1;         // the token that the answer refers to; -1 when there is none
  int distractor = -1;         // the token that it might have been; -1 when there is none
  std::string answer;          // the word to predict: tokens[antecedent] for coreference
  std::string decider;         // the word that decides (the adjective), one of the tokens; empty when unknown
  std::string relation;        // kind of question ("pronoun", "adjective", ...), for tables
  int twin = -1;               // the same text but for the decider, in the same set; -1 when there is none
  std::vector<int> sentences;  // number of each token's sentence counted back from the question's, or empty
  bool operator==(const Example&) const = default;
};

// The index of the first token that is `word`; -1 when there is none.
int index_of(std::string_view word, const std::vector<std::string>& tokens);

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
};

// B examples, padded to the longest among them (T), or B windows of a corpus.
struct Batch {
  Ids tokens;                // (B, T)
  Ids next{};                // (B T), of a corpus: what follows each token; -1 where that does not count
  std::vector<int> lengths;  // (B)
  Ids query;                 // (B)
  Ids answer;                // (B), word numbers
  Ids sentences;             // (B, T), (0) when undivided
};

// Examples in numbers, to make batches of; antecedent and twin as in Example.
class NumberedExamples {
 public:
  NumberedExamples() = default;
  // Error for a word that the vocabulary does not know, and where only some of the texts are divided into sentences.
  NumberedExamples(const std::vector<Example>& examples, const Vocabulary& vocabulary);

  // Number of examples.
  std::int64_t size() const { return std::ssize(query_); }
  Batch batch(const std::vector<int>& chosen) const;        // those of these numbers
  Batch batch(std::int64_t first, std::int64_t end) const;  // those from `first` to before `end`
  // Of example n, as in Example.
  int antecedent(std::int64_t n) const { return antecedent_[static_cast<std::size_t>(n)]; }
  int twin(std::int64_t n) const { return twin_[static_cast<std::size_t>(n)]; }

 private:
  std::vector<std::int32_t> tokens_, sentences_;  // of one example after another; no sentences when undivided
  std::vector<std::size_t> end_;                  // of each example in tokens_
  std::vector<std::int32_t> query_, answer_, antecedent_, twin_;
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

// Holds out a tenth of the groups, chosen by `random`; a group (twins, a story) stays together.
void hold_out_tenth(Task& task, std::vector<std::vector<Example>> groups, Random random);

// A control: each answer is, with probability 1/2, the distractor. Error for an example without one.
void shuffle_antecedents(std::vector<Example>& examples, const Random& random);

}  // namespace heed
