#pragma once
#include <heed/autograd/tensor.h>

#include <string>

namespace heed {

/// Returns the part of the open recording that `output` was computed from, as a graph in the DOT language: a box per variable with its
/// name, an ellipse per operation with its layer, and the shape and bytes of each. Arrows go from inputs to results; constants are
/// left out. Throws Error for a tensor that is not recorded.
///
///     const Recording recording;
///     write_file("loss.dot", draw(model.loss(batch)));   // dot -Tsvg loss.dot -o loss.svg
std::string draw(const Tensor& output);

}  // namespace heed
