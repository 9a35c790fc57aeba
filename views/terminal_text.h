#pragma once
#include <string>
#include <string_view>

namespace heed {

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
