#include "inspect/page/page.h"

#include "inspect/page/encode.h"
#include "inspect/page/page_facts.h"
#include "inspect/page/page_source.h"
#include "views/colour.h"
#include "views/shown_heads.h"

#include <heed/version.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

namespace heed {
namespace {

std::string data_element(const std::string& id, const std::string& json) {
  return fmt::format("<script type=\"application/json\" id=\"{}\">{}</script>\n", id, json);
}

// Replaces each {{name}} in `text`, once. Inserted text is not searched again.
std::string filled(std::string_view text,
                   const std::map<std::string, std::function<void(std::string&)>, std::less<>>& parts) {
  std::string result;
  while (true) {
    const std::size_t begin = text.find("{{");
    result += text.substr(0, begin);
    if (begin == std::string_view::npos) return result;
    const std::size_t end = text.find("}}", begin);
    parts.find(text.substr(begin + 2, end - begin - 2))->second(result);
    text.remove_prefix(end + 2);
  }
}

// A served page may ask the program that serves it.
std::string policy(const PageSource& source, bool is_served) {
  return fmt::format(
      "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data: blob:; base-uri 'none'; "
      "form-action 'none'{}",
      base64(from_hex(source.script_sha256)), base64(from_hex(source.style_sha256)),
      is_served ? "; connect-src 'self'" : "");
}

// Returns a message without the directory in which `run` lies.
std::string without_directory(std::string message, const std::filesystem::path& run) {
  const std::string directory = (run.parent_path() / "").string();
  if (directory.empty()) return message;
  for (std::size_t at; (at = message.find(directory)) != message.npos;) message.erase(at, directory.size());
  return message;
}

// Names each run by the last part of its path, and runs of one name by as many parts as tell them apart: the rest of a path is
// of the machine.
void name_runs(Json& descriptions, const std::vector<PageRun>& runs) {
  std::vector<std::filesystem::path> rest(runs.size());  // of the paths
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Json& one = descriptions[i];
    if (runs[i].path.empty()) continue;
    const std::filesystem::path whole = std::filesystem::absolute(runs[i].path / "").lexically_normal().parent_path();
    one["name"] = whole.filename().string();
    rest[i] = whole.parent_path();
    if (one.contains("causes_missing")) one["causes_missing"] = without_directory(one["causes_missing"], runs[i].path);
  }
  while (true) {
    std::map<std::string, int> counts;
    for (const Json& one : descriptions) ++counts[one["name"].get<std::string>()];
    bool is_longer = false;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const std::string name = descriptions[i]["name"];
      if (counts[name] < 2 || !rest[i].has_filename()) continue;
      descriptions[i]["name"] = (rest[i].filename() / name).string();
      rest[i] = rest[i].parent_path();
      is_longer = true;
    }
    if (!is_longer) return;
  }
}

}  // namespace

std::string page(const std::vector<PageRun>& runs, std::string_view language) {
  Json colours = Json::array(), descriptions = Json::array();
  for (const Colour& c : colour_stops) colours.push_back({c.red, c.green, c.blue});
  for (const PageRun& run : runs) descriptions.push_back(run.description);
  name_runs(descriptions, runs);
  const Json data = {
      {"version", HEED_VERSION}, {"colours", colours}, {"separators", separators}, {"runs", descriptions}};
  // The first view's data precedes the script and the rest follows it, so that a large page is visible before it has loaded.
  const auto add_weights = [&](std::string& text, bool first) {
    for (std::size_t r = 0; r < runs.size(); ++r) {
      for (std::size_t s = 0; s < runs[r].weights.size(); ++s) {
        for (std::size_t i = 0; i < runs[r].weights[s].size(); ++i) {
          const bool is_first = s + 1 == runs[r].weights.size() && i == 0;
          if (is_first != first) continue;
          text += data_element(fmt::format("weights-{}-{}-{}", r, s, i), runs[r].weights[s][i]);
        }
      }
    }
  };
  const PageSource& source = page_source();
  const auto join = [](std::string& text, const std::vector<std::string_view>& parts) {
    for (const std::string_view part : parts) text += part;
  };
  const bool is_served =
      std::ranges::any_of(runs, [](const PageRun& run) { return run.description.contains("served"); });
  const PageHeading heading = heading_of(descriptions);
  return filled(source.document, {{"language", [&](std::string& text) { text += language; }},
                                  {"policy", [&](std::string& text) { text += policy(source, is_served); }},
                                  {"title", [&](std::string& text) { text += html_text(heading.title); }},
                                  {"description", [&](std::string& text) { text += html_text(heading.description); }},
                                  {"style", [&](std::string& text) { join(text, source.style); }},
                                  {"script", [&](std::string& text) { join(text, source.script); }},
                                  {"data",
                                   [&](std::string& text) {
                                     text += data_element("data", script_json(data));
                                     add_weights(text, true);
                                   }},
                                  {"weights", [&](std::string& text) {
                                     add_weights(text, false);
                                     for (std::size_t r = 0; r < runs.size(); ++r) {
                                       if (!runs[r].model.empty())
                                         text += data_element(fmt::format("model-{}", r), runs[r].model);
                                       for (std::size_t s = 0; s < runs[r].models.size(); ++s) {
                                         const std::string& model = runs[r].models[s];
                                         if (!model.empty())
                                           text += data_element(fmt::format("model-{}-{}", r, s), model);
                                       }
                                     }
                                   }}});
}

}  // namespace heed
