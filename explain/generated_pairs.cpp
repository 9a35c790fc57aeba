#include "explain/internal/pair_words.h"
#include "explain/internal/token_repeater.h"
#include "tokenizers/internal/json.h"

#include <heed/autograd/random.h>
#include <heed/explain/generated_pairs.h>
#include <heed/files/utf8.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace heed {
namespace {

constexpr std::size_t min_words = 2;  // of each kind
constexpr int max_failures = 1000;    // in a row

using Words = std::vector<std::string>;
using Slots = std::map<std::string, std::string>;

std::string filled(std::string text, const Slots& slots) {
  for (const auto& [slot, word] : slots) {
    const std::string name = "{" + slot + "}";
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + word.size())) {
      text.replace(at, name.size(), word);
    }
  }
  return text;
}

// Fills templates with words that the model knows.
class TemplateFiller {
 public:
  TemplateFiller(const TextReader& reader, Behaviour behaviour, const PairOptions& options)
      : reader_(reader),
        behaviour_(behaviour),
        language_(options.language),
        words_(pair_vocabulary(behaviour, options.language)) {
    if (behaviour == Behaviour::greater_than && reader.has_mask()) {
      fail("greater_than: needs a model that predicts the next token, since a year has several tokens");
    }
    if (behaviour == Behaviour::ioi) keep("names", words_.people);
    for (SlotWords& slot : words_.slots) keep(slot.kind, slot.words);
    if (behaviour == Behaviour::agreement || behaviour == Behaviour::gender) {
      const std::size_t all = words_.swapped.size();
      std::erase_if(words_.swapped,
                    [&](const WordPair& pair) { return !is_usable(pair.first) || !is_usable(pair.second); });
      check_count("pairs of nouns", words_.swapped.size(), all);
    }
    std::erase_if(words_.templates, [&](const PairTemplate& one) { return !is_known(one); });
    if (words_.templates.empty()) {
      fail("{}: every template has a word that the model does not know{}", name_of(behaviour), of_language());
    }
  }

  PairDraft draw(Random& random) const {
    const PairTemplate& form = one_of(words_.templates, random);
    Slots slots = other_slots(random);
    PairDraft draft{.clean = {},
                    .corrupted = {},
                    .tail = form.tail,
                    .space = reader_.space(),
                    .group = form.group,
                    .answer = {},
                    .wrong = {}};
    const auto fill = [&](std::string& text, const std::string& slot, const std::string& word) {
      slots[slot] = word;
      text = filled(form.text, slots);
    };
    if (behaviour_ == Behaviour::ioi) {
      const std::string& first = one_of(words_.people, random);
      const std::string& second = one_of(words_.people, random);
      const bool is_second = random.below(2) == 0;  // whether the subject is the second name
      slots["A"] = first, slots["B"] = second;
      fill(draft.clean, "S", is_second ? second : first);
      fill(draft.corrupted, "S", is_second ? first : second);
      draft.answer = {is_second ? first : second}, draft.wrong = {is_second ? second : first};
      draft.group = fmt::format("{} {}", is_second ? "ABBA" : "BABA", form.group);
    } else if (behaviour_ == Behaviour::greater_than) {
      draw_years(random, fill, draft);
    } else {
      const WordPair& pair = one_of(words_.swapped, random);
      const bool is_second = random.below(2) == 1;
      fill(draft.clean, "X", is_second ? pair.second : pair.first);
      fill(draft.corrupted, "X", is_second ? pair.first : pair.second);
      draft.answer = is_second ? pair.of_second : pair.of_first;
      draft.wrong = is_second ? pair.of_first : pair.of_second;
    }
    return draft;
  }

  // Returns how many words of each kind are left.
  std::string counts() const {
    Words parts;
    if (behaviour_ == Behaviour::ioi) parts.push_back(fmt::format("{} names", words_.people.size()));
    if (!words_.swapped.empty()) parts.push_back(fmt::format("{} pairs of nouns", words_.swapped.size()));
    for (const SlotWords& slot : words_.slots) parts.push_back(fmt::format("{} {}", slot.words.size(), slot.kind));
    return fmt::format("{} templates and {}", words_.templates.size(), fmt::join(parts, ", "));
  }

 private:
  template <class T>
  static const T& one_of(const std::vector<T>& all, Random& random) {
    return all[static_cast<std::size_t>(random.below(std::ssize(all)))];
  }

  std::string of_language() const { return fmt::format(" (--language {})", name_of(language_)); }

  // English words are single tokens. Chinese ones are known; the answers are single tokens.
  bool is_usable(const std::string& word) const {
    if (language_ == PairLanguage::english || behaviour_ == Behaviour::ioi) {
      if (reader_.added_token(words_.before, reader_.space() + word)) return true;
      if (language_ == PairLanguage::english) return false;
    }
    return !reader_.tokens_of(reader_.asked(words_.before + word, "", "")).empty();
  }

  void check_count(const std::string& kind, std::size_t left, std::size_t all) const {
    if (left >= min_words) return;
    fail("{}: expected at least {} {} that the model knows as single tokens, got {} of {}{}", name_of(behaviour_),
         min_words, kind, left, all, of_language());
  }

  void keep(const std::string& kind, Words& words) const {
    const std::size_t all = words.size();
    std::erase_if(words, [&](const std::string& word) { return !is_usable(word); });
    check_count(kind, words.size(), all);
  }

