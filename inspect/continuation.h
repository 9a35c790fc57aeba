#pragma once
#include <heed/models/formats/saved_model.h>
#include <heed/nn/sampling.h>

#include <functional>
#include <string>
#include <string_view>

namespace heed {

// A text to go on from, and how.
struct Continuation {
  std::string begin;  // its tokens must be known to the model; at least one
  int tokens = 500;   // at most so many more
  Sampling sampling{};
  std::uint64_t seed = 1;
  std::string stop{};  // ends before this, where it is not empty
};

// Is given the text piece by piece; false ends it.
using OnText = std::function<bool(std::string_view piece)>;

// Writes `begin` and what the model makes follow, each token as soon as it is drawn. The same for the same seed, whatever
// the number of threads. The model sees up to as many of the latest tokens as it was trained on,
// and at least half as many: when there are more, it reads the later half anew. Error for a model that predicts
// no next token, or of sentences.
void continue_text(const SavedModel& model, const Continuation& continuation, const OnText& write);

// Text as it may go to a terminal, piece by piece: with a sign for each control and mark of direction but line ends and tabs.
class TerminalText {
 public:
  std::string add(std::string_view piece);  // without the bytes at its end that begin a character
  std::string finish();                     // those

 private:
  std::string held_;
};

}  // namespace heed
