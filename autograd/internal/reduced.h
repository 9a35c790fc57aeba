#pragma once
#include <heed/autograd/ops.h>

#include <fmt/format.h>

namespace heed {

// Throws Error unless the label of a row is one of the classes or the ignored one.
inline void check_label(const char* operation, std::int32_t label, std::int64_t row, std::int64_t classes,
                        std::int32_t ignored_label) {
  if (label == ignored_label || (label >= 0 && label < classes)) return;
  fail("{}: label {} of row {} lies outside [0, {}){}", operation, label, row, classes,
       label < 0 ? fmt::format("; ignored_label is {}", ignored_label) : "");
}

// Returns the losses of all rows as `reduction` says.
inline Tensor reduced(const Tensor& each, Reduction reduction) {
  return reduction == Reduction::none ? each : reduction == Reduction::sum ? sum(each) : mean(each);
}

}  // namespace heed
