#include "autograd/cpu/bfloat16_gemm.h"

#include <heed/autograd/autocast.h>

#include <utility>

namespace heed {
namespace {

thread_local Precision current = Precision::float32;

}  // namespace

Autocast::Autocast(Precision precision) : before_(std::exchange(current, precision)) {}
Autocast::~Autocast() { current = before_; }
Precision Autocast::precision() { return current; }

bool has_bfloat16_products() { return cpu::has_bfloat16_unit(); }

}  // namespace heed
