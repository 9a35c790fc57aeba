#define PCRE2_CODE_UNIT_WIDTH 8
#include "tokenizers/pipeline/regex.h"

#include "tokenizers/pipeline/unicode.h"

#include <heed/autograd/error.h>
#include <heed/files/utf8.h>

#include <algorithm>
#include <ctime>
#include <optional>
#include <pcre2.h>

namespace heed::tokenizers {
namespace {

constexpr std::size_t max_pattern = 10'000;            // bytes
constexpr std::uint32_t max_match_steps = 20'000'000;  // for each place where a match may begin
constexpr std::uint32_t few_match_steps = 10'000;      // the same while many places are searched at once
constexpr std::size_t max_scanned = 1'000'000'000;  // bytes by these few steps, each of which may scan the whole text
constexpr std::uint32_t max_match_kib = 256 * 1024;

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

std::string message_of_code(int code) {
  PCRE2_UCHAR text[256];
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

pcre2_code* compile(const std::string& pattern, int& error, std::size_t& at, std::uint32_t more_options = 0) {
  static const std::shared_ptr<pcre2_compile_context> context = [] {
    std::shared_ptr<pcre2_compile_context> made(pcre2_compile_context_create(nullptr), pcre2_compile_context_free);
    if (!made) throw std::bad_alloc();
    pcre2_set_newline(made.get(), PCRE2_NEWLINE_LF);
    return made;
  }();
  constexpr std::uint32_t options =
      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT;
  return pcre2_compile(units(pattern), pattern.size(), options | more_options, &error, &at, context.get());
}

// The members of Oniguruma's classes, as ranges and properties in a class of PCRE2.
constexpr std::string_view white_space =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
constexpr std::string_view no_white_space =
    R"(\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff})";
constexpr std::string_view word = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
// Oniguruma has newer tables than PCRE2 10.42, in which these marks are alphabetic.
constexpr std::string_view letter =
    R"(\p{Alphabetic}\x{363}-\x{36f}\x{c04}\x{f82}\x{f83}\x{1dd3}-\x{1de6}\x{11080}\x{11081})";
// Alone, not in a class, Oniguruma takes these digits of Latin-1 for letters.
constexpr std::string_view latin_digits = R"(\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})";
constexpr std::string_view no_hexadecimal = R"(\x{0}-\x{2f}\x{3a}-\x{40}\x{47}-\x{60}\x{67}-\x{10ffff})";

std::optional<std::string_view> class_of(char escaped) {
  static constexpr std::pair<char, std::string_view> classes[] = {
      {'s', white_space}, {'S', no_white_space}, {'w', word}, {'h', "0-9A-Fa-f"}, {'H', no_hexadecimal}};
  const auto* found = std::ranges::find(classes, escaped, &std::pair<char, std::string_view>::first);
  return found == std::end(classes) ? std::nullopt : std::optional(found->second);
}

// PCRE2 takes \p{Han} for a script with its extensions, Oniguruma for the script alone.
std::string property(std::string_view written) {
  const std::string as_script = fmt::format("\\p{{sc:{}}}", written);
  int error = 0;
  std::size_t at = 0;
  pcre2_code* code = written.size() > 2 ? compile(as_script, error, at) : nullptr;
  if (!code) return fmt::format("\\p{{{}}}", written);
  pcre2_code_free(code);
  return as_script;
}

class Translation {
 public:
  explicit Translation(const std::string& pattern) : pattern_(pattern) {}

  std::string operator()() {
    while (at_ < pattern_.size()) {
      const char c = pattern_[at_];
      if (c == '\\') {
        escape();
      } else if (in_class_) {
        class_character(c);
      } else if (c == '[') {
        open_class();
      } else if (pattern_.compare(at_, 2, "(?") == 0) {
        group();
      } else if (c == '{') {
        interval();
      } else {
        result_ += c;
        ++at_;
      }
    }
    return std::move(result_);
  }

 private:
  void escape() {
    if (at_ + 1 == pattern_.size()) fail("pattern '{}' ends in a backslash", excerpt(pattern_));
    const char c = pattern_[at_ + 1];
    if (const auto members = class_of(c)) {
      result_ += in_class_ ? std::string(*members) : fmt::format("[{}{}]", *members, c == 'w' ? latin_digits : "");
      at_ += 2;
    } else if (c == 'W') {
      if (in_class_) fail("pattern '{}': \\W in a class is not supported", excerpt(pattern_));
      result_ += fmt::format("[^{}{}]", word, latin_digits);
      at_ += 2;
    } else if ((c == 'b' || c == 'B') && !in_class_) {  // a word of PCRE2 ends before an accent
      const std::string of_word = fmt::format("[{}{}]", word, latin_digits);
      result_ += c == 'b' ? fmt::format("(?:(?<={0})(?!{0})|(?<!{0})(?={0}))", of_word)
                          : fmt::format("(?:(?<={0})(?={0})|(?<!{0})(?!{0}))", of_word);
      at_ += 2;
    } else if ((c == 'p' || c == 'P') && pattern_.compare(at_ + 2, 1, "{") == 0) {
      const std::size_t end = pattern_.find('}', at_);
      if (end == pattern_.npos) fail("pattern '{}': '}}' is missing behind \\{}{{", excerpt(pattern_), c);
      std::string named = property(std::string_view(pattern_).substr(at_ + 3, end - at_ - 3));
      named[1] = c;
      result_ += named;
      at_ = end + 1;
    } else if (c == 'X') {  // PCRE2 divides emoji in other places
      fail("pattern '{}': \\X is not supported", excerpt(pattern_));
    } else if (c == 'u' && at_ + 6 <= pattern_.size()) {
      result_ += fmt::format("\\x{{{}}}", pattern_.substr(at_ + 2, 4));
      at_ += 6;
    } else {
      result_ += pattern_.substr(at_, 2);
      at_ += 2;
    }
  }

  void open_class() {
    in_class_ = true;
    const std::size_t length = pattern_.compare(at_ + 1, 1, "^") == 0 ? 2 : 1;
    result_ += pattern_.substr(at_, length);
    at_ += length;
    if (pattern_.compare(at_, 1, "]") == 0) {  // a member
      result_ += "\\]";
      ++at_;
    }
  }

  void class_character(char c) {
    const std::string_view rest = std::string_view(pattern_).substr(at_);
    constexpr std::string_view space = "[:space:]", alphabetic = "[:alpha:]";
    if (rest.starts_with(space) || rest.starts_with(alphabetic)) {
      result_ += rest.starts_with(space) ? white_space : letter;
      at_ += space.size();
      return;
    }
    if (c == '[') {
      open_inner_class(rest);
    } else if (c == ']' && inner_ > 0) {
      close_inner_class(rest);
    } else {
      if (rest.starts_with("&&")) refuse_class();
      if (c == ']') in_class_ = false;
      result_ += c;
      ++at_;
    }
  }

  [[noreturn]] void refuse_class() const {
    fail("pattern '{}': a class within a class may only add members, as in [a[bc]]", excerpt(pattern_));
  }

  // "[a[bc]d]" has the members of "[abcd]", which PCRE2 reads. A '-' beside an inner bracket would become a range.
  void open_inner_class(std::string_view rest) {
    if (rest.starts_with("[^") || rest.starts_with("[]") || rest.starts_with("[:") || result_.ends_with('-'))
      refuse_class();
    ++inner_;
    ++at_;
  }

  void close_inner_class(std::string_view rest) {
    if (rest.starts_with("]-") || result_.ends_with('-')) refuse_class();
    --inner_;
    ++at_;
  }

  // "(?m:": in Ruby's syntax a dot then matches a line end, too, which PCRE2 calls s.
  void group() {
    std::size_t end = at_ + 2;
    while (end < pattern_.size() &&
           (pattern_[end] == 'i' || pattern_[end] == 'm' || pattern_[end] == 'x' || pattern_[end] == '-'))
      ++end;
    const bool is_options = end < pattern_.size() && (pattern_[end] == ':' || pattern_[end] == ')');
    for (std::size_t i = at_; i < end; ++i) result_ += is_options && pattern_[i] == 'm' ? 's' : pattern_[i];
    at_ = end;
  }

  void interval() {
    const std::size_t end = pattern_.find('}', at_);
    const std::string inside = end == pattern_.npos ? "" : pattern_.substr(at_ + 1, end - at_ - 1);
    const bool is_interval = !inside.empty() && inside.find_first_not_of("0123456789,") == inside.npos && inside != ",";
    if (!is_interval) {
      result_ += "\\{";
      ++at_;
      return;
    }
    if (pattern_.compare(end + 1, 1, "+") == 0) {
      fail("pattern '{}': '+' behind an interval is not supported", excerpt(pattern_));
    }
    result_ += inside[0] == ',' ? fmt::format("{{0{}}}", inside) : fmt::format("{{{}}}", inside);
    at_ = end + 1;
  }

  const std::string& pattern_;
  std::size_t at_ = 0;
  bool in_class_ = false;
  int inner_ = 0;  // classes open within the class
  std::string result_;
};

}  // namespace

// PCRE2 limits the steps of one attempt, at one place of a text. A long text has many places, so that the sum is
// limited here: by the processor time of this thread, which other programs do not change.
class SearchTime::Clock {
 public:
  explicit Clock(std::size_t bytes) : end_(now() + 2.0 + 5e-6 * static_cast<double>(bytes)) {}
  // Returns whether the time is over. Reads the clock at each 64th call, and at each one after a search of many places.
  bool is_over(bool was_long) { return (was_long || ++calls_ % 64 == 0) && now() > end_; }

