#include <heed/data/overlap.h>
#include <heed/explain/studies/assignment.h>
#include <heed/explain/studies/baseline.h>
#include <heed/explain/studies/matched_heads.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

namespace heed {
namespace {

constexpr double not_known = std::numeric_limits<double>::quiet_NaN();

// The weights and effects of one head, per sentence.
struct HeadTrace {
  int layer, head;
  std::vector<std::vector<float>> weights;  // [sentence][token], from the query
  std::vector<float> effects;               // fall of the answer's probability after zero ablation
};

struct RunTraces {
  MatchedHeads::Run run;
  std::vector<HeadTrace> heads;
};

// Both sentences of a pair are in the same half.
bool is_of_first_half(std::size_t sentence) { return sentence / 2 % 2 == 0; }

double share_right(const HeldOut& held_out, const std::vector<HeldOut::Answer>& answers) {
  double right = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) right += answers[i].word == held_out.right(i);
  return right / static_cast<double>(answers.size());
}

double mean_weight(const HeadTrace& trace, const std::vector<Example>& sentences, Role to) {
  double sum = 0;
  int count = 0;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    const Span span = span_of(sentences[i], to);
    for (int token = span.begin; token < span.end; ++token) {
      sum += static_cast<double>(trace.weights[i][static_cast<std::size_t>(token)]);
    }
    count += span.begin < span.end;
  }
  return count ? sum / count : not_known;
}

double mean_effect(const HeadTrace& trace) {
  return std::accumulate(trace.effects.begin(), trace.effects.end(), 0.0) / static_cast<double>(trace.effects.size());
}

// Returns the sentences with a known antecedent.
std::vector<Example> known_of(const std::vector<Example>& sentences) {
  std::vector<Example> known;
  std::ranges::copy_if(sentences, std::back_inserter(known),
                       [](const Example& e) { return span_of(e, Role::antecedent).end > 0; });
  return known;
}

// Which answers are right (1), over the sentences with a known antecedent.
struct Right {
  std::vector<double> values;
  std::vector<int> groups;
};

Right right_of(const HeldOut& held_out, const std::vector<HeldOut::Answer>& answers) {
  Right right;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (span_of(held_out.sentences()[i], Role::antecedent).end <= 0) continue;
    right.values.push_back(answers[i].word == held_out.right(i));
    right.groups.push_back(held_out.group(i));
  }
  return right;
}

Interval flip_rate(const HeldOut& held_out, const std::vector<HeldOut::Answer>& before,
                   const std::vector<HeldOut::Answer>& patched) {
  std::vector<double> flipped;
  std::vector<int> groups;
  for (std::size_t i = 0; i < patched.size(); ++i) {
    if (held_out.sentences()[i].counterpart < 0) continue;
    flipped.push_back(held_out.flips(i, before[i], patched[i]));
    groups.push_back(held_out.group(i));
  }
  return interval_of(flipped, groups, share_scale);
}

MatchedHeads::Pointing pointing_of(const HeldOut& held_out, const HeadTrace& trace, double weight,
                                   const std::vector<HeldOut::Answer>& before) {
  const EdgeOf to_antecedent = [](const Example& e) { return Edge{e.query, span_of(e, Role::antecedent)}; };
  MatchedHeads::Pointing result{.layer = trace.layer, .head = trace.head, .weight = weight};
  const Right right = right_of(held_out, before);
  result.before = interval_of(right.values, right.groups, share_scale);
  const Chance chance = chance_of(known_of(held_out.sentences()));
  const auto cut_in = [&](Heads heads, Interval& accuracy, Verdict& lost) {
    const Right after = right_of(held_out, held_out.answers(cut_in_each(heads, to_antecedent)));
    accuracy = interval_of(after.values, after.groups, share_scale);
    lost = verdict_of(right.values, after.values, right.groups, chance);
  };
  const Heads alone{trace.layer, trace.head};
  cut_in(alone, result.without, result.lost);
  cut_in({trace.layer, -1}, result.without_in_layer, result.lost_in_layer);
  result.flipped = flip_rate(held_out, before, held_out.answers(patch_from_counterparts(alone)));
  result.carried = carried_by(result.lost, result.lost_in_layer);
  return result;
}

