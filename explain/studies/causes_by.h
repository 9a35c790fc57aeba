#pragma once
#include <heed/explain/studies/causes.h>

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

  /// Two groups that lose different shares of their right answers to the intervention of `by`.
  struct Difference {
    std::size_t more, less;  ///< indices of groups
    Interval lost;           ///< share lost by `more` minus that by `less`
  };
  Cause::What by =
      Cause::What::edge;  ///< the cut of the edge to the antecedent in the head that points, or else the mean
                          ///< ablation of the head on which the answers depend most
  int layer = 0, head = 0;
  std::vector<Difference> differences;  ///< those shown, with a probability of 5 % that any of them is so by chance
};

constexpr int max_kinds = 20;  ///< largest number of groups

/// Returns the fields with a value in some sentence: relation, cue, answer, query (the word asked about).
std::vector<std::string> fields_of(const std::vector<Example>& sentences);

/// Returns "relation" if the sentences have two relations or more, else "".
std::string default_field(const std::vector<Example>& sentences);

/// Throws Error with the fields that exist for a field that no sentence has, and for one with more than `max_kinds` values.
void check_field(const std::vector<Example>& sentences, const std::string& field);

/// Measures the sentences that `all` has measured, kind by kind. Throws Error as check_field() does.
CausesBy causes_by(const Model& model, const std::vector<Example>& held_out, const Causes& all,
                   const std::string& field, const StudyOptions& options = {}, Heads among = {-1, -1});

}  // namespace heed
