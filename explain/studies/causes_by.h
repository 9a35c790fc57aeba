#pragma once
#include <heed/explain/studies/causes.h>

#include <optional>
#include <string>
#include <vector>

namespace heed {

/// The causes of the answers to each kind of sentence, by a field of the sentences: kinds may depend on different heads, and a
/// verdict over all of them then describes none.
///
///     const Causes all = causes(model, held_out);
///     const CausesBy found = causes_by(model, held_out, all, "relation");
///     for (const auto& [value, causes] : found.groups) fmt::print("{}: {}\n", value, causes.accuracy.share);
struct CausesBy {
  std::string field;
  /// The sentences with one value of the field.
  struct Group {
    std::string value;  ///< empty: the sentences without the field
    Causes causes;
  };
  std::vector<Group> groups;  ///< the largest first

  /// The difference between the right answers that two groups lose to the intervention of `by`, as the table over all sentences
  /// has it.
  struct Difference {
    std::size_t more, less;  ///< indices of groups
    Interval lost;           ///< share lost by `more` minus that by `less`
  };
  Cause::What by =
      Cause::What::edge;  ///< the cut of the edge to the antecedent in the head that points, or else the mean
                          ///< ablation of the head on which the answers depend most
  int layer = 0, head = 0;
  int sentences = 0;  ///< that the intervention changes
  std::vector<Difference>
      differences;                    ///< those shown, the largest first; by chance there is one in 5 of 100 data sets
  std::optional<Difference> largest;  ///< shown or not; {}: no two groups can be compared
};

constexpr int max_kinds = 20;  ///< largest number of groups

/// Returns the fields with a value in some sentence: relation, cue, answer, query (the word asked about).
std::vector<std::string> fields_of(const std::vector<Example>& sentences);

/// Returns "relation" if the sentences have two relations or more, else "".
std::string default_field(const std::vector<Example>& sentences);

/// Throws Error with the fields that exist for a field that no sentence has, and for one with more than `max_kinds` values.
void check_field(const std::vector<Example>& sentences, const std::string& field);

/// Returns the differences of each two kinds that have values, the largest first. The intervals of all of them hold at once with
/// 95 %, also if the values are those of the largest of `rows` effects (Bonferroni). Values of one group may be in two kinds, as
/// the sentences of a minimal pair: see correlation_of().
std::vector<CausesBy::Difference> differences_between(const std::vector<Sample>& kinds, std::size_t rows = 1);

/// Measures the sentences that `all` has measured, kind by kind. Throws Error as check_field() does.
CausesBy causes_by(const Model& model, const std::vector<Example>& held_out, const Causes& all,
                   const std::string& field, const StudyOptions& options = {}, Heads among = {-1, -1});

}  // namespace heed
