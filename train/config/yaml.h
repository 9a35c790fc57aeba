#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace heed {

// A value of a YAML document: plain data, without anchors, aliases and tags.
struct Yaml {
  enum Kind { nothing, scalar, sequence, mapping, refused } kind = nothing;  // refused: already reported
  std::size_t place = 0;                                                     // byte offset in the document
  std::string text{};                                                        // of a scalar
  bool quoted = false;
  std::vector<Yaml> keys{};   // of a mapping: scalars, each once
  std::vector<Yaml> items{};  // of a sequence, or a mapping's values in the order of its keys
};

// What is wrong and where: at a byte offset of a document, or, with an origin, elsewhere ("--set
// model.heads=0").
struct Mistake {
  std::size_t place = 0;
  std::string message;
  std::string origin;
};

// The one document in `text` (UTF-8). Duplicate keys, anchors, aliases and tags are added to `mistakes`.
// Error for what cannot be read further: wrong syntax, nesting deeper than 8, a second document, above 64
// KiB.
Yaml parse_yaml(std::string_view text, const std::string& source, std::vector<Mistake>& mistakes);

// Throws one Error with a line for each mistake, in the order of their places, when there is any:
// "toy.yaml:12:5: unknown key 'learing_rate' in optim (did you mean 'lr'?)". Mistakes from elsewhere come
// last.
void fail_with(std::vector<Mistake> mistakes, std::string_view text, const std::string& source);

}  // namespace heed
