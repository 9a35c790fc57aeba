#pragma once
#include <string_view>
#include <vector>

namespace heed {

// The files of inspect/page/ as they were when the program was built; made by inspect/page/embed.cmake.
struct PageSource {
  std::string_view document;                     // index.html
  std::vector<std::string_view> style, script;   // to be joined
  std::string_view style_sha256, script_sha256;  // of the joined text, hexadecimal
};
const PageSource& page_source();

}  // namespace heed
