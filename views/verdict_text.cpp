#include "views/view.h"

#include <fmt/format.h>

#include <cmath>

namespace heed {
namespace {

// "95.1 to 99.4"; an end that the sentences leave open is left out.
std::string bounds_text(const Interval& lost) {
  if (std::isinf(lost.low) && std::isinf(lost.high)) return "no bounds";
  if (std::isinf(lost.low)) return fmt::format("at most {:.1f}", 100 * lost.high);
  if (std::isinf(lost.high)) return fmt::format("at least {:.1f}", 100 * lost.low);
  return fmt::format("{:.1f} to {:.1f}", 100 * lost.low, 100 * lost.high);
}

}  // namespace

std::string lost_text(const Verdict& verdict) {
  return fmt::format("{} of the {} is lost ({})", percent(verdict.lost.share),
                     std::isnan(verdict.chance) ? "accuracy" : "advantage over chance", bounds_text(verdict.lost));
}

std::string needed_text(const Verdict& verdict) {
  if (verdict.needed == 0 && !verdict.is_strong() && verdict.kind != Verdict::Kind::no_answers) {
    return "The share lies on a margin: no number of sentences tells on which side, if the same share is lost.";
  }
  if (verdict.needed <= verdict.sentences) return "";
  if (verdict.kind == Verdict::Kind::no_answers) {
    return fmt::format("To show an accuracy above chance takes about {:.0f} sentences if as many of them are right.",
                       verdict.needed);
  }
  return fmt::format(
      "To tell whether this is all, a part or none takes about {:.0f} sentences if the same share is lost.",
      verdict.needed);
}

Json verdict_json(const Verdict& verdict) {
  const auto finite = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
  return {{"kind", to_string(verdict.kind)},  {"lost", finite(verdict.lost.share)},
          {"low", finite(verdict.lost.low)},  {"high", finite(verdict.lost.high)},
          {"sentences", verdict.sentences},   {"chance", finite(verdict.chance)},
          {"margins", {none_lost, all_lost}}, {"needed", verdict.needed > 0 ? Json(verdict.needed) : Json()}};
}

}  // namespace heed
