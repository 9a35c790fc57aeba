#include <heed/nn/hook.h>

#include <utility>
#include <vector>

namespace heed {

void Hook::show_value(const std::string& name, Tensor& value) const {
  struct Aside {  // none is open while their functions run
    const Hook* latest = std::exchange(latest_, nullptr);
    ~Aside() { latest_ = latest; }
  } aside;
  std::vector<const Hook*> standing;
  for (const Hook* hook = this; hook; hook = hook->earlier_) standing.push_back(hook);
  const Shape shape = value.shape();
  const DType dtype = value.dtype();
  for (auto hook = standing.rbegin(); hook != standing.rend(); ++hook) {
    (*hook)->function_(name, value);
    if (!value.defined())
      fail("hook: {} was replaced by no tensor; expected {} {}", name, to_string(dtype), to_string(shape));
    if (value.shape() != shape || value.dtype() != dtype) {
      fail("hook: {} was replaced by {} {}; expected {} {}, as it was", name, to_string(value.dtype()),
           to_string(value.shape()), to_string(dtype), to_string(shape));
    }
  }
}

}  // namespace heed
