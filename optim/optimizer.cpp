#include <heed/autograd/machine.h>
#include <heed/optim/clip.h>
#include <heed/optim/optimizer.h>
#include <heed/optim/update_rule.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace heed {
namespace {

void check_ranges(const OptimizerOptions& o) {
  const auto check_positive = [](const char* name, double value) {
    if (!(value >= 0 && std::isfinite(value))) fail("Optimizer: {} must be finite and at least 0, got {}", name, value);
  };
  check_positive("weight_decay", o.weight_decay);
  for (const OptimizerOptions::Group& group : o.groups) {
    check_positive("a group's rate", group.rate);
    check_positive("a group's weight_decay", group.weight_decay.value_or(0));
  }
}

// Throws Error for a setting that the method would ignore.
void check_used(const OptimizerOptions& o) {
  using Method = OptimizerOptions::Method;
  const auto has_method = [](const OptimizerOptions::Group& group) { return group.method.has_value(); };
  if (std::ranges::any_of(o.groups, has_method) || o.method <= Method::sgd || o.method > Method::muon) return;
  const std::string_view name = name_of(o.method);
  const bool has_betas = o.method == Method::adam || o.method == Method::adamw;
  if (o.momentum != 0 || o.nesterov) {
    fail("Optimizer: momentum and nesterov are settings of sgd; {} has {}", name,
         has_betas                     ? "beta1"
         : o.method == Method::lion    ? "lion.beta2"
         : o.method == Method::adagrad ? "no such setting"
                                       : fmt::format("{}.momentum", name));
  }
  if (o.amsgrad && !has_betas && o.method != Method::muon) {
    fail("Optimizer: amsgrad is a setting of adam and adamw, got {}", name);
  }
  const OptimizerOptions usual;
  if (!has_betas && o.method != Method::muon && (o.beta1 != usual.beta1 || o.beta2 != usual.beta2)) {
    fail("Optimizer: beta1 and beta2 are settings of adam and adamw; {} has {}", name,
         o.method == Method::lion      ? "lion.beta1 and lion.beta2"
         : o.method == Method::adagrad ? "no such setting"
                                       : "rmsprop.alpha");
  }
}

void check_names(const OptimizerOptions::Group& group, const Parameters& parameters) {
  for (const std::string& one : group.parameters) {
    if (std::ranges::none_of(parameters, [&](const auto& entry) { return is_within(entry.first, one); })) {
      fail("Optimizer: no parameter of a group is named '{0}' or begins with '{0}.'{1}", one,
           parameters.suggestion(one));
    }
  }
}

const OptimizerOptions::Group* group_of(const std::string& name, const OptimizerOptions& options) {
  for (const OptimizerOptions::Group& group : options.groups) {
    const auto has_it = [&](const std::string& one) { return is_within(name, one); };
    if (std::any_of(group.parameters.begin(), group.parameters.end(), has_it)) return &group;
  }
  return nullptr;
}

double weight_decay_of(const Tensor& parameter, const OptimizerOptions::Group* group, const OptimizerOptions& options) {
  if (group && group->weight_decay) return *group->weight_decay;
  return options.decay_matrices_only && parameter.rank() < 2 ? 0 : options.weight_decay;
}

}  // namespace

Optimizer::Optimizer(const Parameters& parameters, OptimizerOptions options)
    : parameters_(parameters), options_(std::move(options)) {
  if (parameters.size() == 0) fail("Optimizer: the parameter store is empty; make the layers before the optimiser");
  check_ranges(options_);
  check_used(options_);
  for (const OptimizerOptions::Group& group : options_.groups) check_names(group, parameters);
  for (const auto& [name, parameter] : parameters) {
    if (parameter.is_frozen()) continue;
    if (!parameter.is_contiguous()) {
      fail(
          "Optimizer: parameter '{}' is a view with gaps. If its model was loaded mapped, load it without, or adapt() "
          "it; "
          "else give the store a variable of its own, variable(x.clone())",
          name);
    }
    const OptimizerOptions::Group* group = group_of(name, options_);
    OptimizerOptions own = options_;
    if (group) own.method = group->method.value_or(own.method);
    slots_.push_back({name, parameter, update_rule(parameter, own), group ? group->rate : 1,
                      weight_decay_of(parameter, group, options_)});
  }
}

Optimizer::Optimizer(Optimizer&&) noexcept = default;
Optimizer::~Optimizer() = default;

