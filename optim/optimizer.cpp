#include <heed/optim/optimizer.h>
#include <heed/optim/update.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

bool covers(const std::string& frozen, const std::string& name) {
  return name == frozen || name.starts_with(frozen + ".");
}

bool is_frozen(const std::string& name, const OptimizerOptions& options) {
  return std::any_of(options.frozen.begin(), options.frozen.end(),
                     [&](const std::string& frozen) { return covers(frozen, name); });
}

void check_ranges(const OptimizerOptions& o) {
  for (const auto& [name, value] : {std::pair("momentum", o.momentum), {"beta1", o.beta1}, {"beta2", o.beta2}}) {
    if (!(value >= 0 && value < 1)) fail("Optimizer: {} must lie in [0, 1), got {}", name, value);
  }
  if (!(o.eps > 0 && std::isfinite(o.eps))) fail("Optimizer: eps must be finite and above 0, got {}", o.eps);
  if (!(o.weight_decay >= 0 && std::isfinite(o.weight_decay))) {
    fail("Optimizer: weight_decay must be finite and at least 0, got {}", o.weight_decay);
  }
  if (o.nesterov && (o.method != OptimizerOptions::Method::sgd || o.momentum == 0)) {
    fail("Optimizer: nesterov needs sgd with a momentum above 0");
  }
}

void check_frozen(const OptimizerOptions& options, const Parameters& parameters) {
  std::vector<std::string> names;
  for (const auto& [name, parameter] : parameters) names.push_back(name);
  for (const std::string& frozen : options.frozen) {
    if (std::none_of(names.begin(), names.end(), [&](const auto& name) { return covers(frozen, name); })) {
      fail("Optimizer: no parameter to freeze is named '{0}' or begins with '{0}.'{1}", frozen,
           did_you_mean(frozen, names));
    }
  }
}

std::vector<const char*> moment_names(const OptimizerOptions& options) {
  using Method = OptimizerOptions::Method;
  switch (options.method) {
    case Method::sgd:
      return options.momentum != 0 ? std::vector{"b"} : std::vector<const char*>{};
    case Method::adam:
    case Method::adamw:
      return {"m", "v"};
  }
  fail("Optimizer: {} is no method", static_cast<int>(options.method));
}

}  // namespace

Optimizer::Optimizer(const Parameters& parameters, OptimizerOptions options)
    : parameters_(parameters), known_(parameters.size()), options_(std::move(options)) {
  if (known_ == 0) fail("Optimizer: its store holds no parameters; make the layers first, then their optimiser");
  check_ranges(options_);
  check_frozen(options_, parameters);
  for (const auto& [name, parameter] : parameters) {
    if (is_frozen(name, options_)) continue;
    std::vector<Tensor> moments;
    for (std::size_t i = 0; i < moment_names(options_).size(); ++i) {
      moments.push_back(zeros(parameter.shape(), parameter.dtype()));
    }
    slots_.push_back({name, parameter, std::move(moments)});
  }
}

void Optimizer::check_complete() const {
  std::string added;
  for (auto entry = parameters_.begin() + static_cast<std::ptrdiff_t>(known_); entry != parameters_.end(); ++entry) {
    if (!is_frozen(entry->first, options_)) added += (added.empty() ? "" : ", ") + entry->first;
  }
  if (!added.empty()) {
    fail("Optimizer: parameters were made after it, and would not be trained: {}; make all layers before", added);
  }
}

void Optimizer::step(const Gradients& gradients, double lr) {
  if (!(lr >= 0 && std::isfinite(lr))) fail("Optimizer: expected a finite learning rate of at least 0, got {}", lr);
  check_complete();
  std::string missing;
  for (const Slot& slot : slots_) {
    if (!gradients.contains(slot.parameter)) missing += (missing.empty() ? "" : ", ") + slot.name;
  }
  if (!missing.empty()) {
    fail("Optimizer: no gradient for {}: the loss does not depend on them; freeze them or use them", missing);
  }
  ++steps_;
  for (Slot& slot : slots_) {
    const Tensor& gradient = gradients[slot.parameter];
    switch (options_.method) {
      case OptimizerOptions::Method::sgd:
        update_sgd(slot.parameter, gradient, slot.moments.empty() ? nullptr : &slot.moments[0], lr, options_);
        break;
      case OptimizerOptions::Method::adam:
      case OptimizerOptions::Method::adamw:
        update_adam(slot.parameter, gradient, slot.moments[0], slot.moments[1], steps_, lr, options_);
    }
  }
}

NamedTensors Optimizer::state() const {
  NamedTensors state;
  const auto names = moment_names(options_);
  for (const Slot& slot : slots_) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      state.emplace_back(slot.name + "." + names[i], slot.moments[i]);
    }
  }
  state.emplace_back("steps", full({}, static_cast<double>(steps_), DType::float64));
  return state;
}

void Optimizer::load_state(const NamedTensors& loaded, const std::string& source) {
  const NamedTensors mine = state();
  copy_by_name(loaded, mine, source);  // the moments' storage is shared
  steps_ = static_cast<std::int64_t>(mine.back().second.item());
}

}  // namespace heed
