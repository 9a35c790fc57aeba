#pragma once
#include <string>
#include <string_view>

namespace heed {

/// Returns a text in Unicode's normal form NFC, in which "é" is one code point, or NFD, in which it is two. A text that is not
/// UTF-8 stays as it is.
std::string composed(std::string_view text);
std::string decomposed(std::string_view text);  ///< NFD

}  // namespace heed