 private:
  static double now() {
    std::timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
  double end_;
  unsigned calls_ = 0;
};

namespace {
thread_local SearchTime::Clock* search_clock = nullptr;

// PCRE2 calls this within a match, before each item of the pattern.
int stop_when_over(pcre2_callout_block*, void*) { return search_clock->is_over(false) ? PCRE2_ERROR_CALLOUT : 0; }
}  // namespace

SearchTime::SearchTime(std::size_t bytes) {
  if (search_clock) return;
  clock_ = std::make_unique<Clock>(bytes);
  search_clock = clock_.get();
}

SearchTime::~SearchTime() {
  if (clock_) search_clock = nullptr;
}

std::string from_oniguruma(const std::string& pattern) { return Translation(pattern)(); }

using CodePointer = std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)>;

struct Regex::Code {
  std::string translated;
  CodePointer code{nullptr, pcre2_code_free};
  std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)> limits{nullptr, pcre2_match_context_free};
};

Regex::Regex(const std::string& pattern, Syntax syntax) : pattern_(pattern) {
  if (pattern.size() > max_pattern) fail("a pattern has {} bytes, more than {}", pattern.size(), max_pattern);
  int error = 0;
  std::size_t at = 0;
  auto code = std::make_shared<Code>();
  code->translated = syntax == Syntax::pcre2 ? pattern : from_oniguruma(pattern);
  code->code.reset(compile(code->translated, error, at));
  if (!code->code) {
    fail("pattern '{}': {}, at byte {} of '{}'", excerpt(pattern), message_of_code(error), at,
         excerpt(code->translated));
  }
  code->limits.reset(pcre2_match_context_create(nullptr));
  if (!code->limits) throw std::bad_alloc();
  pcre2_set_match_limit(code->limits.get(), few_match_steps);
  pcre2_set_heap_limit(code->limits.get(), max_match_kib);
  pcre2_set_callout(code->limits.get(), stop_when_over, nullptr);
  code_ = std::move(code);
}

Regex Regex::literal(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 128 && !(c >= '0' && c <= '9') && !(c >= 'A' && c <= 'Z') &&
        !(c >= 'a' && c <= 'z') && c != 0)
      pattern += '\\';
    pattern += c;
  }
  return Regex(pattern, Syntax::pcre2);
}

