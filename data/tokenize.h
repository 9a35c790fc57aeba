#pragma once
#include <heed/autograd/enum_names.h>

#include <string>
#include <string_view>
#include <vector>

namespace heed {

// How a text is cut into tokens.
//   words       at white space (Unicode's, U+3000 among it), with punctuation (ASCII and full-width) as tokens of its own,
//               except apostrophes and hyphens inside a word ("didn't")
//   characters  each grapheme cluster, except that runs of ASCII letters and digits stay together
enum class Split { words, characters };
template <>
inline constexpr EnumName<Split> enum_names<Split>[] = {{Split::words, "words"}, {Split::characters, "characters"}};

std::vector<std::string> tokenize(std::string_view text, Split split);  // Error where `text` is not UTF-8

}  // namespace heed
