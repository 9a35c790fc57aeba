#include "views/picture.h"

#include "views/colour.h"
#include "views/sentence_text.h"
#include "views/svg_text.h"

#include <heed/autograd/ops.h>
#include <heed/files/utf8.h>
#include <heed/tokenizers/graphemes.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace heed {
namespace {

constexpr int margin = 20, heading_size = 16, heading_line = 20;  // pixels
constexpr int widest_word = 16;                                   // columns
constexpr double legend_length = 160;
constexpr const char* ink = "#1f2933";
constexpr const char* query_mark = "#0b57d0";  // the query, as on a page
constexpr const char* mark = "#d9480f";        // the antecedent, distinguishable from every blue by all readers
constexpr const char* legend_text = "attention weight; rows attend to columns";

std::string short_word(const std::string& token) {
  const std::string shown = token_text(token);
  return display_width(shown) > widest_word ? fit_width(shown, widest_word) : shown;
}

class Picture {
 public:
  Picture(const SentenceAttention& sentence, std::int64_t step, const View& view)
      : sentence_(sentence),
        step_(step),
        has_steps_(view.has_steps),
        layers_(chosen_range("layer", view.layer, static_cast<int>(sentence.layers.size()))),
        T_(static_cast<int>(sentence.tokens.size())) {
    for (int layer = layers_.begin; layer < layers_.end; ++layer) {
      const auto count = static_cast<int>(sentence.layers[static_cast<std::size_t>(layer)].size(0));
      heads_.push_back(chosen_range("head", view.head, count));
      max_heads_ = std::max(max_heads_, heads_.back().end - heads_.back().begin);
    }
    single_ = layers_.end - layers_.begin == 1 && max_heads_ == 1;
    const double room = single_ ? 620 : std::clamp(1240.0 / max_heads_, 60.0, 300.0);
    cell_ = std::clamp(std::floor(room / T_), 1.0, single_ ? 44.0 : 22.0);
    size_ = single_ ? std::clamp(cell_ * 0.42, 5.0, 15.0) : std::clamp(cell_ * 0.62, 4.0, 12.0);
    for (int i = 0; i < T_; ++i)
      label_ = std::max(label_, svg_text_width(short_word(token_at(i)), size_, !colour(i).empty()) + 8);
  }

  std::string text() const {
    const double step_x = map_side() + (single_ ? 0 : 22), step_y = map_side() + 30;
    const double left = margin + label_;
    const double width =
        std::max({left + max_heads_ * step_x, left + legend_length + 16 + svg_text_width(legend_text, 11),
                  margin + svg_text_width(about(), 12)}) +
        margin;
    const std::vector<std::string> lines = heading_lines(width);
    const double top = margin + 38 + static_cast<int>(lines.size()) * heading_line + label_ + (single_ ? 0 : 18);
    const double maps_height = (layers_.end - layers_.begin) * step_y, height = top + maps_height + 62;
    std::string body;
    for (int layer = layers_.begin; layer < layers_.end; ++layer) {
      const Range heads = heads_[static_cast<std::size_t>(layer - layers_.begin)];
      for (int head = heads.begin; head < heads.end; ++head) {
        const double x = left + (head - heads.begin) * step_x, y = top + (layer - layers_.begin) * step_y;
        body += map(layer, head, x, y);
        if (head == heads.begin) body += row_words(x, y);
        if (layer == layers_.begin) body += column_words(x, y - (single_ ? 0 : 18));
      }
    }
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
               "{1:.0f}\" role=\"img\" font-family=\"system-ui, 'Noto Sans', 'Noto Sans CJK SC', sans-serif\" "
               "fill=\"{2}\">\n<title>{3}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
               width, height, ink, title()) +
           heading(lines) + body + legend(left, top + maps_height + 4) + "</svg>\n";
  }

 private:
  double map_side() const { return cell_ * T_; }

  std::string title() const {
    std::string words;
    for (const std::string& token : sentence_.tokens) words += (words.empty() ? "" : " ") + svg_escaped(token);
    return fmt::format("Attention of step {}: {}", step_, words);
  }

