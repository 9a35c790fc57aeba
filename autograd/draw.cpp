#include "autograd/internal/tape.h"

#include <heed/autograd/draw.h>
#include <heed/autograd/error.h>

#include <vector>

namespace heed {
namespace {

std::string quoted(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

}  // namespace

std::string draw(const Tensor& output) {
  check_defined("draw", {&output});
  tape::Tape* const tape = tape::thread.tape;
  if (!tape || output.tape_node().recording != tape->id) {
    fail("draw: expected a tensor of the open Recording, got {} of shape {}",
         output.tape_node().recording ? "one of another Recording" : "a constant or a variable",
         to_string(output.shape()));
  }
  std::vector<bool> is_drawn(tape->nodes.size());
  is_drawn[static_cast<std::size_t>(output.tape_node().node)] = true;
  std::vector<std::string> names(tape->nodes.size());
  for (const auto& [number, leaf] : tape->leaves) names[static_cast<std::size_t>(leaf.node)] = leaf.value.name();
  std::string lines;
  for (std::int64_t i = output.tape_node().node; i >= 0; --i) {
    if (!is_drawn[static_cast<std::size_t>(i)]) continue;
    const tape::Node& node = (*tape)[i];
    const std::string& layer = node.operation ? tape->layers[node.layer] : names[static_cast<std::size_t>(i)];
    std::string label = quoted(node.operation ? node.operation->name() : layer.empty() ? "variable" : layer);
    if (node.operation && !layer.empty()) label += "\\n" + quoted(layer);
    lines += fmt::format("  n{} [label=\"{}\\n{} {}\\n{} bytes\"{}];\n", i, label, to_string(node.dtype),
                         to_string(node.shape), node.shape.numel() * size_of(node.dtype),
                         node.operation ? "" : ", shape=box");
    for (std::size_t k = node.first_edge; k < node.first_edge + node.edges; ++k) {
      if (tape->edges[k] < 0) continue;
      is_drawn[static_cast<std::size_t>(tape->edges[k])] = true;
      lines += fmt::format("  n{} -> n{};\n", tape->edges[k], i);
    }
  }
  return "digraph recording {\n" + lines + "}\n";
}

}  // namespace heed
