#include "autograd/cpu/units.h"

#include <heed/autograd/autocast.h>

#include <utility>

namespace heed {
namespace {

thread_local Precision current = Precision::float32;

}  // namespace

Autocast::Autocast(Precision precision) : before_(std::exchange(current, precision)) {}
Autocast::~Autocast() { current = before_; }
Precision Autocast::precision() { return current; }
Precision Autocast::precision(DType dtype) { return dtype == DType::float32 ? current : Precision::float32; }

bool has_bfloat16_products() { return cpu::bfloat16_unit() != cpu::BFloat16Unit::none; }
bool has_int8_products() { return cpu::has_int8_unit(); }

}  // namespace heed
