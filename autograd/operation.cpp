#include <heed/autograd/operation.h>

namespace heed {
namespace {

std::vector<const Operation*>& registry() {
  static std::vector<const Operation*> all;
  return all;
}

}  // namespace

Operation::Operation(const char* name, Samples samples, Broadcasting broadcasting)
    : name_(name), samples_(samples), broadcasting_(broadcasting) {
  registry().push_back(this);
}

const std::vector<const Operation*>& operations() { return registry(); }

}  // namespace heed
