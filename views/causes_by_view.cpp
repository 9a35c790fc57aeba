#include "views/causes_by_view.h"

#include <heed/files/utf8.h>

#include <fmt/format.h>

namespace heed {
namespace {

std::string kind_name(const CausesBy::Group& group, const std::string& field) {
  return group.value.empty() ? fmt::format("(no {})", field) : excerpt(group.value, 30);
}

// "without the edge to the antecedent in layer 2 head 1"
std::string intervention_text(const CausesBy& found) {
  const std::string head = fmt::format("layer {} head {}", found.layer + 1, found.head + 1);
  return found.by == Cause::What::edge ? "without the edge to the antecedent in " + head
                                       : fmt::format("when {} is mean-ablated", head);
}

}  // namespace

std::string differing_kinds(const CausesBy& found) {
  if (found.differences.empty()) return "";
  const auto& [more, less, lost] = found.differences[0];  // the largest
  return fmt::format(
      "The kinds of sentences differ: {}, '{}' loses {:.1f} points more of its right answers than '{}' ({:.1f} to "
      "{:.1f}). The verdict over all sentences mixes them.",
      intervention_text(found), kind_name(found.groups[more], found.field), 100 * lost.share,
      kind_name(found.groups[less], found.field), 100 * lost.low, 100 * lost.high);
}

std::string undecided_kinds(const CausesBy& found) {
  if (!found.differences.empty() || !found.largest) return "";
  const auto& [more, less, lost] = *found.largest;
  const std::string which =
      lost.share < 0.0005
          ? ""
          : fmt::format(", by which '{}' loses more of its right answers than '{}'",
                        kind_name(found.groups[more], found.field), kind_name(found.groups[less], found.field));
  return fmt::format(
      "Cannot tell from {} whether the kinds differ: {}, the largest difference is {:.1f} points{} ({:.1f} to {:.1f}).",
      counted(found.sentences, "sentence"), intervention_text(found), 100 * lost.share, which, 100 * lost.low,
      100 * lost.high);
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
  const std::string undecided = undecided_kinds(found);
  if (!undecided.empty()) text += paragraph(undecided, view.terminal);
  return text;
}

Json causes_by_json(const CausesBy& found) {
  Json groups = Json::array(), differences = Json::array();
  for (const CausesBy::Group& group : found.groups) {
    groups.push_back(
        {{"value", group.value}, {"causes", causes_json(group.causes)}, {"verdict", causes_verdict(group.causes)}});
  }
  const auto difference_json = [](const CausesBy::Difference& one) {
    return Json{{"more", one.more}, {"less", one.less}, {"lost", interval_json(one.lost)}};
  };
  for (const CausesBy::Difference& one : found.differences) differences.push_back(difference_json(one));
  Json json{{"field", found.field}, {"groups", std::move(groups)}, {"differences", std::move(differences)}};
  if (found.largest) json["largest"] = difference_json(*found.largest);
  return json;
}

}  // namespace heed
