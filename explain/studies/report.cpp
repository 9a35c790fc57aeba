#include <heed/data/overlap.h>
#include <heed/explain/intervention.h>
#include <heed/explain/studies/held_out.h>
#include <heed/explain/studies/report.h>

#include <algorithm>
#include <limits>

namespace heed {
namespace {

constexpr double no_share = std::numeric_limits<double>::quiet_NaN();

// A model, and the processes that share its batches.
struct Asked {
  const Model& model;
  const Communicator& processes;
};

// Calls add(batch, first, numbers) for this process's batches; row b of a batch is sentence `first` + b. Returns the
// numbers that were added for all batches, in order.
template <class Add>
std::vector<double> of_batches(const Asked& asked, const std::vector<Example>& examples, const Add& add) {
  constexpr std::int64_t most = 32;  // small, so that there are batches to share
  const std::vector<Batch> batches =
      NumberedExamples(examples, asked.model.vocabulary, asked.model.config().classes).batches(most);
  const Share own = share_of(std::ssize(batches), asked.processes.rank(), asked.processes.size());
  std::vector<double> numbers;
  for (std::int64_t i = own.first; i < own.end; ++i) {
    add(batches[static_cast<std::size_t>(i)], static_cast<std::size_t>(i * most), numbers);
  }
  return asked.processes.gather(numbers);
}

// Appends the chosen candidates of logits (B, C) or (B, C + 1); -1: none of them.
void add_answers(const Batch& input, const Tensor& logits, std::vector<double>& answers) {
  const std::vector<double> values = logits.to_vector();
  const std::int64_t C = input.candidates.shape()[1];
  for (std::int64_t b = 0; b < logits.size(0); ++b) {
    const auto row = values.begin() + b * logits.size(1);
    const auto best = std::max_element(row, row + logits.size(1)) - row;
    answers.push_back(best == C ? -1.0 : static_cast<double>(best));
  }
}

std::vector<int> answers_of(const Asked& asked, const std::vector<Example>& examples) {
  const auto add = [&](const Batch& input, std::size_t, std::vector<double>& answers) {
    add_answers(input, asked.model.run(input, {.compute = Compute::query}).logits, answers);
  };
  const std::vector<double> answers = of_batches(asked, examples, add);
  return {answers.begin(), answers.end()};
}

std::vector<bool> are_right(const std::vector<Example>& examples, const std::vector<int>& answers) {
  std::vector<bool> right;
  for (std::size_t i = 0; i < examples.size(); ++i) right.push_back(answers[i] == examples[i].chosen);
  return right;
}

Interval share_right(const std::vector<Example>& examples, const std::vector<int>& answers) {
  return share_of(are_right(examples, answers), observations_of(examples));
}

// Returns the share of right answers in the sentences of one relation minus that in those of another. The two sentences of a
// pair may be of different relations.
Interval difference_between(const std::vector<Example>& examples, const std::vector<bool>& right,
                            const std::string& one, const std::string& other) {
  double ones = 0, others = 0, all_right = 0;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const bool is_one = examples[i].relation == one, is_other = examples[i].relation == other;
    ones += is_one;
    others += is_other;
    all_right += (is_one || is_other) && right[i];
  }
  const double n = ones + others, mean = all_right / n, of_one = n / ones, of_other = n / others;
  const std::vector<int> group = observations_of(examples);
  std::vector<double> values;  // their mean is the difference
  std::vector<int> groups;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const bool is_one = examples[i].relation == one;
    if (!is_one && examples[i].relation != other) continue;
    values.push_back((right[i] - mean) * (is_one ? of_one : -of_other));
    groups.push_back(group[i]);
  }
  return interval_of(values, groups,
                     {.low = -std::max(mean * of_one, (1 - mean) * of_other),
                      .high = std::max((1 - mean) * of_one, mean * of_other),
                      .step = std::min(of_one, of_other)});
}

// Returns the candidate with the smallest `measure`.
template <class Measure>
std::vector<int> smallest(const std::vector<Example>& examples, const Measure& measure) {
  std::vector<int> answers;
  for (const Example& e : examples) {
    const auto best = std::ranges::min_element(e.candidates, {}, [&](Span span) { return measure(e, span); });
    answers.push_back(static_cast<int>(best - e.candidates.begin()));
  }
  return answers;
}

bool is_in_candidate(const Example& e, int token) {
  return std::ranges::any_of(e.candidates, [&](Span s) { return s.begin <= token && token < s.end; });
}

