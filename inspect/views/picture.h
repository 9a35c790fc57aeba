#pragma once
#include "inspect/views/view.h"
#include "run/dump.h"

#include <string>

// Attention as files for papers and other programs.
namespace heed {

// A heat map with words on both axes and a legend, as one SVG that needs nothing else: of the layer and head chosen, or a
// grid of all of those chosen. In a single map each cell carries its figure, and its words under the pointer.
std::string attention_svg(const SentenceAttention& sentence, std::int64_t step, const View& view);

// One line a weight, RFC 4180: sentence, layer, head, from and to (positions of tokens), all counted from 1, the two tokens,
// the weight with the fewest digits that give the float32 back.
std::string attention_csv(const Dump& dump, const View& view);

// A NumPy file, format 1.0 (numpy.lib.format): float32 (layers, heads, T, T), of the layers and heads chosen. Error where
// layers have different numbers of heads.
std::string attention_npy(const SentenceAttention& sentence, const View& view);

}  // namespace heed
