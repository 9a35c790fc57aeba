#pragma once
#include <heed/autograd/ops.h>
#include <heed/data/batch.h>

#include <vector>

namespace heed {

/// Joins the questions of batches with texts of one length.
inline Batch joined(const std::vector<Batch>& batches) {
  std::vector<Ids> tokens, segments, query, candidates;
  Batch result;
  for (const Batch& batch : batches) {
    tokens.push_back(batch.tokens), query.push_back(batch.query);
    if (batch.segments.numel() > 0) segments.push_back(batch.segments);
    if (batch.candidates.numel() > 0) candidates.push_back(batch.candidates);
    result.lengths.insert(result.lengths.end(), batch.lengths.begin(), batch.lengths.end());
  }
  result.tokens = concat(tokens, 0), result.query = concat(query, 0);
  if (!segments.empty()) result.segments = concat(segments, 0);
  if (!candidates.empty()) result.candidates = concat(candidates, 0);
  return result;
}

}  // namespace heed
