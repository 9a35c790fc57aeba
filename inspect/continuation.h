#pragma once
#include <heed/models/formats/saved_model.h>
#include <heed/nn/sampling.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

/// A text to continue, and how.
struct Continuation {
  std::string begin;  // its tokens must be known to the model; at least one
  int tokens = 500;   // to generate at most
  Sampling sampling{};
  std::uint64_t seed = 1;
  std::string stop{};  // ends before this, where it is not empty
};

/// Receives a text piece by piece; false ends it.
using OnText = std::function<bool(std::string_view piece)>;

/// Writes `begin` and its continuation by the model, each token as soon as it is drawn, and returns the tokens that were drawn,
/// those of `stop` included. The same seed gives the same text for any number of threads. The model sees the latest tokens, at
/// most as many as it was trained on and at least half as many: when there are more, it reads the later half anew. Throws
/// Error for a model that predicts no next token.
std::vector<std::string> continue_text(const SavedModel& model, const Continuation& continuation, const OnText& write);

/// Makes text safe for a terminal, piece by piece: with a sign for each control and mark of direction except line ends and tabs.
class TerminalText {
 public:
  std::string add(std::string_view piece);  // without the bytes at its end that begin a character
  std::string finish();                     // those

 private:
  std::string held_;
};

}  // namespace heed
