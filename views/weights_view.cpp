#include "views/singular_values.h"
#include "views/view.h"

#include <heed/autograd/ops.h>
#include <heed/tokenizers/graphemes.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

namespace heed {
namespace {

struct WeightMatrix {
  std::string name;
  Tensor values;           // (n, m)
  std::vector<Tensor> of;  // the part of each head
};

double frobenius_norm(const Tensor& matrix) { return std::sqrt(sum(square(matrix.to(DType::float64))).item()); }

// Splits `values` among `heads` along `axis`. With a `head` (from 0), keeps only its part.
WeightMatrix matrix_of(const std::string& name, const Tensor& values, int axis, int heads,
                       const std::optional<int>& head) {
  WeightMatrix matrix{name, values.to(DType::float32), {}};
  const std::int64_t part = values.size(axis) / heads;
  for (int h = 0; h < heads; ++h) matrix.of.push_back(slice(matrix.values, axis, h * part, (h + 1) * part));
  if (head) {
    matrix.values = matrix.of[static_cast<std::size_t>(*head)];
    matrix.of = {matrix.values};
  }
  return matrix;
}

// Returns the means of the entries that fall into each of rows x columns cells.
std::vector<std::vector<double>> cells_of(const Tensor& matrix, std::int64_t rows, std::int64_t columns) {
  rows = std::min(rows, matrix.size(0));
  columns = std::min(columns, matrix.size(1));
  std::vector<std::vector<double>> cells;
  for (std::int64_t r = 0; r < rows; ++r) {
    const Tensor band = slice(matrix, 0, r * matrix.size(0) / rows, (r + 1) * matrix.size(0) / rows);
    cells.emplace_back();
    for (std::int64_t c = 0; c < columns; ++c) {
      const Tensor block = slice(band, 1, c * matrix.size(1) / columns, (c + 1) * matrix.size(1) / columns);
      cells.back().push_back(mean(block.to(DType::float64)).item());
    }
  }
  return cells;
}

// Returns the matrices side by side, each with its own colour scale.
std::string heat_maps(std::span<const WeightMatrix> matrices, const View& view) {
  constexpr int indent = 2, gap = 2, columns_of_a_cell = 2;
  const int count = static_cast<int>(matrices.size());
  const int side = std::min(16, (view.terminal.width - indent - (count - 1) * gap) / count / columns_of_a_cell);
  std::vector<std::string> lines(static_cast<std::size_t>(side) + 1);
  int begin = 0;  // first column of this map
  std::vector<int> widths(lines.size(), 0);
  const auto append = [&](std::size_t line, const std::string& text, int width) {
    lines[line] += std::string(static_cast<std::size_t>(begin - widths[line]), ' ') + text;
    widths[line] = begin + width;
  };
  for (const WeightMatrix& matrix : matrices) {
    const auto cells = cells_of(matrix.values, side, side);
    double largest = 0;
    for (const auto& row : cells) {
      for (const double cell : row) largest = std::max(largest, std::abs(cell));
    }
    const std::string title = fmt::format("{} ±{:.2g}", matrix.name, largest);
    append(0, fit_width(title, std::min(display_width(title), side * columns_of_a_cell)), display_width(title));
    for (std::size_t r = 0; r < cells.size(); ++r) {
      std::string row;
      for (const double cell : cells[r]) row += signed_cell(largest > 0 ? cell / largest : 0, view.terminal);
      append(r + 1, row, static_cast<int>(cells[r].size()) * columns_of_a_cell);
    }
    begin += side * columns_of_a_cell + gap;
  }
  std::string text;
  for (const std::string& line : lines) {
    if (!line.empty()) text += fmt::format("  {}\n", trimmed(line));
  }
  return text;
}

// Selects the matrices of one layer, or of one head of it.
struct LayerMatrices {
  int layer;
  std::optional<int> head;
  std::vector<WeightMatrix> matrices;  // W_Q, W_K, W_V, W_O
};

std::vector<LayerMatrices> chosen_matrices(const Model& model, const View& view) {
  const std::vector<TransformerBlock>& blocks = model.transformer().blocks;
  const Range layers = chosen_range("layer", view.layer, static_cast<int>(blocks.size()));
  std::vector<LayerMatrices> result;
  for (int layer = layers.begin; layer < layers.end; ++layer) {
    const MultiHeadAttention& attention = blocks[static_cast<std::size_t>(layer)].attention;
    const int heads = attention.config.heads, kv_heads = attention.config.kv_heads;
    std::optional<int> head, kv_head;  // the head, and its key-value head
    if (view.head) {
      head = chosen_range("head", view.head, heads).begin;
      kv_head = attention.key_head(*head);
    }
    result.push_back({layer,
                      head,
                      {matrix_of("W_Q", attention.W_Q.weight, 1, heads, head),
                       matrix_of("W_K", attention.W_K.weight, 1, kv_heads, kv_head),
                       matrix_of("W_V", attention.W_V.weight, 1, kv_heads, kv_head),
                       matrix_of("W_O", attention.W_O.weight, 0, heads, head)}});
  }
  return result;
}

}  // namespace

std::string weights_view(const Model& model, const View& view) {
  const int width = view.terminal.width;
  const bool narrow = width < 60;
  const int indent = narrow ? 4 : 42;  // indent of norms that do not fit on their line
  std::string text = paragraph(
      fmt::format(
          "{}learned matrices; a cell is the mean of the entries under it, {}", step_text(model.step, view),
          view.terminal.colour ? "from blue (negative) to red (positive)" : "darker when larger, with - when negative"),
      view.terminal);
  for (const LayerMatrices& layer : chosen_matrices(model, view)) {
    text += fmt::format("\nlayer {}{}\n", layer.layer + 1, layer.head ? fmt::format(" head {}", *layer.head + 1) : "");
    const auto line = [&](const std::string& of_all, const std::string& of_heads) {
      text += paragraph(of_all + of_heads, view.terminal, indent);
    };
    line(fmt::format("  {:<5}{:<14}{:>9}{:>10}", "", "shape", "Frobenius", "spectral"),
         layer.matrices[0].of.size() == 1 ? "" : "  Frobenius of each head");
    for (const WeightMatrix& matrix : layer.matrices) {
      std::string of_heads;
      for (const Tensor& part : matrix.of) of_heads += fmt::format(" {:.3f}", frobenius_norm(part));
      line(fmt::format("  {:<5}{:<14}{:>9.3f}{:>10.3f}", matrix.name, to_string(matrix.values.shape()),
                       frobenius_norm(matrix.values), singular_values(matrix.values)[0]),
           matrix.of.size() > 1 ? " " + of_heads : "");
    }
    const std::span<const WeightMatrix> all = layer.matrices;
    text += narrow ? heat_maps(all.first(2), view) + heat_maps(all.last(2), view) : heat_maps(all, view);
  }
  return text;
}

Json weights_json(const Model& model, const View& view) {
  Json layers = Json::array();
  for (const LayerMatrices& layer : chosen_matrices(model, view)) {
    Json matrices = Json::array();
    for (const WeightMatrix& matrix : layer.matrices) {
      Json heads = Json::array();
      for (const Tensor& part : matrix.of) heads.push_back(number_or_null(frobenius_norm(part)));
      matrices.push_back({{"name", matrix.name},
                          {"shape", {matrix.values.size(0), matrix.values.size(1)}},
                          {"frobenius", number_or_null(frobenius_norm(matrix.values))},
                          {"spectral", number_or_null(singular_values(matrix.values)[0])},
                          {"heads", std::move(heads)}});
    }
    layers.push_back(
        {{"layer", layer.layer}, {"head", layer.head ? Json(*layer.head) : Json()}, {"matrices", std::move(matrices)}});
  }
  return {{"step", model.step}, {"layers", std::move(layers)}};
}

}  // namespace heed
