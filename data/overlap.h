#pragma once
#include <heed/data/task.h>

#include <cstdint>
#include <functional>
#include <unordered_set>
#include <vector>

namespace heed {

// A number of a sentence's letters and digits, whatever their case and whatever stands between them; the question, the
// candidates and the answer do not count.
std::uint64_t sentence_number(const Example& example);
std::unordered_set<std::uint64_t> sentence_numbers(const std::vector<Example>& examples);

// Leaves out of `examples` those of which `is_out` is true, or whose sentences are among `known`; twins that stay without
// theirs have none. How many.
std::size_t leave_out_if(std::vector<Example>& examples, const std::function<bool(const Example&)>& is_out);
std::size_t leave_out(std::vector<Example>& examples, const std::unordered_set<std::uint64_t>& known);

}  // namespace heed