  Slots other_slots(Random& random) const {
    Slots slots;
    for (const SlotWords& slot : words_.slots) slots[slot.slot] = one_of(slot.words, random);
    return slots;
  }

  bool is_known(const PairTemplate& form) const {
    Random random(1);
    Slots slots = other_slots(random);
    if (!words_.people.empty()) slots["A"] = slots["B"] = slots["S"] = words_.people[0];
    if (!words_.swapped.empty()) slots["X"] = words_.swapped[0].first;
    slots["C"] = "17", slots["Y"] = "32";
    return !reader_.tokens_of(reader_.asked(filled(form.text, slots), reader_.space(), form.tail)).empty();
  }

  // Answers are the years behind a century's two digits, or only their first digit where the model's tokens are single digits.
  template <class Fill>
  void draw_years(Random& random, const Fill& fill, PairDraft& draft) const {
    const std::string century = std::to_string(11 + random.below(7));
    const auto year = static_cast<int>(2 + random.below(97));
    fill(draft.clean, "C", century);
    fill(draft.clean, "Y", fmt::format("{:02}", year));
    fill(draft.corrupted, "Y", "01");
    draft.space = "";
    for (int other = 0; other < 100; ++other) {
      const std::string digits = fmt::format("{:02}", other);
      if (reader_.added_token(draft.clean, digits)) (other > year ? draft.answer : draft.wrong).push_back(digits);
    }
    if (!draft.answer.empty() || !draft.wrong.empty()) return;
    for (int first = 0; first < 10; ++first) {
      if (first != year / 10) (first > year / 10 ? draft.answer : draft.wrong).push_back(std::to_string(first));
    }
  }

  const TextReader& reader_;
  Behaviour behaviour_;
  PairLanguage language_;
  PairVocabulary words_;
};

// Why drafts gave no new pair.
struct Refused {
  int lengths = 0, answers = 0, repeated = 0;
};

// Returns the pair of a draft that the model reads as intended, and is not `seen` yet.
std::optional<WrittenPair> checked(const TextReader& reader, const PairDraft& draft,
                                   const std::set<std::pair<std::string, std::string>>& seen, Refused& refused) {
  WrittenPair pair{reader.asked(draft.clean, draft.space, draft.tail),
                   reader.asked(draft.corrupted, draft.space, draft.tail),
                   {},
                   {},
                   draft.group};
  const auto refuse = [](int& count) {
    ++count;
    return std::optional<WrittenPair>();
  };
  if (pair.clean == pair.corrupted || seen.contains({pair.clean, pair.corrupted})) return refuse(refused.repeated);
  const Words clean = reader.tokens_of(pair.clean), corrupted = reader.tokens_of(pair.corrupted);
  if (clean.empty() || clean.size() != corrupted.size()) return refuse(refused.lengths);
  for (const auto& [from, to] : {std::pair(&draft.answer, &pair.answer), std::pair(&draft.wrong, &pair.wrong)}) {
    for (const std::string& answer : *from) {
      if (reader.is_answer(draft.clean, draft.space, draft.tail, answer)) to->push_back(answer);
    }
    if (to->empty()) return refuse(refused.answers);
  }
  return pair;
}

template <class Source>
std::vector<WrittenPair> drawn(const TextReader& reader, const Source& source, Behaviour behaviour,
                               const PairOptions& options) {
  Random random(options.seed);
  std::vector<WrittenPair> pairs;
  std::set<std::pair<std::string, std::string>> seen;
  Refused refused;
  for (int failed = 0; std::ssize(pairs) < options.count;) {
    if (std::optional<WrittenPair> pair = checked(reader, source.draw(random), seen, refused)) {
      seen.insert({pair->clean, pair->corrupted});
      pairs.push_back(std::move(*pair));
      constexpr std::size_t told_after = 50;
      if (options.progress && pairs.size() % told_after == 0) {
        options.progress("pairs", static_cast<double>(pairs.size()) / options.count, 0);
      }
      failed = 0, refused = {};
      continue;
    }
    if (++failed > max_failures) {
      fail(
          "{}: found only {} of the {} pairs asked for; the model knows {} (--language {}). The last {} drafts: {} "
          "repeat a pair or a text, {} have texts of different numbers of tokens, and {} have no answer of one token",
          name_of(behaviour), pairs.size(), options.count, source.counts(), name_of(options.language), failed,
          refused.repeated, refused.lengths, refused.answers);
    }
  }
  return pairs;
}

}  // namespace

std::vector<WrittenPair> generate_pairs(const Model& model, Behaviour behaviour, const PairOptions& options) {
  check_has_head(model);
  if (!model.head().has_token_logits()) {
    fail(
        "expected a model that predicts tokens, got one that answers questions about a sentence; write pairs for it in "
        "a file");
  }
  check_tokenizer(model);
  const TextReader reader(model, options.language);
  if (behaviour == Behaviour::induction) {
    return drawn(reader, TokenRepeater(model, reader, options.language), behaviour, options);
  }
  return drawn(reader, TemplateFiller(reader, behaviour, options), behaviour, options);
}

std::string pair_line(const WrittenPair& pair) {
  const auto one_or_more = [](const Words& words) { return words.size() == 1 ? Json(words[0]) : Json(words); };
  Json line{{"clean", pair.clean},
            {"corrupted", pair.corrupted},
            {"answer", one_or_more(pair.answer)},
            {"wrong", one_or_more(pair.wrong)}};
  if (!pair.group.empty()) line["group"] = pair.group;
  return line.dump();
}

}  // namespace heed
