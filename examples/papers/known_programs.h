#pragma once
#include <heed/explain/circuits/graph.h>
#include <heed/heed.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

// Five programs, and the edges along which a transformer of two layers computes each: for known_circuits.cpp.
namespace known {

using namespace heed;

using Text = std::vector<std::int32_t>;
using Input = CircuitInput::Kind;

// An edge of a program's circuit. Layers and heads are from 0.
struct TrueEdge {
  CircuitNode from;
  Input kind;
  int layer = -1, head = -1;
};

constexpr CircuitNode token{};
constexpr CircuitNode head(int layer, int index) { return {CircuitNode::Kind::head, layer, index}; }
constexpr CircuitNode mlp(int layer) { return {CircuitNode::Kind::mlp, layer, -1}; }

// Two texts, and which true edges carry the first one's output.
struct Mixture {
  const Text &own, &other;
  std::vector<bool> kept;
  // Returns the text that comes through a path of true edges from the embedding to the logits.
  const Text& through(std::initializer_list<std::size_t> path) const {
    return std::ranges::all_of(path, [&](std::size_t edge) { return kept[edge]; }) ? own : other;
  }
};

// A program, the edges along which it is computed, and its texts.
struct Program {
  const char *name, *what;
  std::vector<std::string> words;  // by number
  int length, query;               // tokens of a text, and the one that is asked
  std::vector<TrueEdge> edges;
  std::function<Text(Random&)> write;
  std::function<int(const Mixture&)> answer;  // number of a word; -1: undefined
  // Returns the answer to a text.
  int answer_to(const Text& text) const { return answer({text, text, std::vector<bool>(edges.size(), true)}); }
};

// Returns the words of a list with a space between two words.
inline std::vector<std::string> words_of(const std::string& list) {
  std::istringstream stream(list);
  return {std::istream_iterator<std::string>(stream), {}};
}

// Returns `count` different numbers below `n`.
inline Text different(int count, int n, Random& random) {
  Text all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  random.shuffle(all);
  all.resize(static_cast<std::size_t>(count));
  return all;
}

inline std::int32_t draw(std::int64_t n, Random& random) { return static_cast<std::int32_t>(random.below(n)); }

// Returns the most frequent of the first `letters` letters, or -1 when several are.
inline int most_frequent(const Text& text, std::int32_t letters) {
  std::int64_t most = 0;
  int found = -1;
  for (std::int32_t letter = 0; letter < letters; ++letter) {
    const std::int64_t count = std::ranges::count(text, letter);
    if (count >= most) found = count == most ? -1 : letter;
    most = std::max(most, count);
  }
  return found;
}

// Four different letters, then one of them: which followed it? The first layer brings each letter the one before it.
inline Program induction() {
  static constexpr std::int32_t letters = 8, length = 5;
  return {.name = "induction",
          .what = "which letter followed the last one before",
          .words = words_of("a b c d e f g h"),
          .length = length,
          .query = length - 1,
          .edges = {{token, Input::value, 0, 0},
                    {head(0, 0), Input::key, 1, 0},
                    {token, Input::query, 1, 0},
                    {token, Input::value, 1, 0},
                    {head(1, 0), Input::logits}},
          .write =
              [](Random& random) {
                Text text = different(length - 1, letters, random);
                text.push_back(text[static_cast<std::size_t>(random.below(length - 2))]);
                return text;
              },
          .answer =
              [](const Mixture& mixture) {
                const Text &earlier = mixture.through({0, 1, 4}), &asked = mixture.through({2, 4}),
                           &copied = mixture.through({3, 4});
                int answer = -1;
                for (std::size_t i = 1; i + 1 < length; ++i) {
                  if (earlier[i - 1] == asked.back()) answer = copied[i];
                }
                return answer;
              }};
}

// Eight letters: which of three is the most frequent? A head averages them, the MLP of the last layer compares.
inline Program majority() {
  static constexpr std::int32_t letters = 3, length = 8;
  return {.name = "majority",
          .what = "the most frequent of three letters",
          .words = words_of("a b c"),
          .length = length,
          .query = length - 1,
          .edges = {{token, Input::value, 0, 0}, {head(0, 0), Input::mlp, 1}, {mlp(1), Input::logits}},
          .write =
              [](Random& random) {
                for (;;) {
                  Text text;
                  while (std::ssize(text) < length) text.push_back(draw(letters, random));
                  if (most_frequent(text, letters) >= 0) return text;
                }
              },
          .answer =
              [](const Mixture& mixture) {
                return most_frequent(mixture.through({0, 1, 2}), letters);
              }};
}

// Two of five numbers: which is the larger? Two heads fetch them, an MLP compares.
inline Program larger() {
  static constexpr std::int32_t numbers = 8, length = 6, asks = numbers;
  return {.name = "larger",
          .what = "the larger one of the second and the fourth number",
          .words = words_of("0 1 2 3 4 5 6 7 ?"),
          .length = length,
          .query = length - 1,
          .edges = {{token, Input::value, 0, 0},
                    {token, Input::value, 0, 1},
                    {head(0, 0), Input::mlp, 0},
                    {head(0, 1), Input::mlp, 0},
                    {mlp(0), Input::logits}},
          .write =
              [](Random& random) {
                Text text;
                while (std::ssize(text) < length - 1) text.push_back(draw(numbers, random));
                text.push_back(asks);
                return text;
              },
          .answer =
              [](const Mixture& mixture) {
                return std::max(mixture.through({0, 2, 4})[1], mixture.through({1, 3, 4})[3]);
              }};
}

// Three different numbers: which is the r-th when they are sorted? The first layer counts the smaller ones.
inline Program sorting() {
  static constexpr std::int32_t numbers = 6, count = 3, first = numbers;
  return {.name = "sorting",
          .what = "the r-th of three numbers when they are sorted",
          .words = words_of("1 2 3 4 5 6 first second third"),
          .length = count + 1,
          .query = count,
          .edges = {{token, Input::query, 0, 0},
                    {token, Input::key, 0, 0},
                    {head(0, 0), Input::key, 1, 0},
                    {token, Input::query, 1, 0},
                    {token, Input::value, 1, 0},
                    {head(1, 0), Input::logits}},
          .write =
              [](Random& random) {
                Text text = different(count, numbers, random);
                text.push_back(first + draw(count, random));
                return text;
              },
          .answer =
              [](const Mixture& mixture) {
                const Text &number = mixture.through({0, 2, 5}), &others = mixture.through({1, 2, 5});
                const Text &asked = mixture.through({3, 5}), &copied = mixture.through({4, 5});
                int answer = -1, found = 0;
                for (std::size_t i = 0; i < count; ++i) {
                  const auto smaller = [&](std::int32_t each) { return each < number[i]; };
                  if (std::count_if(others.begin(), others.end() - 1, smaller) != asked.back() - first) continue;
                  answer = copied[i];
                  ++found;
                }
                return found == 1 ? answer : -1;
              }};
}

// "animal crossed street because it was tired": what does "it" mean? A head brings "it" the cue, the next seeks its kind.
inline Program coreference() {
  static constexpr std::int32_t each = 4, cue = 2 * each, rest = cue + 2 * each;  // beings, places; their cues; rest
  return {.name = "coreference",
          .what = "which of two nouns fits the word that describes it",
          .words = words_of(
              "animal child dog horse street bridge room tunnel tired hungry young brave wide narrow long dark "
              "crossed because it was"),
          .length = 7,
          .query = 4,
          .edges = {{token, Input::value, 0, 0},
                    {head(0, 0), Input::query, 1, 0},
                    {token, Input::key, 1, 0},
                    {token, Input::value, 1, 0},
                    {head(1, 0), Input::logits}},
          .write =
              [](Random& random) {
                std::int32_t nouns[2] = {draw(each, random), each + draw(each, random)};
                if (random.below(2) == 1) std::swap(nouns[0], nouns[1]);
                return Text{nouns[0], rest, nouns[1], rest + 1, rest + 2, rest + 3, cue + draw(2 * each, random)};
              },
          .answer =
              [](const Mixture& mixture) {
                const bool seeks_place = mixture.through({0, 1, 4}).back() >= cue + each;
                const bool is_first = (mixture.through({2, 4})[0] >= each) == seeks_place;
                return static_cast<int>(mixture.through({3, 4})[is_first ? 0 : 2]);
              }};
}

}  // namespace known