// Replaces each token that `hidden` selects by the unknown word.
template <class Hidden>
std::vector<Example> without(std::vector<Example> examples, const std::string& unknown, const Hidden& hidden) {
  for (Example& e : examples) {
    for (int token = 0; token < std::ssize(e.tokens); ++token) {
      if (token != e.query && hidden(e, token)) e.tokens[static_cast<std::size_t>(token)] = unknown;
    }
  }
  return examples;
}

// Returns 2 tp / (2 tp + fp + fn) over all candidates, as GAP's scorer counts.
double F1(const std::vector<Example>& examples, const std::vector<int>& answers, const std::string& relation) {
  int tp = 0, fp = 0, fn = 0;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    if (examples[i].relation != relation) continue;
    const bool is_right = answers[i] == examples[i].chosen;
    tp += is_right && answers[i] >= 0;
    fp += !is_right && answers[i] >= 0;
    fn += !is_right && examples[i].chosen >= 0;
  }
  return tp + fp + fn == 0 ? no_share : 2.0 * tp / (2.0 * tp + fp + fn);
}

std::vector<Report::Group> relations_of(const std::vector<Example>& examples, const std::vector<int>& answers) {
  const std::vector<bool> all_right = are_right(examples, answers);
  const std::vector<int> group = observations_of(examples);
  std::vector<Report::Group> groups;
  for (const Example& first : examples) {
    if (std::ranges::find(groups, first.relation, &Report::Group::name) != groups.end()) continue;
    std::vector<bool> right;
    std::vector<int> of_groups;
    for (std::size_t i = 0; i < examples.size(); ++i) {
      if (examples[i].relation != first.relation) continue;
      right.push_back(all_right[i]);
      of_groups.push_back(group[i]);
    }
    groups.push_back({first.relation, static_cast<int>(right.size()), share_of(right, of_groups),
                      F1(examples, answers, first.relation)});
  }
  return groups.size() < 2 ? std::vector<Report::Group>{} : groups;
}

// Returns the weights from the query: (sentences, layers x heads, candidates).
std::vector<std::vector<std::vector<double>>> looks_of(const Asked& asked, const std::vector<Example>& examples) {
  const auto add = [&](const Batch& input, std::size_t first, std::vector<double>& numbers) {
    const ModelOutput output = asked.model.run(input, {.compute = Compute::query, .weights = true});
    for (std::int64_t b = 0; b < output.logits.size(0); ++b) {
      for (const Tensor& weights : output.weights) {  // (B, heads, T)
        for (std::int64_t head = 0; head < weights.size(1); ++head) {
          for (const Span& span : examples[first + static_cast<std::size_t>(b)].candidates) {
            double weight = 0;
            for (int token = span.begin; token < span.end; ++token) weight += weights.at({b, head, token});
            numbers.push_back(weight);
          }
        }
      }
    }
  };
  const std::vector<double> numbers = of_batches(asked, examples, add);
  std::vector<std::vector<std::vector<double>>> result;
  auto next = numbers.begin();
  for (const Example& e : examples) {
    auto& sentence = result.emplace_back(static_cast<std::size_t>(asked.model.layers() * asked.model.heads()));
    for (std::vector<double>& of_head : sentence) {
      of_head.assign(next, next + std::ssize(e.candidates));
      next += std::ssize(e.candidates);
    }
  }
  return result;
}

// Returns the model's answers when the query cannot see the meant candidate in `heads`.
std::vector<int> answers_without_edge(const Asked& asked, const std::vector<Example>& examples, Heads heads) {
  const auto add = [&](const Batch& input, std::size_t first, std::vector<double>& answers) {
    std::vector<Edge> edges;
    for (std::size_t i = first; i < first + static_cast<std::size_t>(input.size()); ++i) {
      edges.push_back({examples[i].query, examples[i].candidates[static_cast<std::size_t>(examples[i].chosen)]});
    }
    add_answers(input, logits_under({cut(heads, edges)}, asked.model, input), answers);
  };
  const std::vector<double> answers = of_batches(asked, examples, add);
  return {answers.begin(), answers.end()};
}

Report::Looks looks(const std::vector<Example>& examples, const std::vector<std::vector<std::vector<double>>>& weights,
                    std::size_t best, const std::vector<int>& answers, const std::vector<int>& after_cut, bool right) {
  Report::Looks result;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    if ((answers[i] == examples[i].chosen) != right) continue;
    ++result.sentences;
    double other = 0;
    for (std::size_t c = 0; c < examples[i].candidates.size(); ++c) {
      const double weight = weights[i][best][c];
      if (static_cast<int>(c) == examples[i].chosen) result.meant += weight;
      if (static_cast<int>(c) != examples[i].chosen) other = std::max(other, weight);
    }
    result.other += other;
    result.moved += after_cut[i] != answers[i];
  }
  // NaN without sentences
  for (double* mean : {&result.meant, &result.other, &result.moved}) *mean /= result.sentences;
  return result;
}