  // The sentence, wrapped at the picture's width.
  std::vector<std::string> heading_lines(double width) const {
    std::vector<std::string> lines{""};
    double used = 0;
    for (int i = 0; i < T_; ++i) {
      const double length = svg_text_width(token_text(token_at(i)) + " ", heading_size, !colour(i).empty());
      if (used > 0 && used + length > width - 2 * margin) {
        lines.emplace_back();
        used = 0;
      }
      used += length;
      const std::string word = svg_escaped(token_at(i));
      lines.back() += (lines.back().empty() ? "" : " ");
      lines.back() += colour(i).empty() ? word : fmt::format("<tspan{}>{}</tspan>", emphasis(i), word);
    }
    return lines;
  }

  std::string heading(const std::vector<std::string>& lines) const {
    std::string text;
    double y = margin + 14;
    for (const std::string& line : lines) {
      text += fmt::format("<text x=\"{}\" y=\"{:g}\" font-size=\"{}\">{}</text>\n", margin, y, heading_size, line);
      y += heading_line;
    }
    return text + fmt::format("<text x=\"{}\" y=\"{:g}\" font-size=\"12\" fill=\"#52606d\">{}</text>\n", margin, y,
                              svg_escaped(about()));
  }

  // Returns the step, what is shown, and the answer.
  std::string about() const {
    std::string where = has_steps_ ? fmt::format("step {}, ", step_) : "";
    where += single_ ? fmt::format("layer {} head {}", layers_.begin + 1, heads_[0].begin + 1)
                     : "rows: layers, columns: heads";
    if (sentence_.predicted.empty()) return where;
    return where +
           fmt::format("; answers {} with probability {:.3f}", short_word(sentence_.predicted), sentence_.probability);
  }

