#include "tokenizers/pipeline/metaspace.h"
#include "tokenizers/pipeline/replacement.h"
#include "tokenizers/pipeline/steps.h"
#include "tokenizers/pipeline/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace heed::tokenizers {
namespace {

using Texts = std::vector<std::string>;

constexpr const char* replacement_character = "\uFFFD";

// The length of the UTF-8 at the front of `text`: of one code point, 0 for a wrong byte.
std::size_t valid_prefix(std::string_view text) {
  utf8proc_int32_t point = 0;
  const utf8proc_ssize_t bytes =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                       static_cast<utf8proc_ssize_t>(std::min<std::size_t>(text.size(), 4)), &point);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

bool is_valid(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = valid_prefix(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

// Each longest prefix of a code point that is incomplete becomes one U+FFFD (Unicode 15, table 3-8).
std::string with_replacements(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    std::size_t bytes = valid_prefix(text);
    if (bytes > 0) {
      result += text.substr(0, bytes);
    } else {
      result += replacement_character;
      const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
      const auto is_tail = [&](std::size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
      const unsigned first = byte(0);
      const bool begins =
          (first >= 0xe1 && first <= 0xef && first != 0xed && is_tail(1)) ||
          (first == 0xe0 && is_tail(1) && byte(1) >= 0xa0) || (first == 0xed && is_tail(1) && byte(1) < 0xa0) ||
          (first >= 0xf1 && first <= 0xf3 && is_tail(1)) || (first == 0xf0 && is_tail(1) && byte(1) >= 0x90) ||
          (first == 0xf4 && is_tail(1) && byte(1) < 0x90);
      bytes = !begins ? 1 : first >= 0xf0 && is_tail(2) ? 3 : 2;
    }
    text.remove_prefix(bytes);
  }
  return result;
}

Decoder byte_level_decoder(const Part& part) {
  part.expect_keys({"add_prefix_space", "trim_offsets", "use_regex"});
  return [](const Texts& tokens, Decoded what) {
    std::string text;
    for (const std::string& token : tokens) {
      std::string bytes;
      bool is_alphabet = true;
      each_code_point(token, [&](std::int32_t point, std::size_t, std::size_t) {
        const int byte = byte_of_code_point(point);
        is_alphabet = is_alphabet && byte >= 0;
        bytes += static_cast<char>(byte);
      });
      text += is_alphabet ? bytes : token;
    }
    return Texts{what == Decoded::text ? with_replacements(text) : text};
  };
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty()) return;
  std::string result;
  std::size_t at = 0;
  for (std::size_t found; (found = text.find(from, at)) != text.npos; at = found + from.size()) {
    result.append(text, at, found - at).append(to);
  }
  text = result.append(text, at);
}

void clean_up(std::string& text) {
  static constexpr std::pair<const char*, const char*> changes[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : changes) replace_all(text, from, to);
}

Decoder word_piece_decoder(const Part& part) {
  part.expect_keys({"prefix", "cleanup"});
  return [prefix = part.text("prefix"), cleans = part.flag("cleanup")](Texts tokens, Decoded what) {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      std::string& token = tokens[i];
      if (i > 0 || what == Decoded::part)
        token = token.starts_with(prefix) ? token.substr(prefix.size()) : std::string(" ").append(token);
      if (cleans) clean_up(token);
    }
    return tokens;
  };
}

Decoder metaspace_decoder(const Part& part) {
  return [options = read_metaspace(part)](Texts tokens, Decoded what) {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const bool is_first = i == 0 && what == Decoded::text && options.scheme != Metaspace::Scheme::never;
      replace_all(tokens[i], options.replacement, is_first ? "" : " ");
    }
    return tokens;
  };
}

Decoder byte_fallback_decoder(const Part& part) {
  part.expect_keys({});
  return [](const Texts& tokens, Decoded what) {
    Texts result;
    std::string bytes;
    const auto flush = [&] {
      if (is_valid(bytes) || what == Decoded::part) {
        if (!bytes.empty()) result.push_back(bytes);
      } else {
        result.insert(result.end(), bytes.size(), replacement_character);
      }
      bytes.clear();
    };
    for (const std::string& token : tokens) {
      unsigned byte = 0;
      const char *digits = token.data() + 3, *end = token.data() + 5;
      const bool is_byte = token.size() == 6 && token.starts_with("<0x") && *end == '>' &&
                           std::from_chars(digits + (*digits == '+'), end, byte, 16).ptr == end;  // as in Rust
      if (is_byte) {
        bytes += static_cast<char>(byte);
      } else {
        flush();
        result.push_back(token);
      }
    }
    flush();
    return result;
  };
}

std::string joined(const Texts& texts) {
  std::string result;
  for (const std::string& text : texts) result += text;
  return result;
}

Decoder strip_decoder(const Part& part) {
  part.expect_keys({"content", "start", "stop"});
  const std::string content = part.text("content");
  if (count_code_points(content) != 1) part.wrong("'content': expected one character, got '{}'", excerpt(content));
  return [content, start = part.count("start"), stop = part.count("stop")](Texts tokens, Decoded what) {
    if (what == Decoded::part) return tokens;
    for (std::string& token : tokens) {
      std::string_view text = token;
      for (std::int64_t i = 0; i < start && text.starts_with(content); ++i) text.remove_prefix(content.size());
      for (std::int64_t i = 0; i < stop && text.ends_with(content); ++i) text.remove_suffix(content.size());
      token = std::string(text);
    }
    return tokens;
  };
}

Decoder bpe_decoder(const Part& part) {
  part.expect_keys({"suffix"});
  return [suffix = part.text("suffix")](Texts tokens, Decoded what) {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const bool is_last = i + 1 == tokens.size() && what == Decoded::text;
      replace_all(tokens[i], suffix, is_last ? "" : " ");
    }
    return tokens;
  };
}

}  // namespace

Decoder make_decoder(const Part& part) {
  const std::string type = part.type();
  if (type == "Sequence") {
    part.expect_keys({"decoders"});
    std::vector<Decoder> all;
    for (const Part& one : part.parts("decoders")) all.push_back(make_decoder(one));
    return [all = std::move(all)](Texts tokens, Decoded what) {
      for (const Decoder& one : all) tokens = one(std::move(tokens), what);
      return tokens;
    };
  }
  if (type == "ByteLevel") return byte_level_decoder(part);
  if (type == "WordPiece") return word_piece_decoder(part);
  if (type == "Metaspace") return metaspace_decoder(part);
  if (type == "ByteFallback") return byte_fallback_decoder(part);
  if (type == "Strip") return strip_decoder(part);
  if (type == "BPEDecoder") return bpe_decoder(part);
  if (type == "Replace") {
    part.expect_keys({"pattern", "content"});
    return [replacement = Replacement(part)](Texts tokens, Decoded) {
      for (std::string& token : tokens) token = is_valid(token) ? replacement(token) : token;
      return tokens;
    };
  }
  if (type == "Fuse") {
    part.expect_keys({});
    return [](const Texts& tokens, Decoded) { return Texts{joined(tokens)}; };
  }
  part.wrong("unknown type '{}'", excerpt(type));
}

}  // namespace heed::tokenizers
