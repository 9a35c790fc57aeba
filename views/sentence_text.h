#pragma once
#include "views/terminal.h"

#include <heed/explain/residual_parts.h>
#include <heed/explain/score_parts.h>

#include <string>
#include <vector>

namespace heed {

/// Returns the token for display, without the space before it. Replaces invisible characters by signs; white space on its own
/// becomes ␣, ↵, ␍ or ⇥.
std::string token_text(const std::string& token);

/// Returns `token_text()`, with the position (from 1) as a subscript if the word occurs more than once: the₅.
std::string token_label(const std::vector<std::string>& tokens, int token);

/// Returns "layer 2 head 1", "layer 2 MLP", or "position": a part of the residual stream, whose layer and head count from 0.
std::string part_name(const ResidualPart& part);

/// Returns the tokens, wrapped at the terminal's width, with the antecedent in [brackets]. Spaces separate them, unless they
/// hold the spaces of a text: `is_text`, or one of them begins with a space.
std::string sentence_text(const std::vector<std::string>& tokens, int query, Span antecedent, const Terminal& terminal,
                          bool is_text = false);

/// Returns a legend for the brackets and, with `bars`, for the sign beside a bar. Print it once, below the output.
constexpr const char* antecedent_sign = "◂";
std::string antecedent_legend(bool bars, const Terminal& terminal);

}  // namespace heed
