#include <heed/explain/studies/causes_by.h>
#include <heed/files/utf8.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace heed {
namespace {

constexpr std::pair<const char*, std::string (*)(const Example&)> fields[] = {
    {"relation", [](const Example& e) { return e.relation; }},
    {"decider", [](const Example& e) { return e.cue; }},
    {"answer", [](const Example& e) { return e.answer; }},
    {"query", [](const Example& e) { return e.tokens.at(static_cast<std::size_t>(e.query)); }},
};

std::map<std::string, std::vector<Example>> kinds_of(const std::vector<Example>& sentences, const std::string& field) {
  const auto found = std::ranges::find(fields, field, [](const auto& one) { return std::string(one.first); });
  const std::vector<std::string> known = fields_of(sentences);
  if (std::ranges::find(known, field) == known.end()) {
    fail("the held-out sentences have no field '{}'{}; they have {}", excerpt(field), did_you_mean(field, known),
         listed(known));
  }
  std::map<std::string, std::vector<Example>> kinds;
  std::vector<int> place(sentences.size());  // of each sentence in its kind
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    std::vector<Example>& kind = kinds[found->second(sentences[i])];
    place[i] = static_cast<int>(kind.size());
    kind.push_back(sentences[i]);
    const auto counterpart = static_cast<std::size_t>(sentences[i].counterpart);
    const bool has_counterpart =
        sentences[i].counterpart >= 0 && found->second(sentences.at(counterpart)) == found->second(sentences[i]);
    if (!has_counterpart) kind.back().counterpart = -1;
    if (has_counterpart && counterpart < i) {
      kind.back().counterpart = place[counterpart];
      kind[static_cast<std::size_t>(place[counterpart])].counterpart = place[i];
    }
  }
  if (std::ssize(kinds) > max_kinds) {
    fail("the held-out sentences have {} values of '{}'; expected at most {} kinds to tell apart", kinds.size(), field,
         max_kinds);
  }
  return kinds;
}

// Returns the row by which kinds are compared, or null.
const Cause* compared_row(const Causes& all) {
  if (all.pointing) return all.find(Cause::What::edge, all.pointing->layer, all.pointing->head, "antecedent");
  const Cause* most = nullptr;
  for (const Cause& row : all.rows) {
    const bool is_larger = row.what == Cause::What::mean_ablation && (!most || row.probability < most->probability);
    if (is_larger) most = &row;
  }
  return most;
}

void compare_kinds(CausesBy& result, const Cause& row) {
  result.by = row.what;
  result.layer = row.layer;
  result.head = row.head;
  const double pairs = static_cast<double>(result.groups.size() * (result.groups.size() - 1)) / 2;
  const auto lost = [&](const Cause& cause) {  // Bonferroni
    return interval_of(cause.losses, difference_scale, 0.05 / pairs);
  };
  for (std::size_t a = 0; a < result.groups.size(); ++a) {
    for (std::size_t b = 0; b < result.groups.size(); ++b) {
      const Cause* one = result.groups[a].causes.find(row.what, row.layer, row.head, row.to);
      const Cause* other = result.groups[b].causes.find(row.what, row.layer, row.head, row.to);
      if (a == b || !one || !other) continue;
      const Interval x = lost(*one), y = lost(*other);  // of different sentences (Newcombe 1998, method 10)
      const double difference = x.share - y.share;
      const Interval more{difference, difference - std::hypot(x.share - x.low, y.high - y.share),
                          difference + std::hypot(x.high - x.share, y.share - y.low)};
      if (more.is_above(0)) result.differences.push_back({a, b, more});
    }
  }
}

}  // namespace

std::vector<std::string> fields_of(const std::vector<Example>& sentences) {
  std::vector<std::string> found;
  for (const auto& [name, value] : fields) {
    const auto has_value = [&of = value](const Example& e) { return !of(e).empty(); };
    if (std::ranges::any_of(sentences, has_value)) found.emplace_back(name);
  }
  return found;
}

std::string default_field(const std::vector<Example>& sentences) {
  const auto is_other = [&](const Example& e) { return e.relation != sentences[0].relation; };
  return std::ranges::any_of(sentences, is_other) ? "relation" : "";
}

void check_field(const std::vector<Example>& sentences, const std::string& field) { kinds_of(sentences, field); }

CausesBy causes_by(const Model& model, const std::vector<Example>& held_out, const Causes& all,
                   const std::string& field, const StudyOptions& options, Heads among) {
  const HeldOut used(model, held_out, static_cast<std::size_t>(all.sentences));
  CausesBy result{.field = field, .groups = {}, .differences = {}};
  for (const auto& [value, sentences] : kinds_of(used.sentences(), field)) {
    StudyOptions of_kind = options;
    of_kind.most = static_cast<int>(sentences.size());
    if (options.progress) {
      of_kind.progress = [&, name = value](const std::string& what, double share, double seconds) {
        options.progress(fmt::format("{} of {}", what, name), share, seconds);
      };
    }
    Heads measured = among;
    if (all.pointing && among.layer >= 0) measured = {all.pointing->layer, all.pointing->head};
    result.groups.push_back({value, causes(model, sentences, {}, of_kind, measured)});
  }
  std::ranges::stable_sort(result.groups, std::greater<>(),
                           [](const CausesBy::Group& group) { return group.causes.sentences; });
  if (const Cause* row = compared_row(all)) compare_kinds(result, *row);
  return result;
}

}  // namespace heed