RunTraces traces_of(const std::string& name, const Model& model, const HeldOut& held_out) {
  const std::vector<Example>& sentences = held_out.sentences();
  const Baseline before(held_out);
  RunTraces result{{.name = name, .step = model.step, .pointing = {}}, {}};
  result.run.accuracy = share_right(held_out, before.answers());
  const HeadTrace* pointing = nullptr;
  double max_weight = -1;
  result.heads.reserve(static_cast<std::size_t>(held_out.layers()) * static_cast<std::size_t>(held_out.heads()));
  std::vector<InterventionOf> ablations;
  for (int layer = 0; layer < held_out.layers(); ++layer) {
    for (int head = 0; head < held_out.heads(); ++head)
      ablations.push_back([=](auto) { return ablate({layer, head}); });
  }
  const std::vector<std::vector<HeldOut::Answer>> without = held_out.answers(ablations);
  for (int layer = 0; layer < held_out.layers(); ++layer) {
    for (int head = 0; head < held_out.heads(); ++head) {
      const std::vector<HeldOut::Answer>& zeroed = without[result.heads.size()];
      HeadTrace& trace = result.heads.emplace_back(HeadTrace{layer, head, {}, {}});
      for (std::size_t i = 0; i < sentences.size(); ++i) {
        trace.effects.push_back(static_cast<float>(before.answers()[i].probability - zeroed[i].probability));
        trace.weights.emplace_back();
        for (int key = 0; key < std::ssize(sentences[i].tokens); ++key) {
          trace.weights.back().push_back(
              static_cast<float>(before.weight(i, {layer, head}, Role::query, {key, key + 1})));
        }
      }
      const double weight = mean_weight(trace, sentences, Role::antecedent);
      if (weight > max_weight) pointing = &trace, max_weight = weight;
    }
  }
  if (pointing) result.run.pointing = pointing_of(held_out, *pointing, max_weight, before.answers());
  return result;
}

double similarity(const HeadTrace& a, const HeadTrace& b, bool first_half) {
  double distance = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.weights.size(); ++i) {
    if (is_of_first_half(i) != first_half) continue;
    double weights = 0;
    for (std::size_t key = 0; key < a.weights[i].size(); ++key) {
      weights += std::abs(static_cast<double>(a.weights[i][key]) - static_cast<double>(b.weights[i][key])) / 2;
    }
    distance += weights + std::abs(static_cast<double>(a.effects[i]) - static_cast<double>(b.effects[i]));
    ++count;
  }
  return 1 - distance / 2 / static_cast<double>(count);
}

using Table = std::vector<std::vector<double>>;  // [head of one run][head of another]

Table similarities(const RunTraces& a, const RunTraces& b, bool first_half) {
  Table table;
  for (const HeadTrace& one : a.heads) {
    table.emplace_back();
    for (const HeadTrace& other : b.heads) table.back().push_back(similarity(one, other, first_half));
  }
  return table;
}

double sum_of(const Table& table, const std::vector<int>& assigned) {
  double sum = 0;
  for (std::size_t i = 0; i < assigned.size(); ++i) sum += table[i][static_cast<std::size_t>(assigned[i])];
  return sum;
}

// Returns the run with the largest sum of similarities with the others.
std::size_t max_alike(const std::vector<RunTraces>& all) {
  std::vector<double> sums(all.size(), 0.0);
  for (std::size_t a = 0; a < all.size(); ++a) {
    for (std::size_t b = a + 1; b < all.size(); ++b) {
      const Table table = similarities(all[a], all[b], true);
      const double sum = sum_of(table, best_assignment(table));
      sums[a] += sum, sums[b] += sum;
    }
  }
  return static_cast<std::size_t>(std::ranges::max_element(sums) - sums.begin());
}

MatchedHeads::Member member_of(const HeadTrace& trace, const std::vector<Example>& sentences, double alike) {
  return {.layer = trace.layer,
          .head = trace.head,
          .similarity = alike,
          .antecedent = mean_weight(trace, sentences, Role::antecedent),
          .other = mean_weight(trace, sentences, Role::distractor),
          .cue = mean_weight(trace, sentences, Role::cue),
          .effect = mean_effect(trace)};
}

// Adds the mean similarity of random matchings: that of a head with all heads of another run.
void add_random(MatchedHeads& matched, const std::vector<Table>& tables) {
  for (std::size_t role = 0; role < matched.roles.size(); ++role) {
    for (const Table& table : tables) {
      const std::vector<double>& row = table[role];
      matched.roles[role].random +=
          std::accumulate(row.begin(), row.end(), 0.0) / static_cast<double>(row.size() * tables.size());
    }
    matched.random += matched.roles[role].random / static_cast<double>(matched.roles.size());
  }
}

