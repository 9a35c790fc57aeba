#pragma once
#include <heed/formats/saved_model.h>
#include <heed/nn/sampling.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

/// A text to continue, with sampling parameters.
struct Continuation {
  std::string begin;  // at least one token; the model must know every token
  int tokens = 500;   // maximum number of generated tokens
  Sampling sampling{};
  std::uint64_t seed = 1;
  std::string stop{};  // generation ends before this text; empty: disabled
};

/// The reason why a generated text ended: the number of tokens, Continuation::stop or the receiver, or a token of
/// SavedModel::end_tokens.
enum class Ending { tokens, stop, end_token };
template <>
inline constexpr EnumName<Ending> enum_names<Ending>[] = {
    {Ending::tokens, "tokens"}, {Ending::stop, "stop"}, {Ending::end_token, "end_token"}};

/// A generated text.
struct Generated {
  std::vector<std::string> tokens;  // all sampled tokens, including those of `stop` and the end token
  Ending ended_by = Ending::tokens;
};

/// Receives a text piece by piece. Returning false ends generation.
using OnText = std::function<bool(std::string_view piece)>;

/// Writes `begin` and its continuation, each token as soon as it is sampled. Ends before a token of
/// SavedModel::end_tokens, which is not written. The same seed gives the same text for any number of threads. The context
/// holds at most as many tokens as in training; when it is full, the model rereads its later half. Throws Error if the model
/// does not predict next tokens.
Generated continue_text(const SavedModel& model, const Continuation& continuation, const OnText& write);

/// Makes text safe for a terminal, piece by piece. Replaces control characters and direction marks, except line ends and
/// tabs, by signs.
class TerminalText {
 public:
  std::string add(std::string_view piece);  // holds back an incomplete character at the end
  std::string finish();                     // returns the bytes held back

 private:
  std::string held_;
};

}  // namespace heed