  std::string row_words(double x, double y) const {
    if (size_ < 5 && !single_) return "";
    std::string text = fmt::format("<g font-size=\"{:.1f}\" text-anchor=\"end\">\n", size_);
    for (int i = 0; i < T_; ++i) {
      text += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", x - 5, y + (i + 0.5) * cell_ + size_ * 0.35,
                          emphasis(i), svg_escaped(short_word(token_at(i))));
    }
    return text + "</g>\n";
  }

  std::string column_words(double x, double y) const {
    if (size_ < 5 && !single_) return "";
    std::string text = fmt::format("<g font-size=\"{:.1f}\">\n", size_);
    for (int i = 0; i < T_; ++i) {
      text +=
          fmt::format("<text transform=\"translate({:.1f} {:.1f}) rotate(-90)\"{}>{}</text>\n",
                      x + (i + 0.5) * cell_ + size_ * 0.35, y - 5, emphasis(i), svg_escaped(short_word(token_at(i))));
    }
    return text + "</g>\n";
  }

  const std::string& token_at(int i) const { return sentence_.tokens[static_cast<std::size_t>(i)]; }

  // Returns the colour of the query or the antecedent, "" for the others.
  std::string_view colour(int i) const {
    return i == sentence_.query ? query_mark : i == sentence_.antecedent ? mark : "";
  }

  std::string emphasis(int i) const {
    return colour(i).empty() ? "" : fmt::format(" font-weight=\"700\" fill=\"{}\"", colour(i));
  }

  std::string map(int layer, int head, double x, double y) const {
    const Tensor weights = contiguous(slice(sentence_.layers[static_cast<std::size_t>(layer)], 0, head, head + 1));
    const float* weight = weights.data<float>();
    std::string text = fmt::format("<g transform=\"translate({:.1f} {:.1f})\">\n", x, y);
    if (!single_) {
      const std::string whole = fmt::format("layer {} head {}", layer + 1, head + 1);
      text +=
          fmt::format("<text y=\"-5\" font-size=\"11\" fill=\"#52606d\">{}</text>\n",
                      svg_text_width(whole, 11) <= map_side() + 18 ? whole : fmt::format("{}.{}", layer + 1, head + 1));
    }
    text += fmt::format("<rect width=\"{0:g}\" height=\"{0:g}\" fill=\"{1}\"/>\n", map_side(), hex(colour_of(0)));
    text += single_ ? cells(weight) : shapes(weight);
    text += fmt::format("<rect width=\"{0:g}\" height=\"{0:g}\" fill=\"none\" stroke=\"#cbd2d9\"/>\n", map_side());
    text += fmt::format(
        "<rect y=\"{:g}\" width=\"{:g}\" height=\"{:g}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"/>\n",
        sentence_.query * cell_, map_side(), cell_, query_mark, single_ ? 1.5 : 1);
    return text + "</g>\n";
  }

  // One rectangle per weight, with its figure if it fits.
  std::string cells(const float* weight) const {
    std::string text, figures;
    const double size = cell_ * 0.34;
    for (int from = 0; from < T_; ++from) {
      for (int to = 0; to < T_; ++to) {
        const double w = static_cast<double>(*weight++);
        text += fmt::format(
            "<rect x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\" fill=\"{}\"><title>{} → {} "
            "{:.3f}</title></rect>\n",
            to * cell_, from * cell_, cell_, cell_, hex(colour_of(w)),
            svg_escaped(sentence_.tokens[static_cast<std::size_t>(from)]),
            svg_escaped(sentence_.tokens[static_cast<std::size_t>(to)]), w);
        if (size < 7 || w < 0.005) continue;
        figures += fmt::format("<text x=\"{:g}\" y=\"{:g}\"{}>{}</text>\n", (to + 0.5) * cell_,
                               (from + 0.5) * cell_ + size * 0.36, w > white_text_from ? " fill=\"#ffffff\"" : "",
                               w >= 0.995 ? "1.0" : fmt::format("{:.2f}", w).substr(1));
      }
    }
    return fmt::format(
        "<g shape-rendering=\"crispEdges\">\n{}</g>\n<g font-size=\"{:.1f}\" text-anchor=\"middle\" "
        "pointer-events=\"none\">\n{}</g>\n",
        text, size, figures);
  }

  // One path per colour, in 64 steps: this keeps a grid of many long sentences small.
  std::string shapes(const float* weight) const {
    std::map<long, std::string> paths;
    for (int from = 0; from < T_; ++from) {
      for (int to = 0; to < T_; ++to) {
        const long level = std::lround(64 * static_cast<double>(*weight++));
        if (level > 0)
          paths[level] += fmt::format("M{:g} {:g}h{:g}v{:g}h-{:g}z", to * cell_, from * cell_, cell_, cell_, cell_);
      }
    }
    std::string text = "<g shape-rendering=\"crispEdges\">\n";
    for (const auto& [level, path] : paths) {
      text += fmt::format("<path fill=\"{}\" d=\"{}\"/>\n", hex(colour_of(static_cast<double>(level) / 64)), path);
    }
    return text + "</g>\n";
  }

  std::string legend(double x, double y) const {
    constexpr double length = legend_length, height = 10;
    std::string stops, figures;
    for (std::size_t i = 0; i < colour_stops.size(); ++i) {
      stops += fmt::format("<stop offset=\"{:g}\" stop-color=\"{}\"/>",
                           static_cast<double>(i) / (colour_stops.size() - 1), hex(colour_stops[i]));
    }
    for (const double value : {0.0, 0.5, 1.0}) {
      figures += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:g}</text>\n", x + value * length,
                             y + height + 14, value);
    }
    return fmt::format(
        "<defs><linearGradient id=\"weights\">{}</linearGradient></defs>\n<g font-size=\"11\" fill=\"#52606d\">\n"
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" fill=\"url(#weights)\" stroke=\"#cbd2d9\"/>\n{}"
        "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n</g>\n",
        stops, x, y, length, height, figures, x + length + 16, y + height - 1, legend_text);
  }

  const SentenceAttention& sentence_;
  std::int64_t step_;
  bool has_steps_;
  Range layers_;
  std::vector<Range> heads_;  // per layer
  int max_heads_ = 0, T_;
  bool single_;
  double cell_, size_, label_ = 8;  // cell side, font size, width for the labels; pixels
};

}  // namespace

std::string attention_svg(const SentenceAttention& sentence, std::int64_t step, const View& view) {
  return Picture(sentence, step, view).text();
}

}  // namespace heed