void match(MatchedHeads& matched, const std::vector<RunTraces>& all, const std::vector<Example>& sentences) {
  matched.reference = max_alike(all);
  const RunTraces& reference = all[matched.reference];
  matched.roles.resize(reference.heads.size());
  std::vector<Table> tables;  // of the second half
  for (const RunTraces& one : all) {
    const bool is_itself = &one == &reference;
    const std::vector<int> assigned = best_assignment(similarities(reference, one, true));
    const Table measured = similarities(reference, one, false);
    if (!is_itself) tables.push_back(measured);
    for (std::size_t role = 0; role < assigned.size(); ++role) {
      const std::size_t head = is_itself ? role : static_cast<std::size_t>(assigned[role]);
      const double alike = measured[role][head];
      matched.roles[role].members.push_back(member_of(one.heads[head], sentences, alike));
      if (!is_itself) matched.roles[role].similarity += alike / static_cast<double>(all.size() - 1);
    }
  }
  for (const MatchedHeads::Role& role : matched.roles) {
    matched.similarity += role.similarity / static_cast<double>(matched.roles.size());
  }
  add_random(matched, tables);
}

// Returns how many of `sentences` a run held out. Compares their content, since their numbers differ between runs.
int held_out_by(const SeedRun& run, const std::vector<Example>& sentences) {
  std::set<std::pair<std::vector<std::string>, int>> own;
  for (const Example& e : run.held_out) own.emplace(e.tokens, e.query);
  return static_cast<int>(
      std::ranges::count_if(sentences, [&](const Example& e) { return own.contains(std::pair(e.tokens, e.query)); }));
}

// Returns the sentences of the first run that all runs held out; all of the first if these are few.
std::vector<Example> sentences_to_ask(const std::vector<SeedRun>& runs) {
  std::vector<Example> common = runs.at(0).held_out;
  for (const SeedRun& run : runs) {
    const std::unordered_set<std::uint64_t> own = sentence_numbers(run.held_out);
    leave_out_if(common, [&](const Example& e) { return !own.contains(sentence_number(e)); });
  }
  return common.size() >= min_common ? common : runs[0].held_out;
}

}  // namespace

MatchedHeads match_heads(const std::vector<SeedRun>& runs, const StudyOptions& options) {
  const std::vector<Example> held_out = sentences_to_ask(runs);
  if (held_out.size() < 4) {
    fail("{}: expected at least 4 held-out sentences, got {}: heads are matched on one half and measured on the other",
         runs[0].name, held_out.size());
  }
  MatchedHeads matched;
  std::vector<RunTraces> all;
  std::vector<Example> sentences;
  std::size_t used = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (options.progress) {
      options.progress("heads of " + runs[i].name, static_cast<double>(i) / static_cast<double>(runs.size()), 0);
    }
    const Model model = runs[i].load();
    const TransformerConfig& config = model.transformer().config;
    if (i == 0) {
      const double passes = (config.layers * config.heads() + 4) * static_cast<double>(runs.size());
      used = std::max<std::size_t>(sentences_to_use(options.most, config, held_out, passes), 4);
    }
    try {
      const HeldOut read(model, held_out, used, options.processes);
      all.push_back(traces_of(runs[i].name, model, read));
      if (i == 0) sentences = read.sentences();
    } catch (const NotFinite&) {
      throw;
    } catch (const Error& error) {
      fail("{} cannot read the held-out sentences of {}, so their heads cannot be matched: {}", runs[i].name,
           runs[0].name, error.what());
    }
    if (all[i].heads.size() != all[0].heads.size() || all[i].heads.back().layer != all[0].heads.back().layer) {
      fail("{} has {} of {}, but {} differs: only models of the same shape can be compared", runs[i].name,
           counted(config.layers, "layer"), counted(config.heads(), "head"), runs[0].name);
    }
    matched.runs.push_back(all[i].run);
  }
  matched.chance = chance_of(known_of(sentences)).share;
  matched.sentences = static_cast<int>(sentences.size());
  for (const Example& e : sentences) {
    matched.with_antecedent += e.antecedent >= 0;
    matched.with_counterpart += e.counterpart >= 0;
  }
  for (std::size_t i = 0; i < runs.size(); ++i) matched.runs[i].held_out = held_out_by(runs[i], sentences);
  match(matched, all, sentences);
  return matched;
}

}  // namespace heed
