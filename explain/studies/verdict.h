#pragma once
#include <heed/explain/studies/interval.h>

#include <optional>
#include <string>
#include <vector>

namespace heed {

constexpr double all_lost = 0.8;   ///< least share of the advantage over chance that counts as all of it
constexpr double none_lost = 0.2;  ///< largest share that counts as none of it

/// The accuracy that a model reaches without reading: that of a fair choice among the candidates, or of always giving the answer
/// that is right most often, where that is more.
struct Chance {
  double share = 0;                ///< NaN: unknown
  std::vector<double> constant{};  ///< per sentence, whether the one answer is right (1); empty for a fair choice
};

/// Returns the chance level of sentences. Equal numbers in `answers` are the same right answer. `fair` is the accuracy of a fair
/// choice; NaN if unknown. One answer counts where it is right more often than that, or in more than half of the sentences if
/// that is unknown. It is the most frequent of `answers`, or `constant`.
///
///     chance_of({7, 7, 7, 2}, 0.5).share   // 0.75
Chance chance_of(const std::vector<int>& answers, double fair, std::optional<int> constant = {});

/// Whether the answers depend on what an intervention took away: the share of the advantage over chance that is lost,
/// (before - after) / (before - chance), and what its 95 % interval allows to say.
///
///     const Verdict found = verdict_of(right_before, right_after, groups, {0.5});
///     if (found.kind == Verdict::Kind::all) fmt::print("{:.0f} % is lost\n", 100 * found.lost.share);
struct Verdict {
  /// What the interval allows to say.
  enum class Kind {
    all,            ///< the interval lies above `all_lost`
    part,           ///< it lies between `none_lost` and `all_lost`
    none,           ///< it lies below `none_lost`
    at_least_part,  ///< it lies above `none_lost` and includes `all_lost`
    at_most_part,   ///< it lies below `all_lost` and includes `none_lost`
    unknown,        ///< it includes both
    no_answers      ///< accuracy before is not shown to be above chance, so there is no advantage to lose
  } kind = Kind::unknown;
  int sentences = 0;
  double chance = 0;         ///< as given; NaN: unknown, so that the share is of the whole accuracy (chance 0)
  bool is_constant = false;  ///< whether chance is the accuracy of the most frequent answer, not of a fair choice
  Interval lost{};  ///< the share: below 0 if accuracy rises, above 1 if it falls below chance; NaN for no_answers
  /// Sentences at which the interval is narrow enough for `all`, `part` or `none`, if the share stays as it is; for `no_answers`,
  /// at which accuracy before is shown to be above chance. 0: these are enough, or no number is.
  double needed = 0;

  /// Returns whether the verdict is `all`, `part` or `none`, which the simulation of docs/explanation/causal-methods.md tests.
  bool is_strong() const { return kind <= Kind::none; }
};

/// Returns the name of a kind: "all", "at least part".
std::string to_string(Verdict::Kind kind);

/// Returns the verdict on sentences that are right (1) or wrong (0) before and after. The interval holds each share m for which
/// the mean of (before - after) - m (before - chance) has a score_of() 0 within 1.96 (Fieller 1954). The most frequent answer is
/// compared sentence by sentence, so the interval holds the error of its share, too; it is of 97.5 %, since the larger of two
/// chance levels is picked.
Verdict verdict_of(const std::vector<double>& before, const std::vector<double>& after, const std::vector<int>& groups,
                   const Chance& chance);

/// Where an edge of one head, the one that points, carries the answers.
enum class Carried {
  alone,    ///< all is lost without it in that head
  shared,   ///< all is lost without it in every head of the layer, but less than that in that head
  layer,    ///< all is lost without it in every head of the layer; the sentences do not show whether in that head alone
  in_part,  ///< a part is lost without it in every head of the layer
  another_way,  ///< none is lost without it in every head of the layer
  no_answers,   ///< there is no advantage over chance to lose
  unknown       ///< the sentences do not show which
};

/// Returns the name of it: "alone", "another way".
std::string to_string(Carried carried);

/// Returns where an edge carries the answers, from the verdicts on its cut in the head and in every head of the layer.
Carried carried_by(const Verdict& head, const Verdict& layer);

}  // namespace heed
