#include <heed/autograd/error.h>
#include <heed/data/batch.h>

#include <algorithm>

namespace heed {

Ids Batch::segments_or_zero() const {
  if (segments.numel() == 0) return Ids(tokens.shape(), std::vector<std::int32_t>(tokens.numel()));
  if (segments.shape() == tokens.shape()) return segments;
  fail("Transformer: expected segments {}, got {}", to_string(tokens.shape()), to_string(segments.shape()));
}

std::vector<int> Batch::lengths_in_tokens() const {
  if (!lengths.empty()) return lengths;
  return std::vector<int>(static_cast<std::size_t>(size()), static_cast<int>(tokens.shape()[1]));
}

Ids Batch::targets_in_texts() const {
  const std::int64_t B = size(), T = tokens.shape()[1];
  if (lengths.empty() || targets.numel() == 0) return targets;
  if (std::ssize(lengths) != B || targets.numel() != B * T) {
    fail("Batch: expected {} lengths and {} targets, got {} and {}", B, B * T, lengths.size(), targets.numel());
  }
  std::vector<std::int32_t> inside(targets.begin(), targets.end());
  for (std::int64_t b = 0; b < B; ++b) {
    const std::int64_t length = std::clamp<std::int64_t>(lengths[static_cast<std::size_t>(b)], 0, T);
    std::fill(inside.begin() + b * T + length, inside.begin() + (b + 1) * T, -1);
  }
  return Ids(targets.shape(), std::move(inside));
}

Batch part_of(const Batch& batch, int part, int parts) {
  const std::int64_t B = batch.size();
  if (B % parts != 0) fail("part_of: {} parts do not divide a batch of {}", parts, B);
  const auto rows = [&](const Ids& ids) {  // splits B rows of any length
    const std::int64_t size = ids.numel() / parts;
    Shape shape = ids.shape();
    shape[0] /= parts;
    return ids.numel() == 0 ? ids : Ids(shape, {ids.data() + part * size, ids.data() + (part + 1) * size});
  };
  Batch result{.tokens = rows(batch.tokens),
               .segments = rows(batch.segments),
               .query = rows(batch.query),
               .candidates = rows(batch.candidates),
               .answer = rows(batch.answer),
               .chosen = rows(batch.chosen),
               .targets = rows(batch.targets)};
  if (batch.lengths.empty()) return result;
  const auto first = batch.lengths.begin() + part * (B / parts);
  result.lengths = {first, first + B / parts};
  return result;
}

}  // namespace heed
