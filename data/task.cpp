#include <heed/data/task.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <unordered_map>

namespace heed {
namespace {

std::uint64_t token_hash(std::size_t index, std::string_view token) {
  std::uint64_t h = fnv1a(token, (index + 1) * 0x9e3779b97f4a7c15U);
  h = (h ^ (h >> 31)) * 0xbf58476d1ce4e5b9U;
  return h ^ (h >> 29);
}

// Returns whether examples with different antecedents are counterparts.
bool are_counterparts(const Example& a, const Example& b) {
  if (a.query != b.query || a.tokens.size() != b.tokens.size()) return false;
  if (a.answer == b.answer) return false;
  int differences = 0;
  for (std::size_t i = 0; i < a.tokens.size(); ++i) differences += a.tokens[i] != b.tokens[i];
  return differences == 1;
}

// Returns the image of `index` under a pseudo-random permutation of {0, ..., count - 1}, without computing the others:
// a Feistel network over a power of 4, iterated until the result is below count (Black & Rogaway 2002, "Ciphers with
// arbitrary finite domains").
std::int64_t permuted(std::int64_t index, std::int64_t count, const Random& random) {
  const int half = (static_cast<int>(std::bit_width(static_cast<std::uint64_t>(count - 1))) + 1) / 2;
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  std::uint64_t x = static_cast<std::uint64_t>(index);
  do {
    for (std::uint64_t round = 0; round < 6; ++round) {
      const std::uint64_t left = x >> half, right = x & mask;
      x = right << half | (left ^ (random.bits_at(round << half | right) & mask));
    }
  } while (x >= static_cast<std::uint64_t>(count));
  return static_cast<std::int64_t>(x);
}

}  // namespace

int index_of(std::string_view word, const std::vector<std::string>& tokens) {
  const auto found = std::find(tokens.begin(), tokens.end(), word);
  return found == tokens.end() ? -1 : static_cast<int>(found - tokens.begin());
}

void choose(Example& example, int chosen) {
  if (chosen < -1 || chosen >= std::ssize(example.candidates))
    fail("choose: expected a candidate from 0 to {}, or -1, got {}", std::ssize(example.candidates) - 1, chosen);
  const auto last = [&](int n) { return example.candidates[static_cast<std::size_t>(n)].end - 1; };
  example.chosen = chosen;
  example.antecedent = chosen < 0 ? -1 : last(chosen);
  example.distractor = chosen < 0 || example.candidates.size() != 2 ? -1 : last(1 - chosen);
  example.answer = chosen < 0 ? "" : example.tokens[static_cast<std::size_t>(example.antecedent)];
}

std::string text_of(const Example& example, Span span) {
  const bool hold_spaces =
      std::ranges::any_of(example.tokens, [](const auto& token) { return token.starts_with(' '); });
  std::string text;
  for (int i = span.begin; i < span.end; ++i) {
    const std::string& token = example.tokens[static_cast<std::size_t>(i)];
    const bool continues = i > span.begin && token.size() > 2 && token.starts_with("##");
    text += continues || hold_spaces || i == span.begin ? "" : " ";
    text += continues ? token.substr(2) : token;
  }
  return text.starts_with(' ') ? text.substr(1) : text;
}

NumberedExamples::NumberedExamples(const std::vector<Example>& examples, const Vocabulary& vocabulary,
                                   const std::vector<std::string>& classes) {
  const bool divided = !examples.empty() && !examples.front().sentences.empty();
  const bool chooses = !examples.empty() && !examples.front().candidates.empty();
  for (const Example& example : examples) {
    if (example.sentences.size() != (divided ? example.tokens.size() : 0)) {
      fail("example {} has {} sentence numbers for {} tokens; expected one each, or none in the whole set", size(),
           example.sentences.size(), example.tokens.size());
    }
    if (example.candidates.empty() == chooses) {
      fail("example {} has {} candidates, the first has {}; expected some in each, or none in the whole set", size(),
           example.candidates.size(), examples.front().candidates.size());
    }
    if (chooses) candidates_.push_back(example.candidates);
    if (chooses) chosen_.push_back(example.chosen);
    for (const std::string& token : example.tokens) tokens_.push_back(vocabulary[token]);
    sentences_.insert(sentences_.end(), example.sentences.begin(), example.sentences.end());
    end_.push_back(tokens_.size());
    if (example.query < 0 || example.query >= std::ssize(example.tokens))
      fail("example {}: expected a query from 0 to {}, got {}", size(), std::ssize(example.tokens) - 1, example.query);
    query_.push_back(example.query);
    if (classes.empty()) {
      const bool no_word =
          (chooses && example.chosen < 0) || (vocabulary.unknown() && !vocabulary.contains(example.answer));
      if (!no_word && example.answer.empty()) fail("example {}: expected an answer, got none", size() - 1);
      answer_.push_back(no_word ? -1 : vocabulary[example.answer]);
    } else {
      answer_.push_back(index_of(example.answer, classes));
    }
    antecedent_.push_back(example.antecedent);
    counterpart_.push_back(example.counterpart);
  }
}

Span NumberedExamples::antecedent_span(std::int64_t n) const {
  const std::size_t i = static_cast<std::size_t>(n);
  if (candidates_.empty() || chosen_[i] < 0) return {antecedent_[i], antecedent_[i] + 1};
  return candidates_[i][static_cast<std::size_t>(chosen_[i])];
}

Batch NumberedExamples::batch(const std::vector<int>& chosen) const {
  if (chosen.empty()) fail("batch: expected at least one example");
  Batch batch;
  std::vector<std::int32_t> query, answer;
  for (const int i : chosen) {
    if (i < 0 || i >= size()) fail("batch: no example has number {}; expected 0 to {}", i, size() - 1);
    const std::size_t n = static_cast<std::size_t>(i);
    query.push_back(query_[n]);
    answer.push_back(answer_[n]);
    batch.lengths.push_back(static_cast<int>(end_[n] - (n > 0 ? end_[n - 1] : 0)));
  }
  const int T = *std::max_element(batch.lengths.begin(), batch.lengths.end());
  const Shape size{std::ssize(chosen)}, table{size[0], T};
  const auto padded = [&](const std::vector<std::int32_t>& from) {
    std::vector<std::int32_t> rows(static_cast<std::size_t>(table.numel()));
    auto row = rows.begin();
    for (std::size_t b = 0; b < chosen.size(); ++b, row += T) {
      const auto end = from.begin() + static_cast<std::ptrdiff_t>(end_[static_cast<std::size_t>(chosen[b])]);
      std::copy(end - batch.lengths[b], end, row);
    }
    return Ids(table, std::move(rows));
  };
  batch.tokens = padded(tokens_);
  batch.query = Ids(size, std::move(query));
  batch.answer = Ids(size, std::move(answer));
  if (!sentences_.empty()) batch.segments = padded(sentences_);
  if (candidates_.empty()) return batch;
  std::size_t C = 0;
  for (const int i : chosen) C = std::max(C, candidates_[static_cast<std::size_t>(i)].size());
  std::vector<std::int32_t> places(chosen.size() * C * 2, -1), meant;
  for (std::size_t b = 0; b < chosen.size(); ++b) {
    auto place = places.begin() + static_cast<std::ptrdiff_t>(b * C * 2);
    for (const Span& span : candidates_[static_cast<std::size_t>(chosen[b])]) {
      *place++ = span.begin;
      *place++ = span.end;
    }
    meant.push_back(chosen_[static_cast<std::size_t>(chosen[b])]);
  }
  batch.candidates = Ids({size[0], static_cast<std::int64_t>(C), 2}, std::move(places));
  batch.chosen = Ids(size, std::move(meant));
  return batch;
}

Batch NumberedExamples::batch(std::int64_t first, std::int64_t end) const {
  std::vector<int> chosen(static_cast<std::size_t>(end - first));
  std::iota(chosen.begin(), chosen.end(), static_cast<int>(first));
  return batch(chosen);
}

std::vector<Batch> NumberedExamples::batches(std::int64_t most) const {
  std::vector<Batch> all;
  for (std::int64_t first = 0; first < size(); first += most)
    all.push_back(batch(first, std::min(first + most, size())));
  return all;
}

std::vector<int> batch_order(std::int64_t count, int batch_size, std::int64_t step, const Random& random) {
  if (count <= 0) fail("batch_order: expected at least one example");
  if (batch_size <= 0) fail("batch_order: expected a batch of at least one example, got {}", batch_size);
  const std::int64_t last = std::numeric_limits<std::int64_t>::max() / batch_size - 1;
  if (step < 0 || step > last) fail("batch_order: expected a step from 0 to {}, got {}", last, step);
  std::vector<int> batch;
  for (std::int64_t i = step * batch_size; i < (step + 1) * batch_size; ++i) {
    const Random epoch = random.stream(static_cast<std::uint64_t>(i / count));
    batch.push_back(static_cast<int>(permuted(i % count, count, epoch)));
  }
  return batch;
}

void complete(Task& task) {
  task.vocabulary = {};
  task.max_length = task.max_sentences = 0;
  std::size_t divided = 0;
  for (const std::vector<Example>* set : {&task.train, &task.held_out}) {
    for (const Example& example : *set) {
      for (const std::string& token : example.tokens) task.vocabulary.add(token);
      if (example.candidates.empty()) task.vocabulary.add(example.answer);
      task.max_length = std::max(task.max_length, static_cast<int>(example.tokens.size()));
      for (const int sentence : example.sentences) task.max_sentences = std::max(task.max_sentences, sentence + 1);
      divided += !example.sentences.empty();
    }
  }
  const std::size_t examples = task.train.size() + task.held_out.size();
  if (divided != 0 && divided != examples) {
    fail("task '{}': {} of {} examples have sentence numbers; expected all or none", task.name, divided, examples);
  }
}

void pair_counterparts(std::vector<Example>& examples) {
  // Counterparts have the same hash of the text without one token. In each run of equal hashes, sorted by antecedent,
  // this pairs examples of the first antecedent with those of the others.
  struct Entry {
    std::uint64_t hash;
    int antecedent, number;
    auto operator<=>(const Entry&) const = default;
  };
  std::vector<Entry> entries;
  for (std::size_t n = 0; n < examples.size(); ++n) {
    Example& example = examples[n];
    example.counterpart = -1;
    const std::uint64_t whole = question_number(example);
    for (std::size_t i = 0; i < example.tokens.size(); ++i) {
      entries.push_back(
          {(whole - token_hash(i, example.tokens[i])) ^ (i << 48), example.antecedent, static_cast<int>(n)});
    }
  }
  std::sort(entries.begin(), entries.end());
  for (std::size_t begin = 0, end = 0; begin < entries.size(); begin = end) {
    std::size_t i = begin, j = begin;
    while (end < entries.size() && entries[end].hash == entries[begin].hash) ++end;
    while (j < end && entries[j].antecedent == entries[begin].antecedent) ++j;
    while (i < j && j < end) {
      Example& a = examples[static_cast<std::size_t>(entries[i].number)];
      Example& b = examples[static_cast<std::size_t>(entries[j].number)];
      if (a.counterpart >= 0) {
        ++i;
      } else if (b.counterpart < 0 && are_counterparts(a, b)) {
        a.counterpart = entries[j++].number;
        b.counterpart = entries[i++].number;
        if (a.distractor < 0) a.distractor = b.antecedent;
        if (b.distractor < 0) b.distractor = a.antecedent;
      } else {
        ++j;
      }
    }
  }
}

std::uint64_t question_number(const Example& example) {
  std::uint64_t hash = token_hash(example.tokens.size(), std::to_string(example.query));
  for (std::size_t i = 0; i < example.tokens.size(); ++i) hash += token_hash(i, example.tokens[i]);
  return hash;
}

std::vector<std::vector<Example>> with_counterparts(const std::vector<Example>& examples,
                                                    const std::function<std::uint64_t(const Example&)>& number) {
  std::vector<std::uint64_t> numbers;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> repetitions;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    numbers.push_back(number(examples[i]));
    repetitions[numbers[i]].push_back(i);
  }
  std::vector<std::vector<Example>> groups;
  std::vector<bool> taken(examples.size(), false);
  for (std::size_t first = 0; first < examples.size(); ++first) {
    if (taken[first]) continue;
    std::vector<std::size_t> members = repetitions[numbers[first]];
    std::uint64_t other = numbers[first];  // number of the counterparts
    const auto is_free = [&](std::size_t i) {
      return !taken[i] && (numbers[i] == numbers[first] || numbers[i] == other);
    };
    for (const std::size_t i : repetitions[numbers[first]]) {
      const int counterpart = examples[i].counterpart;
      if (counterpart < 0 || taken[static_cast<std::size_t>(counterpart)]) continue;
      other = numbers[static_cast<std::size_t>(counterpart)];
      if (other == numbers[first]) continue;
      members.insert(members.end(), repetitions[other].begin(), repetitions[other].end());
      break;
    }
    std::vector<Example>& group = groups.emplace_back();
    for (const std::size_t i : members) {
      if (taken[i]) continue;
      taken[i] = true;
      group.push_back(examples[i]);
      const std::size_t counterpart = static_cast<std::size_t>(std::max(examples[i].counterpart, 0));
      if (examples[i].counterpart >= 0 && is_free(counterpart)) {
        taken[counterpart] = true;
        group.push_back(examples[counterpart]);
      } else {
        group.back().counterpart = -1;
      }
    }
  }
  return groups;
}

