#pragma once
#include "run/dump.h"

#include <optional>
#include <string>
#include <vector>

namespace heed {

/// Returns a token as text, without the space before it: "Ġanimal" and "▁animal" become "animal", "##ing" stays, a byte of a
/// part of a character becomes <0xC3>.
std::string shown_token(const Tokenizer& tokenizer, const std::string& token);

/// Returns all tokens of a text, with the spaces that their names hold: "Ġanimal" becomes " animal". Where several tokens hold
/// the bytes of one character, the first has it and the others are "".
std::vector<std::string> shown_tokens(const Tokenizer& tokenizer, const std::vector<std::string>& tokens);

/// Replaces the names of tokens by their text, in the tokens and the answers of the sentences.
void write_out(Dump& dump, const Tokenizer& tokenizer);
/// Replaces the names of tokens only in the answers that are candidates.
void write_out_candidates(Dump& dump, const Tokenizer& tokenizer);

/// Joins the tokens of each word, as of_whole_words() does. `named` is the same dump with the tokens' names. Throws `Error` for a
/// model whose tokens are words, or that is missing.
void join_words(Dump& dump, const Dump& named, const std::optional<Model>& model);

/// Returns a token as the page shows it: with the space that its name holds, or that a language model writes with it. A byte of a
/// part of a character becomes <0xC3>.
std::string page_token(const Model& model, const std::string& token);
/// Returns all tokens of a text so, with characters as in shown_tokens().
std::vector<std::string> page_tokens(const Model& model, const std::vector<std::string>& tokens);
/// Returns an answer to a sentence so; that of a candidate has the text of its tokens.
std::string page_answer(const Model& model, const Example& example, const std::string& answer);

/// Returns an answer to a sentence as text: a candidate's tokens joined, another token as shown_token() writes it.
std::string shown_answer(const Tokenizer& tokenizer, const Example& example, const std::string& answer);

}  // namespace heed
