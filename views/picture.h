#pragma once
#include "run/dump.h"
#include "views/view.h"

#include <string>

// Writes attention as files for papers and other programs.
namespace heed {

/// Returns a heat map as one self-contained SVG, with words on both axes and a legend. It shows the chosen layer and head, or
/// a grid of all chosen ones. In a single map each cell shows its figure, and its words in a tooltip.
std::string attention_svg(const SentenceAttention& sentence, std::int64_t step, const View& view);

/// Returns one line per weight (RFC 4180): sentence, layer, head, from and to (token positions), all counted from 1, the two
/// tokens, and the weight with the fewest digits that round-trip as float32.
std::string attention_csv(const Dump& dump, const View& view);

/// Returns a NumPy file, format 1.0 (numpy.lib.format): float32 (layers, heads, T, T) of the chosen layers and heads. Throws
/// Error if layers have different numbers of heads.
std::string attention_npy(const SentenceAttention& sentence, const View& view);

}  // namespace heed
