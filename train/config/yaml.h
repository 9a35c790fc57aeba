#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace heed {

/// A value of a YAML document: plain data, without anchors, aliases and tags.
struct Yaml {
  enum Kind { nothing, scalar, sequence, mapping, refused } kind = nothing;  // refused: already reported
  std::size_t place = 0;                                                     // byte offset in the document
  std::string text{};                                                        // of a scalar
  bool quoted = false;
  std::vector<Yaml> keys{};   // keys of a mapping: scalars without duplicates
  std::vector<Yaml> items{};  // of a sequence, or a mapping's values in the order of its keys
};

/// A mistake and its place: a byte offset in the document, or an origin outside of it ("--set model.heads=0").
struct Mistake {
  std::size_t place = 0;
  std::string message;
  std::string origin;
};

/// Parses the one document in `text` (UTF-8). Adds duplicate keys, anchors, aliases and tags to `mistakes`. Throws
/// Error for a document that it cannot parse: wrong syntax, nesting deeper than 8, a second document, more than 64 KiB.
Yaml parse_yaml(std::string_view text, const std::string& source, std::vector<Mistake>& mistakes);

/// Throws one Error with a line per mistake, in the order of their places: "toy.yaml:12:5: unknown key 'head'
/// in model (did you mean 'heads'?)". Mistakes with an origin come last. Does nothing without mistakes.
void fail_with(std::vector<Mistake> mistakes, std::string_view text, const std::string& source);

}  // namespace heed
