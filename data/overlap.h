#pragma once
#include <heed/data/task.h>

#include <cstdint>
#include <functional>
#include <unordered_set>
#include <vector>

namespace heed {

/// Returns a hash of a sentence's letters and digits, ignoring case and all other characters. The question, the
/// candidates and the answer do not matter.
std::uint64_t sentence_number(const Example& example);
/// The hashes of all sentences.
std::unordered_set<std::uint64_t> sentence_numbers(const std::vector<Example>& examples);

/// Removes the examples for which `is_out` is true or whose sentences are in `known`, and returns their number. A
/// remaining example whose counterpart was removed loses the link. Throws Error for a link beyond the examples.
std::size_t leave_out_if(std::vector<Example>& examples, const std::function<bool(const Example&)>& is_out);
/// Removes known sentences.
std::size_t leave_out(std::vector<Example>& examples, const std::unordered_set<std::uint64_t>& known);

}  // namespace heed
