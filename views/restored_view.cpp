#include "views/restored_view.h"

#include "views/circuit_view.h"

#include <heed/files/utf8.h>
#include <heed/tokenizers/graphemes.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

constexpr std::size_t layers_per_table = 12;  // in 80 columns

const char* restored_title(Restored::What what) {
  switch (what) {
    case Restored::What::residual:
      return "Residual stream before a layer";
    case Restored::What::attention:
      return "Output of a layer's attention";
    case Restored::What::mlp:
      return "Output of a layer's MLP";
    case Restored::What::head:
      return "Output of a head, at all tokens";
  }
  return "";
}

std::string restored_row(const Restored& found, const Restored::Table& table, std::size_t row) {
  if (table.what == Restored::What::head) return fmt::format("head {}", row + 1);
  if (!found.by_position) return found.tokens[row];
  return fmt::format("{:>3} {}", row + 1, found.tokens[row].empty() ? "(varies)" : excerpt(found.tokens[row], 12));
}

// Returns the name in `columns` of a terminal, as far as its characters have one column each.
std::string padded_name(const std::string& name, int columns) {
  return name + std::string(static_cast<std::size_t>(std::max(columns - display_width(name), 0)), ' ');
}

std::string restored_cell(const Restored::Cell& cell) {
  if (std::isnan(cell.restored.share)) return "";
  return cell.is_shown ? fmt::format("{:.0f}", 100 * cell.restored.share) : "·";
}

std::string restored_table(const Restored& found, const Restored::Table& table) {
  std::string text;
  const std::size_t layers = table.cells[0].size();
  for (std::size_t begin = 0; begin < layers; begin += layers_per_table) {
    const std::size_t end = std::min(layers, begin + layers_per_table);
    text += fmt::format("\n{:<43}{}\n{:18}", restored_title(table.what), begin == 0 ? "% restored" : "", "layer");
    for (std::size_t layer = begin; layer < end; ++layer) text += fmt::format("{:>5}", layer + 1);
    text += "\n";
    for (std::size_t row = 0; row < table.cells.size(); ++row) {
      text += padded_name(restored_row(found, table, row), 18);
      for (std::size_t layer = begin; layer < end; ++layer) {
        const std::string cell = restored_cell(table.cells[row][layer]);
        text += std::string(static_cast<std::size_t>(5 - std::min(display_width(cell), 5)), ' ') + cell;
      }
      text += "\n";
    }
  }
  return text;
}

}  // namespace

std::string restored_view(const Restored& found, const View& view) {
  std::string text =
      paragraph(fmt::format("Log odds of the right answers: {} on {} clean texts, {} on the corrupted ones.",
                            figure_text(found.clean), found.pairs, figure_text(found.corrupted)),
                view.terminal);
  if (!(found.behaviour.low > 0)) {
    return text + paragraph(fmt::format("Their difference, {}, is not shown to be above 0: the model does not show the "
                                        "behaviour on these pairs, and there is nothing to restore.",
                                        figure_text(found.behaviour)),
                            view.terminal);
  }
  text += paragraph(
      "The tables patch one activation of the clean text into the corrupted one and show how much of the difference "
      "that restores. A dot is not shown to differ from 0.",
      view.terminal);
  for (const Restored::Table& table : found.tables) {
    const Restored::Cell* best = nullptr;
    std::size_t best_row = 0, best_layer = 0;
    for (std::size_t row = 0; row < table.cells.size(); ++row) {
      for (std::size_t layer = 0; layer < table.cells[row].size(); ++layer) {
        const Restored::Cell& cell = table.cells[row][layer];
        if (!cell.is_shown || (best && cell.restored.share <= best->restored.share)) continue;
        best = &cell, best_row = row, best_layer = layer;
      }
    }
    text += restored_table(found, table);
    if (!best) continue;
    const bool is_head = table.what == Restored::What::head;
    text += fmt::format("most: layer {}, {}{}: {}\n", best_layer + 1,
                        is_head             ? "head "
                        : found.by_position ? "token "
                                            : "",
                        is_head || found.by_position ? std::to_string(best_row + 1) : found.tokens[best_row],
                        share_text(best->restored));
  }
  return text;
}

Json restored_json(const Restored& found) {
  Json tables = Json::object();
  for (const Restored::Table& table : found.tables) {
    Json rows = Json::array();
    for (const auto& row : table.cells) {
      Json cells = Json::array();
      for (const Restored::Cell& cell : row) {
        Json one = figure_json(cell.restored);
        one["is_shown"] = cell.is_shown;
        cells.push_back(std::move(one));
      }
      rows.push_back(std::move(cells));
    }
    tables[name_of(table.what)] = std::move(rows);
  }
  return {{"pairs", found.pairs},
          {"observations", found.observations},
          {"clean", figure_json(found.clean)},
          {"corrupted", figure_json(found.corrupted)},
          {"behaviour", figure_json(found.behaviour)},
          {"by_position", found.by_position},
          {"tokens", found.tokens},
          {"restored", std::move(tables)}};
}

}  // namespace heed
