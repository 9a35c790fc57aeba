#pragma once
#include <heed/explain/studies/causes.h>

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// How causes() gathers the rows of its table. Internal.
namespace heed {

constexpr double no_figure = std::numeric_limits<double>::quiet_NaN();
constexpr Interval no_interval{no_figure, no_figure, no_figure};

// Returns the mean; NaN without values.
double mean(const std::vector<double>& values);

// Returns the name of a token: the first of its roles.
std::string name_of(const Example& e, int token);

// Returns all tokens with the name of token `first`, or it alone; empty when `first` is not the first of them.
Span keys_from(const Example& e, int first);

inline bool is_patch(Cause::What what) { return what == Cause::What::patch_head || what == Cause::What::patch_layer; }

// A row while it is gathered from the sentences to which it applies.
struct Gathered {
  std::vector<double> weights, changes, before, right, lost, flipped;
  std::vector<int> sentences, groups, flipped_groups, answers;
  double fair = 0.5;  // accuracy of a fair choice; NaN: unknown for a sentence
};

// The rows of the edges from the query while they are gathered.
struct EdgesOfQuery {
  std::vector<Gathered> rows;         // by the name of the key
  std::vector<bool> has_rest, moved;  // by sentence: has other tokens; its answer changed when one of them was cut
};

constexpr std::string_view key_names[] = {"antecedent", "other", "decider", "itself", "rest"};

// Returns the row of the gathered figures. `constant` is as for chance_of().
Cause cause_of(Cause cause, Heads heads, const Gathered& row, std::optional<int> constant);

// Returns the `constant` for the sentences that are used, among their numbered_answers().
using ConstantOf = std::function<std::optional<int>(const std::vector<Example>& sentences)>;

// Measures the causes as causes() does, beside that constant answer.
Causes causes_beside(const ConstantOf& constant_of, const Model& model, const std::vector<Example>& held_out,
                     const StudyOptions& options, Heads among);

}  // namespace heed
