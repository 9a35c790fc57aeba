#include "tokenizers/pipeline/metaspace.h"

#include "tokenizers/pipeline/unicode.h"

namespace heed::tokenizers {

Metaspace read_metaspace(const Part& part) {
  using Scheme = Metaspace::Scheme;
  part.expect_keys({"replacement", "prepend_scheme", "split", "add_prefix_space", "str_rep"});
  Metaspace result{.replacement = part.text("replacement"),
                   .code_point = 0,
                   .scheme = Scheme::always,
                   .split = part.flag("split", true)};
  if (count_code_points(result.replacement) != 1) {
    part.wrong("'replacement': expected one character, got '{}'", excerpt(result.replacement));
  }
  std::size_t end = 0;
  result.code_point = next_code_point(result.replacement, end);
  const std::string scheme = part.text("prepend_scheme", "always");
  if (scheme == "first") {
    result.scheme = Scheme::first;
  } else if (scheme == "never") {
    result.scheme = Scheme::never;
  } else if (scheme != "always") {
    part.wrong("unknown prepend_scheme '{}'", excerpt(scheme));
  }
  if (!part.flag("add_prefix_space", true)) result.scheme = Scheme::never;  // as files before prepend_scheme say it
  return result;
}

}  // namespace heed::tokenizers