void add_looks(Report& result, const Asked& asked, std::vector<Example> examples) {
  std::erase_if(examples, [](const Example& e) { return e.chosen < 0; });
  if (examples.empty()) return;
  const auto weights = looks_of(asked, examples);
  const int heads = asked.model.heads();
  std::size_t best = 0;
  double most = -1;
  for (std::size_t h = 0; h < weights[0].size(); ++h) {
    double sum = 0;
    for (std::size_t i = 0; i < examples.size(); ++i)
      sum += weights[i][h][static_cast<std::size_t>(examples[i].chosen)];
    if (sum > most) best = h;
    most = std::max(most, sum);
  }
  result.layer = static_cast<int>(best) / heads;
  result.head = static_cast<int>(best) % heads;
  const std::vector<int> answers = answers_of(asked, examples);
  const std::vector<int> after_cut = answers_without_edge(asked, examples, {result.layer, result.head});
  result.right = looks(examples, weights, best, answers, after_cut, true);
  result.wrong = looks(examples, weights, best, answers, after_cut, false);
}

}  // namespace

void check_chooses(const Model& model) {
  check_has_head(model);
  if (!model.head().chooses_candidates()) {
    fail(
        "a report needs a model that chooses among candidates (model.answer: candidate); this one {}. inspect "
        "evaluate measures any model",
        model.head().purpose());
  }
}

Report report(const Model& model, const Baselines& baselines, const std::string& set, std::vector<Example> examples,
              const Communicator& processes) {
  check_chooses(model);
  Report result;
  result.set = set;
  result.known = static_cast<int>(leave_out(examples, baselines.training));
  result.too_long = static_cast<int>(leave_out_long(model, examples));
  if (examples.empty()) {
    fail("{}: no sentence is left: {} are in the training set, and {} are too long", set, result.known,
         result.too_long);
  }
  result.sentences = static_cast<int>(examples.size());
  check_same_on_all(processes, model, examples);
  const Asked asked{model, processes};
  const std::vector<int> answers = answers_of(asked, examples);
  const std::vector<bool> right = are_right(examples, answers);
  std::vector<bool> both;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    if (examples[i].counterpart > static_cast<int>(i))
      both.push_back(right[i] && right[static_cast<std::size_t>(examples[i].counterpart)]);
  }
  result.pairs = static_cast<int>(both.size());
  result.model = share_right(examples, answers);
  result.both_of_pair = share_of(both);
  if (baselines.bag) {
    const std::vector<int> of_bag = baselines.bag->answers(examples, model.vocabulary);
    result.bag = share_right(examples, of_bag);
    result.over_bag = advantage(right, are_right(examples, of_bag), observations_of(examples));
  }
  const bool none_too = model.config().or_none;
  for (const Example& e : examples) {
    result.coin += 1.0 / static_cast<double>((std::ssize(e.candidates) + none_too) * std::ssize(examples));
  }
  const Chance chance = chance_of(numbered_answers(examples), result.coin);
  if (!chance.constant.empty()) {
    result.most_frequent = chance.share;
    result.over_most_frequent = advantage(right, chance.constant, observations_of(examples));
  }
  result.nearest = share_right(examples, smallest(examples, distance_to_query)).share;
  result.first = share_right(examples, smallest(examples, [](const Example&, Span s) { return s.begin; })).share;
  if (const auto unknown = model.vocabulary.unknown()) {
    const std::string& word = model.vocabulary.word(*unknown);
    result.without_candidates = share_right(examples, answers_of(asked, without(examples, word, is_in_candidate)));
    result.after_query = share_right(examples, answers_of(asked, without(examples, word, [](const Example& e, int t) {
                                                            return t < e.query && !is_in_candidate(e, t);
                                                          })));
  }
  result.unknown = unknown_share(examples, model.vocabulary);
  result.groups = relations_of(examples, answers);
  const auto has = [&](const char* name) {
    return std::ranges::find(result.groups, name, &Report::Group::name) != result.groups.end();
  };
  if (has("pro") && has("anti")) result.pro_over_anti = difference_between(examples, right, "pro", "anti");
  add_looks(result, asked, examples);
  return result;
}

}  // namespace heed
