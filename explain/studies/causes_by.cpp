#include "explain/studies/internal/cause_rows.h"

#include <heed/explain/studies/causes_by.h>
#include <heed/files/utf8.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace heed {
namespace {

using ValueOf = std::string (*)(const Example&);

constexpr std::pair<const char*, ValueOf> fields[] = {
    {"relation", [](const Example& e) { return e.relation; }},
    {"decider", [](const Example& e) { return e.cue; }},
    {"answer", [](const Example& e) { return e.answer; }},
    {"query", [](const Example& e) { return e.tokens.at(static_cast<std::size_t>(e.query)); }},
};

// Returns the function that gives a sentence's value of a field.
ValueOf value_of_field(const std::vector<Example>& sentences, const std::string& field) {
  const auto found = std::ranges::find(fields, field, [](const auto& one) { return std::string(one.first); });
  const std::vector<std::string> known = fields_of(sentences);
  if (std::ranges::find(known, field) == known.end()) {
    fail("the held-out sentences have no field '{}'{}; they have {}", excerpt(field), did_you_mean(field, known),
         listed(known));
  }
  return found->second;
}

std::map<std::string, std::vector<Example>> kinds_of(const std::vector<Example>& sentences, const std::string& field) {
  const ValueOf value_of = value_of_field(sentences, field);
  std::map<std::string, std::vector<Example>> kinds;
  std::vector<int> place(sentences.size());  // of each sentence in its kind
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    std::vector<Example>& kind = kinds[value_of(sentences[i])];
    place[i] = static_cast<int>(kind.size());
    kind.push_back(sentences[i]);
    const auto counterpart = static_cast<std::size_t>(sentences[i].counterpart);
    const bool has_counterpart =
        sentences[i].counterpart >= 0 && value_of(sentences.at(counterpart)) == value_of(sentences[i]);
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

// Returns the constant answer of each kind: the most frequent one. The sentences of one answer, or of one cue word, have the same
// answer because they were put together by it. So the answer that is right in most of `all` sentences counts there, if any does.
ConstantOf constant_in_kinds(const std::vector<Example>& all, const std::string& field) {
  if (field != "answer" && field != "decider") return [](const auto&) { return std::nullopt; };
  std::map<std::string, int> times;
  std::optional<std::string> most;
  for (const Example& e : all) {
    if (2 * ++times[e.answer] > std::ssize(all)) most = e.answer;
  }
  return [most](const std::vector<Example>& sentences) {
    constexpr int no_sentence = -1;
    const auto found = std::ranges::find_if(sentences, [&](const Example& e) { return e.answer == most; });
    return found == sentences.end() ? no_sentence
                                    : numbered_answers(sentences)[static_cast<std::size_t>(found - sentences.begin())];
  };
}

// A row by which kinds are compared, and the number of rows of which it is the largest.
struct Compared {
  const Cause* row = nullptr;
  std::size_t rows = 0;
};

// Returns the edge to the antecedent in the head that points, which its weight chooses, or the mean ablation with the largest
// effect.
Compared compared_row(const Causes& all) {
  if (all.pointing) return {all.find(Cause::What::edge, all.pointing->layer, all.pointing->head, "antecedent"), 1};
  Compared most;
  for (const Cause& row : all.rows) {
    if (row.what != Cause::What::mean_ablation) continue;
    ++most.rows;
    if (!most.row || row.probability < most.row->probability) most.row = &row;
  }
  return most;
}

void compare_kinds(CausesBy& result, const Compared& compared, const HeldOut& used, ValueOf value_of) {
  const Cause& row = *compared.row;
  result.by = row.what;
  result.layer = row.layer;
  result.head = row.head;
  result.sentences = row.sentences;
  std::map<std::string, std::size_t> place;  // of each kind
  for (std::size_t i = 0; i < result.groups.size(); ++i) place[result.groups[i].value] = i;
  std::vector<Sample> kinds(result.groups.size());
  for (const auto& [sentence, lost] : row.losses) {
    const auto i = static_cast<std::size_t>(sentence);
    Sample& kind = kinds[place.at(value_of(used.sentences().at(i)))];
    kind.values.push_back(lost);
    kind.groups.push_back(used.group(i));
  }
  result.differences = differences_between(kinds, compared.rows);
  if (!result.differences.empty()) result.largest = result.differences[0];
  std::erase_if(result.differences, [](const CausesBy::Difference& one) { return !one.lost.is_above(0); });
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
  CausesBy result{.field = field, .groups = {}, .differences = {}, .largest = {}};
  const ConstantOf constant_of = constant_in_kinds(used.sentences(), field);
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
    result.groups.push_back({value, causes_beside(constant_of, model, sentences, of_kind, measured)});
  }
  std::ranges::stable_sort(result.groups, std::greater<>(),
                           [](const CausesBy::Group& group) { return group.causes.sentences; });
  const Compared compared = compared_row(all);
  if (compared.row) compare_kinds(result, compared, used, value_of_field(used.sentences(), field));
  return result;
}

std::vector<CausesBy::Difference> differences_between(const std::vector<Sample>& kinds, std::size_t rows) {
  const auto count =
      static_cast<double>(std::ranges::count_if(kinds, [](const Sample& kind) { return !kind.values.empty(); }));
  const double error = 0.05 / (count * (count - 1) / 2 * static_cast<double>(rows));  // Bonferroni
  std::vector<Interval> lost_by;
  for (const Sample& kind : kinds) lost_by.push_back(interval_of(kind.values, kind.groups, difference_scale, error));
  std::vector<CausesBy::Difference> all;
  for (std::size_t a = 0; a < kinds.size(); ++a) {
    for (std::size_t b = a + 1; b < kinds.size(); ++b) {
      if (kinds[a].values.empty() || kinds[b].values.empty()) continue;
      const Interval lost = difference_of(lost_by[a], lost_by[b], correlation_of(kinds[a], kinds[b]));
      const bool is_more = lost.share >= 0;
      all.push_back(is_more ? CausesBy::Difference{a, b, lost}
                            : CausesBy::Difference{b, a, {-lost.share, -lost.high, -lost.low}});
    }
  }
  std::ranges::stable_sort(all, std::greater<>(), [](const CausesBy::Difference& one) { return one.lost.share; });
  return all;
}

}  // namespace heed
