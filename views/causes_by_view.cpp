#include "views/causes_by_view.h"

#include <heed/files/utf8.h>

#include <fmt/format.h>

#include <algorithm>

namespace heed {
namespace {

std::string kind_name(const CausesBy::Group& group, const std::string& field) {
  return group.value.empty() ? fmt::format("(no {})", field) : excerpt(group.value, 30);
}

}  // namespace

std::string differing_kinds(const CausesBy& found) {
  if (found.differences.empty()) return "";
  const auto& [more, less, lost] =
      *std::ranges::max_element(found.differences, {}, [](const CausesBy::Difference& one) { return one.lost.share; });
  const std::string head = fmt::format("layer {} head {}", found.layer + 1, found.head + 1);
  const std::string what = found.by == Cause::What::edge ? "without the edge to the antecedent in " + head
                                                         : fmt::format("when {} is mean-ablated", head);
  return fmt::format(
      "The kinds of sentences differ: {}, '{}' loses {:.1f} points more of its right answers than '{}' ({:.1f} to "
      "{:.1f}). The verdict over all sentences mixes them.",
      what, kind_name(found.groups[more], found.field), 100 * lost.share, kind_name(found.groups[less], found.field),
      100 * lost.low, 100 * lost.high);
}

std::string causes_by_view(const CausesBy& found, const View& view) {
  const std::string differing = differing_kinds(found);
  std::string text = differing.empty() ? "" : paragraph(differing, view.terminal);
  text += paragraph(fmt::format("By {}:", found.field), view.terminal);
  for (const CausesBy::Group& group : found.groups) {
    const std::vector<std::string> verdict = causes_verdict(group.causes);
    text += paragraph(fmt::format("  {}, {}, {} right: {}", kind_name(group, found.field),
                                  counted(group.causes.sentences, "sentence"), percent(group.causes.accuracy.share),
                                  verdict.empty() ? "no head is measured." : verdict[0]),
                      view.terminal, 4);
  }
  return text;
}

Json causes_by_json(const CausesBy& found) {
  Json groups = Json::array(), differences = Json::array();
  for (const CausesBy::Group& group : found.groups) {
    groups.push_back(
        {{"value", group.value}, {"causes", causes_json(group.causes)}, {"verdict", causes_verdict(group.causes)}});
  }
  for (const auto& [more, less, lost] : found.differences) {
    differences.push_back({{"more", more}, {"less", less}, {"lost", interval_json(lost)}});
  }
  return {{"field", found.field}, {"groups", std::move(groups)}, {"differences", std::move(differences)}};
}

}  // namespace heed
