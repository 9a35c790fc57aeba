#include <heed/nn/hook.h>

#include <utility>
#include <vector>

namespace heed {

void Hook::show_value(const std::string& name, Tensor& value) const {
  struct Aside {  // disables all hooks while a hook's function runs
    const Hook* latest = std::exchange(latest_, nullptr);
    ~Aside() { latest_ = latest; }
  } aside;
  std::vector<const Hook*> standing;
  for (const Hook* hook = this; hook; hook = hook->earlier_) standing.push_back(hook);
  const Shape shape = value.shape();
  const DType dtype = value.dtype();
  for (auto hook = standing.rbegin(); hook != standing.rend(); ++hook) {
    (*hook)->function_(name, value);
    if (value.defined() && value.shape() == shape && value.dtype() == dtype) continue;
    const std::string given =
        value.defined() ? fmt::format("{} {}", to_string(value.dtype()), to_string(value.shape())) : "no tensor";
    throw Error(fmt::format("hook: {} was replaced by {}; expected the same dtype and shape, {} {}", name, given,
                            to_string(dtype), to_string(shape)));  // its name has the layer's
  }
}

}  // namespace heed
