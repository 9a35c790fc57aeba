#pragma once
#include "inspect/views/terminal.h"

#include <string>
#include <vector>

namespace heed {

// The token as it is shown: of what cannot be seen a sign, of a token of nothing but spaces "␣" for each.
std::string token_text(const std::string& token);

// token_text(); where the same word occurs elsewhere too, with its position counted from 1: the₅.
std::string token_label(const std::vector<std::string>& tokens, int token);

// The tokens, the antecedent in [brackets] (-1: none), broken at the terminal's width.
std::string sentence_text(const std::vector<std::string>& tokens, int query, int antecedent, const Terminal& terminal);

// A line that says what the brackets mean, and with `bars` the sign beside a bar, too; to be printed once, below.
constexpr const char* antecedent_sign = "◂";
std::string antecedent_legend(bool bars, const Terminal& terminal);

}  // namespace heed
