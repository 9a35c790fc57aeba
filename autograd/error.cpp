#include <heed/autograd/error.h>

#include <algorithm>
#include <vector>

namespace heed {
namespace {

// Splits UTF-8 into characters. An invalid byte is a character of its own.
std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> result;
  while (!text.empty()) {
    std::size_t size = 1;
    while (size < std::min<std::size_t>(text.size(), 4) && (text[size] & 0xC0) == 0x80) ++size;
    result.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return result;
}

bool differ_in_case_alone(std::string_view a, std::string_view b) {
  const auto small = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return a != b && std::ranges::equal(a, b, {}, small, small);
}

// Whether `word` is the end of `candidate` behind a dot, as "W_Q" is of "encoder.0.W_Q".
bool is_last_part(std::string_view word, std::string_view candidate) {
  return candidate.size() > word.size() && candidate.ends_with(word) &&
         candidate[candidate.size() - word.size() - 1] == '.';
}

// Counts the insertions, deletions, substitutions and swaps of adjacent characters that turn a into b.
std::size_t edit_distance(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

const std::string& LayerScope::layer() {
  static const std::string none;
  return innermost_ ? *innermost_ : none;
}

std::string in_layer(std::string text) {
  const std::string& layer = LayerScope::layer();
  return layer.empty() ? text : layer + ": " + text;
}

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  // in bytes: the distance takes time and memory proportional to the product of both lengths
  constexpr std::size_t longest = 200;
  if (word.size() > longest) return "";
  const std::string* nearest = nullptr;
  const std::vector<std::string_view> letters = characters(word);
  // Short words need a small bound, since every other short word is near: one change out of three letters, or a swap of
  // two.
  const std::size_t n = letters.size();
  std::size_t least = n < 2 ? 0 : n < 4 ? 2 : std::max<std::size_t>(3, n / 2 + 1);
  for (const std::string& candidate : candidates) {
    if (candidate.size() > longest) continue;
    if (differ_in_case_alone(word, candidate) || is_last_part(word, candidate))
      return fmt::format(" (did you mean '{}'?)", candidate);
    const std::vector<std::string_view> others = characters(candidate);
    if (n == 2 && !(others.size() == 2 && others[0] == letters[1] && others[1] == letters[0])) continue;
    const std::size_t distance = edit_distance(letters, others);
    if (distance < least) {
      least = distance;
      nearest = &candidate;
    }
  }
  return nearest ? fmt::format(" (did you mean '{}'?)", *nearest) : "";
}

}  // namespace heed
