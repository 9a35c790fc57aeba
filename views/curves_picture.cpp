#include "views/curves_view.h"
#include "views/svg_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace heed {
namespace {

constexpr double page_margin = 20, panel_width = 360, plot_width = 280, plot_height = 130, axis_width = 64,
                 line_height = 16;
constexpr int panels_across = 3, max_points = 280, max_named = 6;
constexpr const char *dark = "#1f2933", *pale = "#52606d", *frame = "#cbd2d9";
constexpr std::array colours{"#0b57d0", "#d9480f", "#2b8a3e", "#862e9c", "#0b7285", "#a61e4d"};

// Curves of one panel: one name, or all names with the same part before their first slash, such as "gradient/".
struct Panel {
  std::string name;
  std::vector<const Curve*> curves;
  double low = INFINITY, high = -INFINITY;
  std::int64_t first = 0, last = 0;
  bool is_logarithmic = false;
};

std::vector<Panel> panels_of(const std::vector<Curve>& curves) {
  std::vector<Panel> panels;
  std::map<std::string, std::size_t> index;
  for (const Curve& curve : curves) {
    const std::string name = curve.name.substr(0, curve.name.find('/'));
    const auto [found, is_new] = index.emplace(name, panels.size());
    if (is_new) panels.push_back({.name = name, .curves = {}, .first = curve.points.front().first});
    Panel& panel = panels[found->second];
    panel.curves.push_back(&curve);
    panel.first = std::min(panel.first, curve.points.front().first);
    panel.last = std::max(panel.last, curve.points.back().first);
    for (const auto& [step, value] : curve.points) {
      if (!std::isfinite(value)) continue;
      panel.low = std::min(panel.low, value);
      panel.high = std::max(panel.high, value);
    }
  }
  for (Panel& panel : panels) panel.is_logarithmic = panel.low > 0 && panel.high > 100 * panel.low;
  return panels;
}

std::string text_at(double x, double y, const char* anchor, const std::string& text, const char* colour = pale) {
  return fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"{}\" fill=\"{}\">{}</text>\n", x, y, anchor, colour,
                     svg_escaped(text));
}

// Returns the points of a curve, of which each pixel has the mean over its steps; a value that is not finite ends a line.
std::string lines_of(const Curve& curve, const Panel& panel, const char* colour) {
  const auto level = [&](double value) { return panel.is_logarithmic ? std::log(value) : value; };
  const double low = level(panel.low), range = level(panel.high) - low;
  const double steps = std::max(1.0, static_cast<double>(panel.last - panel.first));
  const auto column_of = [&](std::int64_t step) {
    return static_cast<int>(static_cast<double>(step - panel.first) / steps * (max_points - 1));
  };
  std::string text, points;
  const auto end = [&] {
    if (!points.empty()) {
      text += fmt::format(
          "<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"1.4\" points=\"{}\"><title>{}</title></polyline>\n",
          colour, points, svg_escaped(curve.name));
    }
    points.clear();
  };
  for (std::size_t i = 0; i < curve.points.size();) {
    const auto [first, value] = curve.points[i];
    if (!std::isfinite(value)) {
      end();
      ++i;
      continue;
    }
    double total = 0, at = 0;
    std::size_t count = 0;
    for (; i < curve.points.size() && column_of(curve.points[i].first) == column_of(first) &&
           std::isfinite(curve.points[i].second);
         ++i, ++count) {
      total += curve.points[i].second;
      at += static_cast<double>(curve.points[i].first - panel.first);
    }
    const double mean = total / static_cast<double>(count), x = at / static_cast<double>(count) / steps;
    points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", x * plot_width,
                          plot_height * (1 - (range > 0 ? (level(mean) - low) / range : 0.5)));
  }
  end();
  return text;
}

std::string panel_text(const Panel& panel) {
  std::string text = text_at(0, -8, "start", panel.name + (panel.is_logarithmic ? " (logarithmic)" : ""), dark);
  text +=
      fmt::format("<rect width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"{}\"/>\n", plot_width, plot_height, frame);
  if (panel.low <= panel.high) {
    text += text_at(-6, 10, "end", fmt::format("{:.4g}", panel.high));
    text += text_at(-6, plot_height, "end", fmt::format("{:.4g}", panel.low));
  }
  text += text_at(0, plot_height + line_height, "start", fmt::format("step {}", panel.first));
  text += text_at(plot_width, plot_height + line_height, "end", fmt::format("{}", panel.last));
  for (std::size_t i = 0; i < panel.curves.size(); ++i) {
    text += lines_of(*panel.curves[i], panel, colours[i % colours.size()]);
  }
  if (panel.curves.size() == 1 && panel.curves[0]->name == panel.name) return text;
  const std::size_t named = std::min<std::size_t>(panel.curves.size(), max_named);
  for (std::size_t i = 0; i < named; ++i) {
    const double y = plot_height + (static_cast<double>(i) + 2) * line_height;
    const std::string& name = panel.curves[i]->name;
    text += text_at(0, y, "start", name == panel.name ? name : name.substr(panel.name.size() + 1), colours[i]);
  }
  if (named < panel.curves.size()) {
    text += text_at(0, plot_height + (max_named + 2) * line_height, "start",
                    fmt::format("and {} more, named where the pointer rests", panel.curves.size() - named));
  }
  return text;
}

}  // namespace

std::string curves_svg(const std::vector<Curve>& curves, const std::string& title) {
  const std::vector<Panel> panels = panels_of(curves);
  const bool has_names = std::ranges::any_of(panels, [](const Panel& panel) { return panel.curves.size() > 1; });
  const double panel_height = plot_height + (has_names ? (max_named + 4) * line_height : 3.5 * line_height);
  const auto count = static_cast<int>(panels.size()), across = std::min(panels_across, count);
  const double width = 2 * page_margin + across * panel_width, top = page_margin + 3 * line_height;
  const double height = top + (count + panels_across - 1) / panels_across * panel_height;
  std::string body;
  for (int i = 0; i < count; ++i) {
    body += fmt::format("<g transform=\"translate({:.0f} {:.0f})\">\n{}</g>\n",
                        page_margin + axis_width + i % panels_across * panel_width,
                        top + i / panels_across * panel_height, panel_text(panels[static_cast<std::size_t>(i)]));
  }
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
             "{1:.0f}\" role=\"img\" font-size=\"12\" font-family=\"system-ui, 'Noto Sans', 'Noto Sans CJK SC', "
             "sans-serif\">\n<title>{2}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
             width, height, svg_escaped(title)) +
         text_at(page_margin, page_margin + line_height, "start", title, dark) + body + "</svg>\n";
}

}  // namespace heed