std::vector<Regex::Match> Regex::matches(std::string_view text) const {
  if (text.empty()) return {};
  const SearchTime time(text.size());
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> found(pcre2_match_data_create(1, nullptr),
                                                                                  pcre2_match_data_free);
  if (!found) throw std::bad_alloc();
  std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)> limits{nullptr, pcre2_match_context_free};
  const PCRE2_SIZE* place = pcre2_get_ovector_pointer(found.get());
  std::vector<Match> result;
  std::optional<std::size_t> last_end;
  const std::size_t many = std::max<std::size_t>(256, text.size() / 64);  // places that one call searches
  const auto few_steps = static_cast<std::uint32_t>(
      std::clamp<std::size_t>(max_scanned / std::max<std::size_t>(1, text.size()), 100, few_match_steps));
  std::size_t places = many;
  CodePointer interruptible{nullptr, pcre2_code_free};
  for (std::size_t at = 0; at <= text.size();) {
    if (places <= text.size() || limits) {  // a short text needs no limits of its own
      if (!limits) limits.reset(pcre2_match_context_copy(code_->limits.get()));
      if (!limits) throw std::bad_alloc();
      pcre2_set_offset_limit(limits.get(), at + places - 1);
      pcre2_set_match_limit(limits.get(), places == 1 ? max_match_steps : few_steps);
    }
    if (places == 1 && !interruptible) {
      int error = 0;
      std::size_t where = 0;
      interruptible.reset(compile(code_->translated, error, where, PCRE2_AUTO_CALLOUT));
      if (!interruptible) throw std::bad_alloc();
    }
    const pcre2_code* searched = places == 1 ? interruptible.get() : code_->code.get();
    const int code = pcre2_match(searched, units(text), text.size(), at, PCRE2_NO_UTF_CHECK, found.get(),
                                 limits ? limits.get() : code_->limits.get());
    const bool is_over = search_clock->is_over(code < 0 && text.size() - at >= places);
    if (is_over || code == PCRE2_ERROR_CALLOUT || (code == PCRE2_ERROR_MATCHLIMIT && places == 1)) {
      fail("pattern '{}' takes too long on a text of {} bytes", excerpt(pattern_), text.size());
    }
    if (code == PCRE2_ERROR_MATCHLIMIT) {
      places = std::max<std::size_t>(1, places / 16);  // the place that needs more steps is not known
      continue;
    }
    if (code == PCRE2_ERROR_NOMATCH) {
      if (text.size() - at < places) break;
      at += places;
      while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) ++at;
      places = std::min(places * 16, many);
      continue;
    }
    if (code < 0)
      fail("pattern '{}' fails on a text of {} bytes: {}", excerpt(pattern_), text.size(), message_of_code(code));
    places = many;
    const Match match{place[0], place[1]};
    if (match.begin >= match.end && last_end == match.end) {  // an empty match right behind another one
      if (at == text.size()) break;
      next_code_point(text, at);
      continue;
    }
    if (match.begin > match.end) fail("pattern '{}' ends before it begins", excerpt(pattern_));
    result.push_back(match);
    at = match.end;
    last_end = match.end;
  }
  return result;
}

}  // namespace heed::tokenizers
