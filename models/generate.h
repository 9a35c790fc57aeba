#pragma once
#include <heed/models/model.h>
#include <heed/nn/sampling.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

/// A text to continue, with sampling parameters.
struct Generation {
  std::string prompt;  ///< at least one token; the model must know every token
  int tokens = 500;    ///< maximum number of generated tokens
  Sampling sampling{};
  std::uint64_t seed = 1;
  std::string stop{};                      ///< generation ends before this text; empty: disabled
  std::vector<std::int32_t> prompt_ids{};  ///< the prompt's tokens; empty: those that the model reads in `prompt`
  /// Guess tokens from repetitions of the text (Lookup), and compute several in one pass. The text is the same, sooner where
  /// it repeats itself. Sampled texts may differ where rounding decides.
  bool speculate = false;
};

/// The reason why a generated text ended: the number of tokens, Generation::stop or the receiver, or a token of
/// Model::end_tokens.
enum class Ending { tokens, stop, end_token };
template <>
inline constexpr EnumName<Ending> enum_names<Ending>[] = {
    {Ending::tokens, "tokens"}, {Ending::stop, "stop"}, {Ending::end_token, "end_token"}};

/// A generated text.
struct Generated {
  std::vector<std::string> tokens;  ///< all sampled tokens, including those of `stop` and the end token
  Ending ended_by = Ending::tokens;
  std::int64_t passes = 0;     ///< of the model
  std::int64_t forgotten = 0;  ///< tokens at the beginning that the model no longer read when it wrote the last one
};

/// Receives a text piece by piece. Returning false ends generation.
using OnText = std::function<bool(std::string_view piece)>;

/// Writes the prompt and its continuation, each token as soon as it is sampled. Ends before a token of
/// Model::end_tokens, which is not written. The same seed gives the same text for any number of threads. The context
/// holds at most as many tokens as in training; when it is full, the model rereads its later half. Throws `Error` if the model
/// does not predict next tokens, or its tokenizer is not one of Tokenizer::of_text() or of a pretrained model.
///
///     const auto print = [](std::string_view piece) { return fmt::print("{}", piece), true; };
///     generate(model, {.prompt = "ROMEO:", .tokens = 100}, print);
Generated generate(const Model& model, const Generation& wanted, const OnText& write);

/// Receives several texts piece by piece. Returning false ends the generation of this text.
using OnTexts = std::function<bool(std::size_t text, std::string_view piece)>;

/// Returns the tokens of a prompt. Throws `Error` for tokens that the model does not know, and for a text without any.
std::vector<std::int32_t> prompt_tokens(const Model& model, const std::string& prompt);

/// Continues several texts, up to 32 of similar length at once, which takes less time than one after another. Each is the text that
/// generate() gives it alone, except where rounding decides between two tokens. The same seeds and texts give the same results for
/// any number of threads. Throws `Error` where one of several is to speculate.
///
///     generate(model, {{.prompt = "ROMEO:"}, {.prompt = "JULIET:"}}, [&](std::size_t i, std::string_view piece) {
///       return texts[i] += piece, true;
///     });
std::vector<Generated> generate(const Model& model, const std::vector<Generation>& wanted, const OnTexts& write);

}  // namespace heed
