#include "explain/studies/internal/cause_rows.h"

#include <heed/explain/studies/baseline.h>

#include <cmath>
#include <numeric>

namespace heed {
namespace {

double deviation(const std::vector<double>& values) {
  const double centre = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - centre) * (value - centre);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

}  // namespace

double mean(const std::vector<double>& values) {
  return values.empty() ? no_figure
                        : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::string name_of(const Example& e, int token) {
  if (token == e.query) return "itself";
  for (const Role role : {Role::antecedent, Role::distractor, Role::cue}) {
    const Span span = span_of(e, role);
    if (span.begin <= token && token < span.end) return to_string(role);
  }
  return "rest";
}

Span keys_from(const Example& e, int first) {
  if (first >= std::ssize(e.tokens)) return {};
  for (const Role role : {Role::antecedent, Role::distractor}) {
    const Span span = span_of(e, role);
    if (span.begin < first && first < span.end) return {};
    if (span.begin == first && span.end > first) return span;
  }
  return {first, first + 1};
}

Cause cause_of(Cause cause, Heads heads, const Gathered& row, std::optional<int> constant) {
  cause.layer = heads.layer;
  cause.head = heads.head;
  if (cause.to != "rest") {
    cause.sentences = static_cast<int>(row.changes.size());
    cause.unmoved = {no_figure, no_figure, no_figure};
    for (std::size_t i = 0; i < row.lost.size(); ++i) cause.losses.push_back({row.sentences[i], row.lost[i]});
  }
  cause.weight = mean(row.weights);
  cause.probability = mean(row.changes);
  cause.spread = deviation(row.changes);
  cause.before = interval_of(row.before, row.groups, share_scale);
  cause.accuracy = interval_of(row.right, row.groups, share_scale);
  cause.lost = interval_of(row.lost, row.groups, difference_scale);
  cause.p = p_of(row.lost, row.groups);
  cause.verdict = verdict_of(row.before, row.right, row.groups, chance_of(row.answers, row.fair, constant));
  cause.verdict.sentences = cause.sentences;
  cause.flipped = is_patch(cause.what) ? interval_of(row.flipped, row.flipped_groups, share_scale) : no_interval;
  return cause;
}

}  // namespace heed
