#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>

#include <algorithm>

namespace heed {
namespace {

std::int64_t number_of(const std::pair<Tensor, Tensor>& entry) { return entry.first.tape_node().node; }

// Returns the entry of variable `number`, or the first one after it.
auto entry_of(auto& entries, std::int64_t number) { return std::ranges::lower_bound(entries, number, {}, number_of); }

void check_variable(const Tensor& x) {
  if (x.is_variable()) return;
  fail("gradients: the tensor of shape {} is not a variable but {}", to_string(x.shape()),
       x.tape_node().recording != 0
           ? "the result of an operation; to get the gradient there, continue from variable(x.detach())"
           : "a constant; make one with variable() before the Recording. Assigning to a variable's handle makes a "
             "constant of it, copy_from() does "
             "not");
}

// Returns the sum, recorded if one of both is.
Tensor sum_of(const Tensor& a, const Tensor& b) {
  if (Recorder::follows(a) || Recorder::follows(b)) return a + b;
  const NoRecording constants;
  return Recorder::of_gradients(a.detach() + b.detach());
}

}  // namespace

std::string described(const Tensor& variable) {
  const std::string who = variable.name().empty() ? "a variable" : fmt::format("parameter '{}'", variable.name());
  return fmt::format("{} of shape {}", who, to_string(variable.shape()));
}

const Tensor* Gradients::find(const Tensor& variable) const& {
  const std::int64_t number = variable.is_variable() ? variable.tape_node().node : 0;
  const auto entry = entry_of(entries_, number);
  return entry != entries_.end() && number_of(*entry) == number ? &entry->second : nullptr;
}

const Tensor& Gradients::operator[](const Tensor& variable) const& {
  check_variable(variable);
  const Tensor* gradient = find(variable);
  if (!gradient) {
    fail("gradients: none for {}: {}", described(variable),
         variable.is_frozen() ? "it is frozen, as buffers are" : "the loss does not depend on it");
  }
  return *gradient;
}

void Gradients::set(const Tensor& variable, Tensor gradient) {
  check_variable(variable);
  if (gradient.shape() != variable.shape() || gradient.dtype() != variable.dtype()) {
    fail("gradients: {}, {}, cannot have a gradient {} {}", described(variable), to_string(variable.dtype()),
         to_string(gradient.dtype()), to_string(gradient.shape()));
  }
  if (gradient.tape_node().recording == 0) gradient = Recorder::of_gradients(std::move(gradient));
  Recorder::set(*this, variable, std::move(gradient));
}

void Recorder::set(Gradients& gradients, const Tensor& variable, Tensor gradient) {
  const std::int64_t number = variable.tape_node().node;
  const auto entry = entry_of(gradients.entries_, number);
  if (entry != gradients.entries_.end() && number_of(*entry) == number) {
    entry->second = std::move(gradient);
  } else {
    gradients.entries_.insert(entry, {variable, std::move(gradient)});
  }
}

Gradients& Gradients::operator+=(const Gradients& other) {
  Gradients copy;  // a gradient that is not added to another one must not be the other's memory
  for (const auto& [variable, gradient] : other) {
    const bool is_constant = gradient.tape_node().recording == 0 && !find(variable);
    copy.entries_.emplace_back(variable, is_constant ? Recorder::of_gradients(gradient.detach().clone()) : gradient);
  }
  return *this += std::move(copy);
}

Gradients& Gradients::operator+=(Gradients&& other) {
  std::vector<std::pair<Tensor, Tensor>> merged;
  auto a = entries_.begin();
  auto b = other.entries_.begin();
  while (a != entries_.end() || b != other.entries_.end()) {
    if (b == other.entries_.end() || (a != entries_.end() && number_of(*a) < number_of(*b))) {
      merged.push_back(std::move(*a++));
    } else if (a == entries_.end() || number_of(*b) < number_of(*a)) {
      merged.push_back(std::move(*b++));
    } else {
      // frees one gradient before the next sum, to limit the peak memory
      const Tensor theirs = b->second, mine = std::exchange(a->second, {});
      merged.emplace_back(a->first, sum_of(mine, theirs));
      ++a;
      ++b;
    }
  }
  entries_ = std::move(merged);
  return *this;
}

}  // namespace heed
