#include "files/internal/wrapped_names.h"

#include <heed/autograd/ops.h>
#include <heed/files/utf8.h>
#include <heed/nn/parameters.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace heed {
namespace {

template <class Name = std::string>
std::vector<Name> names(const NamedTensors& tensors) {
  std::vector<Name> result;
  for (const auto& [name, tensor] : tensors) result.push_back(name);
  return result;
}

std::unordered_map<std::string, const Tensor*> by_name(const NamedTensors& tensors) {
  std::unordered_map<std::string, const Tensor*> result;
  for (const auto& [name, tensor] : tensors) result.emplace(name, &tensor);
  return result;
}

}  // namespace

bool is_within(const std::string& name, const std::string& scope) {
  return scope.empty() || name == scope || name.starts_with(scope + ".");
}

void copy_by_name(const NamedTensors& from, const NamedTensors& to, const std::string& source) {
  NamedTensors unwrapped = from;
  const std::size_t wrapper = wrapper_length(names<std::string_view>(from), names<std::string_view>(to));
  for (auto& [name, tensor] : unwrapped) name.erase(0, wrapper);
  const auto given = by_name(unwrapped), wanted = by_name(to);
  std::vector<std::string> mistakes;
  for (const auto& [name, tensor] : to) {
    const auto found = given.find(name);
    if (found == given.end()) {
      mistakes.push_back(fmt::format("missing: {} {}", excerpt(name), to_string(tensor.shape())));
    } else if (found->second->shape() != tensor.shape()) {
      mistakes.push_back(fmt::format("{}: expected shape {}, got {}", excerpt(name), to_string(tensor.shape()),
                                     to_string(found->second->shape())));
    }
  }
  for (const auto& [name, tensor] : unwrapped) {
    if (!wanted.contains(name)) {
      mistakes.push_back(fmt::format("extra: {} {}", excerpt(name), to_string(tensor.shape())));
    }
  }
  if (!mistakes.empty()) {
    fail("{}: its tensors do not match the model's; was the model configured differently?\n  {}", source,
         listed(mistakes, "\n  "));
  }
  for (const auto& [name, tensor] : to) tensor.copy_from(given.at(name)->detach());
}

void Parameters::add(const std::string& name, const Tensor& value) {
  if (contains(name)) fail("parameters: '{}' already exists; give each layer its own scope", name);
  if (!value.is_variable()) {
    fail("parameters: '{}' must be a variable, got {}; add variable(x), and compute with that", name,
         !value.defined()                   ? "an undefined tensor"
         : value.tape_node().recording != 0 ? "a recorded tensor of shape " + to_string(value.shape())
                                            : "a constant of shape " + to_string(value.shape()));
  }
  entries_->emplace_back(name, value);
  value.set_name(name);
}

void Parameters::set_frozen(const std::string& name, bool frozen) {
  bool found = false;
  for (const auto& [key, value] : *entries_) {
    if (!is_within(key, name)) continue;
    value.set_frozen(frozen);
    found = true;
  }
  if (!found) {
    fail("parameters: unknown parameter or scope '{0}'{1}", name, did_you_mean(name, names({begin(), end()})));
  }
}

const Tensor* Parameters::find(const std::string& name) const {
  for (const auto& [key, value] : *entries_) {
    if (key == name) return &value;
  }
  return nullptr;
}

const Tensor& Parameters::operator[](const std::string& name) const& {
  if (const Tensor* found = find(name)) return *found;
  fail("parameters: no '{}'{}", name, did_you_mean(name, names({begin(), end()})));
}

std::int64_t Parameters::numel() const {
  std::int64_t total = 0;
  for (const auto& [name, value] : *entries_) total += value.numel();
  return total;
}

Init Init::xavier(std::int64_t fan_in, std::int64_t fan_out) {
  return {Kind::uniform, std::sqrt(6.0 / static_cast<double>(fan_in + fan_out))};
}

Scope::Scope(NamedTensors values)
    : parameters_(nullptr),
      random_(0),
      dtype_(values.empty() ? DType::float32 : values[0].second.dtype()),
      given_(std::make_shared<const NamedTensors>(std::move(values))) {}

const Parameters& Scope::parameters() const {
  if (!parameters_) fail("Scope: a scope of given tensors has no store of parameters");
  return *parameters_;
}

Parameter Scope::given(const std::string& full_name, const Shape& shape) const {
  const auto found = std::ranges::find(*given_, full_name, [](const auto& pair) { return pair.first; });
  if (found == given_->end())
    fail("parameter '{}': not among the given tensors{}", full_name, did_you_mean(full_name, names(*given_)));
  if (found->second.shape() != shape) {
    fail("parameter '{}': expected shape {}, got {}", full_name, to_string(shape), to_string(found->second.shape()));
  }
  return Parameter(found->second);
}

Scope Scope::operator/(const std::string& name) const {
  Scope inner = *this;
  inner.prefix_ += name + '.';
  if (!shared_.empty()) inner.shared_ += name + '.';
  return inner;
}

Scope Scope::sharing(const Scope& other) const {
  Scope shared = *this;
  shared.shared_ = other.prefix_;
  return shared;
}

Tensor Scope::drawn(const std::string& full_name, const Shape& shape, Init init) const {
  Random random = random_.stream(full_name);
  Tensor values(shape, dtype_, fmt::format("parameter '{}'", full_name).c_str());
  dispatch(dtype_, [&]<class T>() {
    T* const to = values.mutable_data<T>();
    for (std::int64_t i = 0, n = values.numel(); i < n; ++i) {
      to[i] = static_cast<T>(init.kind == Init::Kind::uniform  ? random.uniform(-init.scale, init.scale)
                             : init.kind == Init::Kind::normal ? init.scale * random.normal()
                                                               : init.scale);
    }
  });
  return values;
}

Parameter Scope::parameter(const std::string& name, const Shape& shape, Init init) const {
  const std::string full_name = prefix_ + name;
  if (given_) return given(shared_.empty() ? full_name : shared_ + name, shape);
  if (!shared_.empty()) return Parameter((*parameters_)[shared_ + name]);
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t size) { return size < 1; })) {
    fail("parameter '{}': every size must be positive, got {}", full_name, to_string(shape));
  }
  if (init.kind == Init::Kind::normal && !(init.scale >= 0 && std::isfinite(init.scale))) {
    fail("parameter '{}': its deviation must be finite and at least 0, got {}", full_name, init.scale);
  }
  const Tensor made = variable(source_                    ? (*source_)(full_name, shape)
                               : values_ == Values::none  ? broadcast_to(zeros({}, dtype_), shape)
                               : values_ == Values::zeros ? zeros(shape, dtype_)
                                                          : drawn(full_name, shape, init));
  if (made.shape() != shape) {
    fail("parameter '{}': expected shape {}, got {}", full_name, to_string(shape), to_string(made.shape()));
  }
  parameters_->add(full_name, made);
  return Parameter(made);
}

}  // namespace heed
