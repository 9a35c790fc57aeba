#include "views/circuit_view.h"
#include "views/sentence_text.h"
#include "views/svg_text.h"

#include <heed/tokenizers/graphemes.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace heed {
namespace {

using NodeKind = CircuitNode::Kind;
using InputKind = CircuitInput::Kind;

struct Point {
  double x, y;
};

class CircuitPicture {
 public:
  CircuitPicture(const CircuitStudy& study, const CircuitExample& example) : example_(example) {
    for (const CircuitStudy::Edge& edge : study.edges) {
      if (edge.in_circuit) edges_.push_back(&edge);
    }
    for (const CircuitStudy::Edge* edge : edges_) {
      for (const CircuitNode& node : edge->to.readers()) ports_.emplace_back(node, port_of(edge->to.kind));
      strongest_ = std::max(strongest_, std::abs(edge->best_effect().share));
      add(edge->from);
      for (const CircuitNode& node : edge->to.readers()) add(node);
    }
    place_nodes();
    title_ = circuit_verdict(study);
  }

  std::string text() const {
    const double list_x = margin + label_column + graph_width_ + 40;
    double list_width = 0;
    for (std::size_t i = 0; i < std::min(edges_.size(), max_drawn_edges); ++i) {
      list_width = std::max(list_width, svg_text_width(list_text(*edges_[i]), 13) + 34);
    }
    for (const HeadInPair& one : example_.heads) {
      list_width = std::max({list_width, svg_text_width(head_text(one), 13), svg_text_width(heads_title, 12)});
    }
    const double words = sentence(nullptr);
    const double width = std::max({list_x + list_width, margin + words, 640.0}) + margin;
    const std::vector<std::string> heading = wrapped_lines(width - 2 * margin);
    const double top = margin + 20 * static_cast<double>(heading.size()) + 30;
    const std::size_t of_heads = example_.heads.empty() ? 0 : example_.heads.size() + 2;
    const double listed = static_cast<double>(std::min(edges_.size(), max_drawn_edges) + 3 + of_heads) * list_line;
    const double graph_height = std::max(height_, listed), height = top + graph_height + 84;
    std::string body;
    for (std::size_t i = 0; i < heading.size(); ++i) {
      body += fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\"{}>{}</text>\n", margin,
                          margin + 12 + 20 * static_cast<double>(i), i == 0 ? 15 : 13,
                          i == 0 ? "" : fmt::format(" fill=\"{}\"", pale), svg_escaped(heading[i]));
    }
    body +=
        fmt::format("<g transform=\"translate({} {:.0f})\">\n", margin + label_column, top + graph_height - height_);
    body += layer_names();
    for (std::size_t i = edges_.size(); i-- > 0;) body += edge(*edges_[i], i);
    for (const auto& [node, at] : places_) body += box(node, at);
    for (const auto& [node, port] : ports_) {
      if (node.kind != NodeKind::head) continue;
      const Point at = place_of(node);
      body +=
          fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"9\" text-anchor=\"middle\" fill=\"{}\">{}</text>\n",
                      at.x + port_x(port), at.y + box_height - 3, pale, "qkv"[port]);
    }
    body += "</g>\n" + list(list_x, top);
    std::string line;
    sentence(&line);
    body +=
        fmt::format("<text x=\"{}\" y=\"{:.0f}\" font-size=\"{}\">{}</text>\n", margin, height - 46, word_size, line);
    body += fmt::format(
        "<text x=\"{}\" y=\"{:.0f}\" font-size=\"12\" fill=\"{}\">blue speaks for {}, orange for {}; width: effect; "
        "dashed: does "
        "not survive; [clean → corrupted] word</text>\n",
        margin, height - 20, pale, svg_escaped(example_.right), svg_escaped(example_.wrong));
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
               "{1:.0f}\" role=\"img\" font-family=\"system-ui, 'Noto Sans', 'Noto Sans CJK SC', sans-serif\" "
               "fill=\"{2}\">\n<title>{3}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
               width, height, ink, svg_escaped(title_[0])) +
           body + "</svg>\n";
  }

 private:
  static constexpr double margin = 24, row_height = 96, box_width = 74, box_height = 30, box_gap = 26,
                          label_column = 64;
  static constexpr double list_line = 20, word_size = 15;
  static constexpr const char* heads_title = "the word at which each head matters most → the word that it attends to";
  static constexpr const char *ink = "#1f2933", *pale = "#52606d", *supports = "#0b57d0", *opposes = "#d9480f";

  // Where an input enters a box: queries at the left, values at the right, others in the middle.
  static int port_of(InputKind kind) { return kind == InputKind::query ? 0 : kind == InputKind::value ? 2 : 1; }
  static double port_x(int port) { return box_width * (0.2 + 0.3 * port); }

  // Key of a row of the picture, from the bottom: an MLP stands above the heads of its layer.
  static int row_of(const CircuitNode& node) {
    if (node.kind == NodeKind::embedding) return -1;
    if (node.kind == NodeKind::logits) return 1 << 20;
    return 2 * node.layer + (node.kind == NodeKind::mlp ? 1 : 0);
  }

  void add(const CircuitNode& node) {
    std::vector<CircuitNode>& row = rows_[row_of(node)];
    if (std::ranges::find(row, node) == row.end()) row.push_back(node);
  }

  void place_nodes() {
    for (auto& [key, row] : rows_) {
      std::ranges::sort(row, {}, &CircuitNode::head);
      const auto count = static_cast<double>(row.size());
      graph_width_ = std::max(graph_width_, count * (box_width + box_gap) - box_gap);
    }
    graph_width_ = std::max(graph_width_, 220.0);
    height_ = static_cast<double>(rows_.size()) * row_height - (row_height - box_height);
    double y = height_ - box_height;
    for (const auto& [key, row] : rows_) {
      const double used = static_cast<double>(row.size()) * (box_width + box_gap) - box_gap;
      double x = (graph_width_ - used) / 2;
      for (const CircuitNode& node : row) {
        places_.emplace_back(node, Point{x, y});
        x += box_width + box_gap;
      }
      y -= row_height;
    }
  }

  Point place_of(const CircuitNode& node) const {
    const auto found = std::ranges::find(places_, node, &std::pair<CircuitNode, Point>::first);
    return found->second;
  }

  std::string box(const CircuitNode& node, Point at) const {
    const std::string name = node.kind == NodeKind::embedding ? "words"
                             : node.kind == NodeKind::logits  ? fit_word(example_.right)
                             : node.kind == NodeKind::mlp     ? "MLP"
                                                              : fmt::format("head {}", node.head + 1);
    return fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" rx=\"6\" fill=\"#f0f4f8\" stroke=\"#9aa5b1\"/>"
        "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"13\" text-anchor=\"middle\">{}</text>\n",
        at.x, at.y, box_width, box_height, at.x + box_width / 2, at.y + 18, svg_escaped(name));
  }

  static std::string fit_word(const std::string& word) { return display_width(word) > 9 ? fit_width(word, 9) : word; }

  std::string layer_names() const {
    std::string text;
    for (const auto& [node, at] : places_) {
      if (node != rows_.at(row_of(node)).front()) continue;
      const std::string name = node.layer >= 0                 ? fmt::format("layer {}", node.layer + 1)
                               : node.kind == NodeKind::logits ? "answer"
                                                               : "embedding";
      text += fmt::format("<text x=\"{}\" y=\"{:.1f}\" font-size=\"12\" fill=\"{}\">{}</text>\n", -label_column,
                          at.y + 20, pale, name);
    }
    return text;
  }

  std::string edge(const CircuitStudy::Edge& edge, std::size_t index) const {
    const Interval& effect = edge.best_effect();
    const Point from = place_of(edge.from);
    const double width = 1 + 6 * std::abs(effect.share) / std::max(strongest_, 1e-300);
    std::string text = fmt::format("<g><title>{}</title>", svg_escaped(list_text(edge)));
    Point middle{};
    for (const CircuitNode& node : edge.to.readers()) {
      const Point to = place_of(node);
      const int port = port_of(edge.to.kind);
      const double x0 = from.x + box_width * (0.35 + 0.15 * port), y0 = from.y, x1 = to.x + port_x(port),
                   y1 = to.y + box_height;
      const double bend = std::max(30.0, (y0 - y1) / 2);
      text += fmt::format(
          "<path d=\"M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}\" fill=\"none\" stroke=\"{}\" "
          "stroke-width=\"{:.1f}\" stroke-opacity=\"0.55\"{}/>",
          x0, y0, x0, y0 - bend, x1, y1 + bend, x1, y1, effect.share < 0 ? opposes : supports, width,
          edge.survives ? "" : " stroke-dasharray=\"5 4\"");
      // A point of the curve that differs from edge to edge, so that numbers do not cover each other.
      const double t = 0.35 + 0.1 * static_cast<double>(index % 4), u = 1 - t;
      middle = {u * u * u * x0 + 3 * u * u * t * x0 + 3 * u * t * t * x1 + t * t * t * x1,
                u * u * u * y0 + 3 * u * u * t * (y0 - bend) + 3 * u * t * t * (y1 + bend) + t * t * t * y1};
    }
    if (index < max_drawn_edges) {
      text += fmt::format(
          "<circle cx=\"{0:.1f}\" cy=\"{1:.1f}\" r=\"8\" fill=\"#ffffff\" stroke=\"#9aa5b1\"/>"
          "<text x=\"{0:.1f}\" y=\"{2:.1f}\" font-size=\"10\" text-anchor=\"middle\">{3}</text>",
          middle.x, middle.y, middle.y + 3.5, index + 1);
    }
    return text + "</g>\n";
  }

  static std::string list_text(const CircuitStudy::Edge& edge) {
    return edge.name + "  " + figure_text(edge.best_effect());
  }

  std::string list(double x, double y) const {
    std::string text = fmt::format(
        "<text x=\"{:.0f}\" y=\"{:.0f}\" font-size=\"12\" fill=\"{}\">effect of each edge on the log "
        "odds, and its 95 % interval</text>\n",
        x, y, pale);
    for (std::size_t i = 0; i < std::min(edges_.size(), max_drawn_edges); ++i) {
      y += list_line;
      text += fmt::format(
          "<text x=\"{:.0f}\" y=\"{:.0f}\" font-size=\"13\"{}>{}</text>"
          "<text x=\"{:.0f}\" y=\"{:.0f}\" font-size=\"13\">{}</text>\n",
          x, y, fmt::format(" fill=\"{}\"", pale), i + 1, x + 28, y, svg_escaped(list_text(*edges_[i])));
    }
    if (edges_.size() > max_drawn_edges) {
      text += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" font-size=\"12\" fill=\"{}\">and {} weaker ones</text>\n", x,
                          y + list_line, pale, edges_.size() - max_drawn_edges);
      y += list_line;
    }
    if (example_.heads.empty()) return text;
    y += 2 * list_line;
    text += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" font-size=\"12\" fill=\"{}\">{}</text>\n", x, y, pale,
                        heads_title);
    for (const HeadInPair& one : example_.heads) {
      y += list_line;
      text += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" font-size=\"13\">{}</text>\n", x, y,
                          svg_escaped(head_text(one)));
    }
    return text;
  }

  // Returns "layer 1 head 1: it → sick 0.84 (corrupted: bumpy 0.60)".
  std::string head_text(const HeadInPair& one) const {
    const auto attended = [](const std::vector<std::string>& tokens, const HeadInPair::Attended& most) {
      return fmt::format("{} {:.2f}", token_label(tokens, most.token), most.weight);
    };
    return fmt::format("{}: {} → {} (corrupted: {})",
                       part_name({.what = "head", .layer = one.head.layer, .head = one.head.head}),
                       token_label(example_.tokens, one.token), attended(example_.tokens, one.clean),
                       attended(example_.corrupted, one.corrupted));
  }

  // Writes the words, those that the corrupted text changes marked, and returns their width.
  double sentence(std::string* line) const {
    double width = 0;
    for (std::size_t i = 0; i < example_.tokens.size(); ++i) {
      const bool differs = i < example_.corrupted.size() && example_.corrupted[i] != example_.tokens[i];
      const std::string token = token_text(example_.tokens[i]);
      const std::string word = differs ? "[" + token + " → " + token_text(example_.corrupted[i]) + "]" : token;
      width += svg_text_width(word + " ", word_size, differs);
      if (!line) continue;
      *line += (line->empty() ? "" : " ");
      *line += differs ? fmt::format("<tspan font-weight=\"700\">{}</tspan>", svg_escaped(word)) : svg_escaped(word);
    }
    return width;
  }

  std::vector<std::string> wrapped_lines(double width) const {
    const int columns = std::max(40, static_cast<int>(width / 8.2));
    std::vector<std::string> lines;
    for (const std::string& sentence : title_) {
      const std::string text = wrapped(sentence, columns);
      for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        lines.push_back(text.substr(begin, end - begin));
        begin = end + 1;
      }
    }
    return lines;
  }

  const CircuitExample& example_;
  std::vector<const CircuitStudy::Edge*> edges_{};
  std::map<int, std::vector<CircuitNode>> rows_{};
  std::vector<std::pair<CircuitNode, Point>> places_{};
  std::vector<std::pair<CircuitNode, int>> ports_{};  // that an edge enters
  std::vector<std::string> title_{};
  double strongest_ = 0, graph_width_ = 0, height_ = 0;
};

}  // namespace

std::string circuit_svg(const CircuitStudy& study, const CircuitExample& example) {
  if (study.verdict != CircuitStudy::Verdict::circuit) {
    CircuitStudy nothing = study;
    nothing.edges.clear();
    return CircuitPicture(nothing, example).text();
  }
  return CircuitPicture(study, example).text();
}

}  // namespace heed
