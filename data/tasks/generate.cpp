#include <heed/autograd/error.h>
#include <heed/data/tasks/generate.h>

#include <algorithm>
#include <numeric>

namespace heed {

PairSplit split_pairs(int nouns, int adjectives, Random random) {
  std::vector<int> row(static_cast<std::size_t>(nouns)), column(static_cast<std::size_t>(adjectives));
  std::iota(row.begin(), row.end(), 0);
  std::iota(column.begin(), column.end(), 0);
  random.shuffle(row);
  random.shuffle(column);

  PairSplit split;
  split.train.resize(row.size());
  split.held_out.resize(row.size());
  for (std::size_t i = 0; i < row.size(); ++i) {
    for (std::size_t j = 0; j < column.size(); ++j) {
      const bool held_out = (row[i] + column[j]) % 5 == (row[0] + column[0]) % 5;
      (held_out ? split.held_out : split.train)[i].push_back(static_cast<int>(j));
    }
    random.shuffle(split.train[i]);
    random.shuffle(split.held_out[i]);
  }
  std::vector<int>& first = split.held_out.at(0);
  std::iter_swap(first.begin(), std::find(first.begin(), first.end(), 0));
  return split;
}

std::vector<int> draw(const std::string& what, int count, std::int64_t space, int keep, Random random) {
  if (count < 0 || count > space) {
    fail("{}: expected 0 to {}, got {}{}", what, space, count, count > space ? ": no more exist" : "");
  }
  std::vector<int> numbers(static_cast<std::size_t>(space));
  std::iota(numbers.begin(), numbers.end(), 0);
  for (std::int64_t i = keep; i < count; ++i) {  // Fisher-Yates, as far as needed
    std::swap(numbers[static_cast<std::size_t>(i)], numbers[static_cast<std::size_t>(i + random.below(space - i))]);
  }
  numbers.resize(static_cast<std::size_t>(count));
  return numbers;
}

std::vector<std::string> fill(std::string_view shape, const std::map<std::string_view, std::string_view>& words) {
  std::vector<std::string> tokens;
  for (std::size_t begin = 0, end = 0; end < shape.size(); begin = end + 1) {
    end = std::min(shape.find(' ', begin), shape.size());
    const std::string_view token = shape.substr(begin, end - begin);
    tokens.emplace_back(token.starts_with('{') ? words.at(token) : token);
  }
  return tokens;
}

}  // namespace heed