void hold_out(Task& task, std::vector<std::vector<Example>> groups, Fold fold, Random random) {
  if (groups.size() < 2)
    fail("task '{}': {} group of examples; expected two to hold one out", task.name, groups.size());
  if (fold.of < 2 || fold.number < 1 || fold.number > fold.of) {
    fail("hold_out: expected a part from 1 to the number of parts, at least 2, got {} of {}", fold.number, fold.of);
  }
  if (std::ssize(groups) < fold.number) {
    fail("task '{}': {} groups of examples (sentences, minimal pairs, stories) make no {} parts to hold out in turn",
         task.name, groups.size(), fold.of);
  }
  std::vector<std::size_t> order(groups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  random.shuffle(order);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::vector<Example>& set =
        order[i] % static_cast<std::size_t>(fold.of) + 1 == static_cast<std::size_t>(fold.number) ? task.held_out
                                                                                                  : task.train;
    std::vector<Example>& group = groups[i];
    for (std::size_t k = 0; k < group.size();) {
      const bool is_pair = k + 1 < group.size() && group[k].counterpart >= 0 && group[k + 1].counterpart >= 0;
      const int first = static_cast<int>(set.size());
      for (int member = 0; member < (is_pair ? 2 : 1); ++member, ++k) {
        group[k].counterpart = is_pair ? first + 1 - member : -1;
        set.push_back(std::move(group[k]));
      }
    }
  }
}

void shuffle_antecedents(std::vector<Example>& examples, const Random& random) {
  Random coin = random.stream("shuffle_antecedents");
  const bool none_too =
      std::ranges::any_of(examples, [](const Example& e) { return !e.candidates.empty() && e.chosen < 0; });
  for (std::size_t i = 0; i < examples.size(); ++i) {
    Example& example = examples[i];
    if (!example.candidates.empty()) {
      const int outcomes = static_cast<int>(example.candidates.size()) + none_too;
      choose(example, static_cast<int>(coin.below(outcomes)) - none_too);
      continue;
    }
    if (example.antecedent < 0 || example.distractor < 0) {
      fail("shuffle_antecedents: expected an antecedent and a distractor in example {}", i);
    }
    if (coin.below(2) == 0) continue;
    std::swap(example.antecedent, example.distractor);
    example.answer = example.tokens[static_cast<std::size_t>(example.antecedent)];
  }
}

}  // namespace heed
