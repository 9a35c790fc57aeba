#include "views/pair_lens_view.h"

#include "views/circuit_view.h"

#include <fmt/format.h>

namespace heed {

std::string pair_lens_view(const PairLens& lens, const View& view) {
  std::string text = paragraph(
      fmt::format(
          "The final norm and the head read the residual stream after each layer (logit lens), in {} pairs. Log "
          "odds: of the right answers, on clean texts. Difference: to the corrupted texts. Right: clean "
          "texts whose right answers are more probable than the wrong ones.",
          lens.pairs),
      view.terminal);
  const bool is_wide = view.terminal.width >= 80;
  if (is_wide) text += fmt::format("\n{:11}{:<23}{:<23}{}\n", "", "log odds", "difference", "right");
  for (const PairLens::Layer& layer : lens.layers) {
    const std::string name = layer.layer == 0 ? "embedding" : fmt::format("layer {}", layer.layer);
    const std::string clean = figure_text(layer.clean), difference = figure_text(layer.difference);
    text += is_wide ? fmt::format("{:<11}{:<23}{:<23}{}\n", name, clean, difference, share_text(layer.right))
                    : paragraph(fmt::format("{}: log odds {}, difference {}, right {}", name, clean, difference,
                                            share_text(layer.right)),
                                view.terminal, 2);
  }
  return text;
}

Json pair_lens_json(const PairLens& lens) {
  Json layers = Json::array();
  for (const PairLens::Layer& layer : lens.layers) {
    layers.push_back({{"layer", layer.layer},
                      {"clean", figure_json(layer.clean)},
                      {"corrupted", figure_json(layer.corrupted)},
                      {"difference", figure_json(layer.difference)},
                      {"right", figure_json(layer.right)}});
  }
  return {{"pairs", lens.pairs}, {"observations", lens.observations}, {"layers", std::move(layers)}};
}

}  // namespace heed