void Optimizer::check_complete() const {
  std::string added;
  auto slot = slots_.begin();  // in the order of the parameters
  for (const auto& [name, parameter] : parameters_) {
    if (slot != slots_.end() && slot->name == name) {
      ++slot;
    } else if (!parameter.is_frozen()) {
      added += (added.empty() ? "" : ", ") + name;
    }
  }
  if (!added.empty()) {
    fail(
        "Optimizer: parameters made or unfrozen after the Optimizer would not be trained: {}; make the Optimizer after "
        "them",
        added);
  }
}

void Optimizer::step(const Gradients& all, double lr, double gradient_factor) {
  const auto is_finite = [](double x) { return std::isfinite(static_cast<float>(x)); };
  if (!(lr >= 0 && is_finite(lr))) fail("Optimizer: expected a finite learning rate of at least 0, got {}", lr);
  if (!is_finite(gradient_factor)) fail("Optimizer: expected a finite gradient_factor, got {}", gradient_factor);
  const Parameters::Update update(parameters_, "Optimizer");
  parameters_.check_not_averaged("Optimizer");
  check_complete();
  const Gradients& gradients = own_gradients(all);
  std::string missing;
  std::vector<Slot*> updated;
  for (Slot& slot : slots_) {
    if (slot.parameter.is_frozen()) continue;
    if (gradients.contains(slot.parameter)) {
      updated.push_back(&slot);
    } else {
      missing += (missing.empty() ? "" : ", ") + slot.name;
    }
  }
  if (!missing.empty() && (!leaves_unused() || updated.empty())) {
    fail("Optimizer: no gradient for {}: the loss must depend on each parameter that is not frozen{}", missing,
         leaves_unused() ? "" : "; MissingGradient::leave_unchanged skips those of unused branches");
  }
  for (const Slot* slot : updated) check_finite("Optimizer", slot->parameter, gradients[slot->parameter]);
  std::vector<ElementUpdate> updates;
  std::vector<std::int64_t> ends;  // end of each parameter's elements in the concatenation of all
  std::int64_t count = 0;
  for (Slot* const next : updated) {
    Slot& slot = *next;
    updates.push_back(slot.rule->update(slot.parameter, gradients[slot.parameter].detach(),
                                        {++slot.steps, lr * slot.rate, slot.weight_decay, gradient_factor}));
    ends.push_back(count += slot.parameter.numel());
  }
  ++steps_;
  // elements per task, over all parameters: most are too small to be divided among threads
  constexpr std::int64_t grain = 8192;
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    auto i = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), begin) - ends.begin());
    for (; begin < end; ++i) {
      const std::int64_t first = i == 0 ? 0 : ends[i - 1], stop = std::min(end, ends[i]);
      updates[i](begin - first, stop - first);
      begin = stop;
    }
  });
  on_updated();
}

NamedTensors Optimizer::state_with_counts(const std::function<bool(const Slot&)>& has_count) const {
  const auto number = [](std::int64_t count) { return full({}, static_cast<double>(count), DType::float64); };
  NamedTensors state;
  for (const Slot& slot : slots_) {
    for (auto& [name, tensor] : slot.rule->state()) state.emplace_back(slot.name + "." + name, tensor);
  }
  for (const Slot& slot : slots_) {
    if (has_count(slot)) state.emplace_back(slot.name + ".steps", number(slot.steps));
  }
  state.emplace_back("steps", number(steps_));
  return state;
}

NamedTensors Optimizer::state() const {
  return state_with_counts([this](const Slot& slot) { return leaves_unused() || slot.steps != steps_; });
}

NamedTensors Optimizer::complete_state() const {
  return state_with_counts([](const Slot&) { return true; });
}

void Optimizer::load_state(const NamedTensors& loaded, const std::string& source) {
  const Parameters::Update update(parameters_, source.c_str());
  std::set<std::string> names;
  for (const auto& [name, tensor] : loaded) names.insert(name);
  const auto is_given = [&](const Slot& slot) { return names.contains(slot.name + ".steps"); };
  const NamedTensors mine = state_with_counts(is_given);
  copy_by_name(loaded, mine, source);  // shares the moments' storage
  const auto count = [](const auto& entry) { return static_cast<std::int64_t>(entry->second.item()); };
  auto last = mine.rbegin();
  steps_ = count(last);
  for (auto slot = slots_.rbegin(); slot != slots_.rend(); ++slot)
    slot->steps = is_given(*slot) ? count(++last) : steps_;
}

}  // namespace heed
