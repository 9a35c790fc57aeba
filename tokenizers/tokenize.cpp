#include <heed/autograd/error.h>
#include <heed/files/utf8.h>
#include <heed/tokenizers/graphemes.h>
#include <heed/tokenizers/tokenize.h>

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace heed {
namespace {

bool is_space(const Grapheme& g) {
  switch (utf8proc_category(g.first)) {
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_CC:
      return true;
    default:
      return false;
  }
}

bool is_mark(const Grapheme& g) {  // punctuation or symbol
  const auto category = utf8proc_category(g.first);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_SO;
}

bool is_letter(const Grapheme& g) { return !is_space(g) && !is_mark(g); }

bool joins_letters(const Grapheme& g) {
  static constexpr std::string_view joiners[] = {"'", "’", "-", "‐", "‑"};
  return std::find(std::begin(joiners), std::end(joiners), g.text) != std::end(joiners);
}

bool is_ascii_alphanumeric(const Grapheme& g) {
  const char x = g.text[0];
  return g.text.size() == 1 && ((x >= '0' && x <= '9') || (x >= 'A' && x <= 'Z') || (x >= 'a' && x <= 'z'));
}

// Returns the length of a code point in bytes by its first byte, in valid UTF-8.
std::size_t bytes_of_point(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

// Returns the tokens of one line: words with the space before them, and other characters one by one.
void each_word(std::string_view line, const std::function<void(std::string_view)>& visit) {
  const std::vector<Grapheme> all = graphemes(line);
  const auto from_to = [&](std::size_t begin, std::size_t end) {  // in graphemes
    const char* first = all[begin].text.data();
    const Grapheme& last = all[end - 1];
    visit({first, static_cast<std::size_t>(last.text.data() + last.text.size() - first)});
  };
  for (std::size_t begin = 0, end; begin < all.size(); begin = end) {
    const bool leads = all[begin].text == " " && begin + 1 < all.size() && is_letter(all[begin + 1]);
    end = begin + (leads ? 2 : 1);
    const auto grows = [&] {
      return is_letter(all[end]) || (joins_letters(all[end]) && end + 1 < all.size() && is_letter(all[end + 1]));
    };
    if (is_letter(all[end - 1])) {
      while (end < all.size() && grows()) ++end;
    }
    from_to(begin, end);
  }
}

const std::array<std::string, 256>& names_of_bytes() {
  static const std::array<std::string, 256> names = [] {
    std::array<std::string, 256> result;
    for (std::size_t byte = 0; byte < 256; ++byte) {
      if (byte < 0x80) {
        result[byte] += static_cast<char>(byte);
      } else {
        result[byte] = fmt::format("<0x{:02X}>", byte);
      }
    }
    return result;
  }();
  return names;
}

}  // namespace

std::vector<std::string> tokenize(std::string_view text, Split split) {
  if (is_of_texts_alone(split)) fail("a sentence is split into words or characters, not {}", name_of(split));
  const std::vector<Grapheme> all = graphemes(checked_utf8(text, "text"));
  std::vector<std::string> tokens;
  bool open = false;  // the last token may grow
  for (std::size_t i = 0; i < all.size(); ++i) {
    bool grows;  // this character extends a token
    if (split == Split::characters) {
      grows = is_ascii_alphanumeric(all[i]);
    } else {
      const bool inside = open && i + 1 < all.size() && is_letter(all[i + 1]);
      grows = is_letter(all[i]) || (inside && joins_letters(all[i]));
    }
    if (is_space(all[i])) {
      grows = false;
    } else if (grows && open) {
      tokens.back() += all[i].text;
    } else {
      tokens.emplace_back(all[i].text);
    }
    open = grows;
  }
  return tokens;
}

Tokenizer::Tokenizer(Split split) : split_(split) {}

Tokenizer Tokenizer::of_text(Split split) {
  Tokenizer tokenizer(split);
  tokenizer.is_of_text_ = true;
  return tokenizer;
}

Tokenizer Tokenizer::of_text(Subwords subwords) {
  Tokenizer tokenizer = of_text(Split::subwords);
  tokenizer.subwords_ = std::move(subwords);
  return tokenizer;
}

Tokenizer Tokenizer::of_text(PretrainedTokenizer pretrained) {
  Tokenizer tokenizer = of_text(Split::subwords);
  tokenizer.pretrained_ = std::move(pretrained);
  return tokenizer;
}

void Tokenizer::each(std::string_view text, const std::function<void(std::string_view token)>& visit) const {
  if (!is_of_text_) {
    for (const std::string& token : tokenize(text, split_)) visit(token);
    return;
  }
  if (pretrained_) {
    for (const EncodedToken& token : pretrained_->encode(text)) visit(pretrained_->token(token.id));
    return;
  }
  if (split_ == Split::subwords) return subwords_.value().each(text, visit);
  if (split_ == Split::bytes) {
    for (const char byte : text) visit(names_of_bytes()[static_cast<unsigned char>(byte)]);
    return;
  }
  checked_utf8(text, "text");
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    if (split_ == Split::characters) {
      end = begin + bytes_of_point(text[begin]);
      visit(text.substr(begin, end - begin));
    } else {
      end = std::min(text.find('\n', begin), text.size() - 1) + 1;
      each_word(text.substr(begin, end - begin), visit);
    }
  }
}

std::vector<std::string> Tokenizer::operator()(std::string_view text) const {
  std::vector<std::string> tokens;
  each(text, [&](std::string_view token) { tokens.emplace_back(token); });
  return tokens;
}

std::vector<std::string> Tokenizer::known_tokens() const {
  if (pretrained_) return pretrained_->tokens();
  return subwords_ ? subwords_->words() : std::vector<std::string>{};
}

std::string Tokenizer::written(std::string_view token) const {
  if (pretrained_) {
    const std::optional<int> id = pretrained_->id(token);
    return id ? pretrained_->written(*id) : "";
  }
  if (!is_of_texts_alone(split_) || token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') {
    return std::string(token);
  }
  unsigned byte = 0;
  std::from_chars(token.data() + 3, token.data() + 5, byte, 16);
  return std::string(1, static_cast<char>(byte));
}

std::string Tokenizer::join(const std::vector<std::string>& tokens) const {
  if (pretrained_) {
    std::vector<int> ids;
    for (const std::string& token : tokens) {
      if (const std::optional<int> id = pretrained_->id(token)) ids.push_back(*id);
    }
    return pretrained_->decode(ids);
  }
  std::string text;
  for (const std::string& token : tokens) {
    if (!text.empty() && !is_of_text_ && split_ == Split::words) text += ' ';
    text += written(token);
  }
  return text;
}

}  // namespace heed
