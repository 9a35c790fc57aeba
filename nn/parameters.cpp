#include "files/internal/wrapped_names.h"

#include <heed/autograd/ops.h>
#include <heed/files/utf8.h>
#include <heed/nn/adapter.h>
#include <heed/nn/parameters.h>

#include <algorithm>
#include <cmath>
#include <numeric>
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
    fail(
        "{}: its tensors do not match; was the model or the optimiser configured differently?\n  "
        "{}",
        source, listed(mistakes, "\n  "));
  }
  for (auto& one : unwrapped) {
    Tensor& tensor = one.second;
    tensor = tensor.detach();
    // Another destination's memory is copied before that is written: loading {a: b, b: a} swaps.
    const bool is_of_another = std::ranges::any_of(
        to, [&](const auto& other) { return other.second.shares_storage(tensor) && other.first != one.first; });
    if (is_of_another) tensor = tensor.clone();
  }
  for (const auto& [name, tensor] : to) tensor.copy_from(*given.at(name));
}

Parameters::Update::Update(const Parameters& parameters, const char* what) : marks_(parameters.marks_) {
  if (!marks_->is_updated.exchange(true, std::memory_order_acquire)) return;
  fail("{}: another thread updates these parameters; let one thread at a time train a model", what);
}

void Parameters::load(const NamedTensors& tensors, const std::string& source) {
  const bool changes = std::ranges::any_of(tensors, [&](const auto& entry) {
    const Tensor* const own = find(entry.first);
    return !own || !entry.second.defined() || !entry.second.shares_storage(*own);
  });
  if (!tensors.empty() && !changes) {
    fail(
        "{}: these are the parameters themselves, so that loading them changes nothing; keep copies of the values with "
        "clone()",
        source);
  }
  check_not_averaged(source.c_str());
  const Update update(*this, source.c_str());
  copy_by_name(tensors, {begin(), end()}, source);
}

void Parameters::add(const std::string& name, const Tensor& value) { insert(name, Parameter(value)); }

void Parameters::insert(const std::string& name, const Parameter& value) {
  if (contains(name)) fail("parameters: '{}' already exists; give each layer its own scope", name);
  if (!value.is_variable()) {
    fail("parameters: '{}' must be a variable, got {}; add variable(x), and compute with that", name,
         !value.defined()                   ? "an undefined tensor"
         : value.tape_node().recording != 0 ? "a recorded tensor of shape " + to_string(value.shape())
                                            : "a constant of shape " + to_string(value.shape()));
  }
  const auto same =
      std::ranges::find_if(*entries_, [&](const auto& entry) { return entry.second.tape_node() == value.tape_node(); });
  if (same != entries_->end()) {
    fail(
        "parameters: '{}' is the variable '{}', and optimisers would update it twice; to tie weights, add it once and "
        "compute with it, as in matmul(x, transpose(embedding.weight))",
        name, same->first);
  }
  const auto shared =
      std::ranges::find_if(*entries_, [&](const auto& entry) { return entry.second.shares_storage(value); });
  if (shared != entries_->end()) {
    fail(
        "parameters: '{0}' is in the memory of '{1}', so that an update or a freeze of one would change the other; add "
        "variable(x.clone()), or compute '{0}' from '{1}' in each call",
        name, shared->first);
  }
  const Update update(*this, "parameters");
  entries_->emplace_back(name, value);
  if (value.name().empty()) value.set_name(name);
}

void Parameters::set_frozen(const std::string& name, bool frozen) {
  bool found = false;
  for (const auto& [key, value] : *entries_) {
    if (!is_within(key, name)) continue;
    value.set_frozen(frozen || is_buffer(key));
    found = true;
  }
  if (!found) {
    fail("parameters: unknown parameter or scope '{0}'{1}", name, suggestion(name));
  }
}

void Parameters::check_not_averaged(const char* what) const {
  if (marks_->averages_shown > 0) {
    fail(
        "{}: the parameters hold a WeightAverage until its Shown ends, and new values would then be lost; end that "
        "first",
        what);
  }
}

std::string Parameters::suggestion(const std::string& unknown) const {
  std::set<std::string> all, outermost;
  for (const auto& entry : *entries_) {
    const std::string& name = entry.first;
    for (std::size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1)) {
      all.insert(name.substr(0, dot));
    }
    all.insert(name);
    outermost.insert(name.substr(0, name.find('.')));
  }
  const std::string near = did_you_mean(unknown, std::vector<std::string>(all.begin(), all.end()));
  return near.empty() && !outermost.empty() ? "; the outermost names are " + listed(outermost) : near;
}

void Parameters::make_buffer(const std::string& name) {
  (*this)[name].set_frozen(true);
  marks_->buffers.insert(name);
}

NamedTensors Parameters::buffers() const {
  NamedTensors result;
  for (const auto& [name, value] : *entries_) {
    if (is_buffer(name)) result.emplace_back(name, value);
  }
  return result;
}

const Parameter* Parameters::find(const std::string& name) const {
  for (const auto& [key, value] : *entries_) {
    if (key == name) return &value;
  }
  return nullptr;
}

const Tensor& Parameters::operator[](const std::string& name) const& {
  if (const Parameter* found = find(name)) return *found;
  fail("parameters: no '{}'{}", name, did_you_mean(name, names({begin(), end()})));
}

std::int64_t Parameters::numel() const {
  std::int64_t total = 0;
  for (const auto& [name, value] : *entries_) total += is_buffer(name) ? 0 : value.numel();
  return total;
}

Init Init::xavier(std::int64_t fan_in, std::int64_t fan_out) {
  if (fan_in < 0 || fan_out < 0 || fan_in + fan_out == 0) {
    fail("Init::xavier: fans must be at least 0, and one of them above 0, got {} and {}", fan_in, fan_out);
  }
  return {Kind::uniform, std::sqrt(6.0 / static_cast<double>(fan_in + fan_out))};
}
Init Init::xavier_uniform(double gain) { return {Kind::uniform, 6 * gain * gain, Fan::both}; }
Init Init::xavier_normal(double gain) { return {Kind::normal, 2 * gain * gain, Fan::both}; }
Init Init::kaiming_uniform(double gain) { return {Kind::uniform, 3 * gain * gain, Fan::in}; }
Init Init::kaiming_normal(double gain) { return {Kind::normal, gain * gain, Fan::in}; }

namespace {

// Makes the rows (n, m), n <= m, orthonormal: Gram-Schmidt, twice for each row, since once leaves errors of nearly dependent rows.
void make_orthonormal(std::vector<double>& rows, std::size_t n, std::size_t m) {
  for (std::size_t i = 0; i < n; ++i) {
    double* const row = &rows[i * m];
    for (std::size_t k = 0; k < 2 * i; ++k) {
      const double* const other = &rows[k % i * m];
      const double along = std::inner_product(row, row + m, other, 0.0);
      for (std::size_t j = 0; j < m; ++j) row[j] -= along * other[j];
    }
    const double length = std::sqrt(std::inner_product(row, row + m, row, 0.0));
    for (std::size_t j = 0; j < m; ++j) row[j] /= length;
  }
}

// Writes initial values to a contiguous tensor. `what` names it in messages.
void draw(Tensor values, Init init, Random& random, const std::string& what) {
  const Shape& shape = values.shape();
  const int rank = values.rank();
  const bool may_be_negative = init.kind == Init::Kind::constant || init.kind == Init::Kind::orthogonal;
  if (init.kind != Init::Kind::constant && !(std::isfinite(init.scale) && (init.scale >= 0 || may_be_negative))) {
    fail("{}: the {} of its Init must be finite{}, got {}", what,
         init.fan != Init::Fan::none || may_be_negative ? "gain"
         : init.kind == Init::Kind::normal              ? "deviation"
                                                        : "bound",
         may_be_negative ? "" : " and at least 0", init.scale);
  }
  if (rank < 2 && (init.fan != Init::Fan::none || init.kind == Init::Kind::orthogonal)) {
    fail("{}: this Init needs at least two axes, got shape {}; use Init::zeros() or Init::uniform(bound)", what,
         to_string(shape));
  }
  double scale = init.scale;
  if (init.fan != Init::Fan::none) {
    const double field = static_cast<double>(values.numel()) / static_cast<double>(shape[0] * shape[1]);
    const double in = static_cast<double>(shape[rank == 2 ? 0 : 1]) * field;
    const double out = static_cast<double>(shape[rank == 2 ? 1 : 0]) * field;
    scale = std::sqrt(scale / (init.fan == Init::Fan::in ? in : init.fan == Init::Fan::out ? out : in + out));
  }
  dispatch(values.dtype(), [&]<class T>() {
    T* const to = values.mutable_data<T>();
    const std::int64_t count = values.numel();
    if (init.kind == Init::Kind::orthogonal) {
      const std::size_t n = static_cast<std::size_t>(shape[0]), m = static_cast<std::size_t>(count) / n;
      const std::size_t rows = std::min(n, m), columns = std::max(n, m);
      std::vector<double> matrix(rows * columns);
      for (double& value : matrix) value = random.normal();
      make_orthonormal(matrix, rows, columns);
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < m; ++j) {
          to[i * m + j] = static_cast<T>(scale * (n <= m ? matrix[i * columns + j] : matrix[j * columns + i]));
        }
      }
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      to[i] = static_cast<T>(init.kind == Init::Kind::uniform  ? random.uniform(-scale, scale)
                             : init.kind == Init::Kind::normal ? scale * random.normal()
                                                               : scale);
    }
  });
}

std::string described_parameter(const Tensor& parameter) {
  return parameter.name().empty() ? "assign" : fmt::format("assign: parameter '{}'", parameter.name());
}

}  // namespace

void assign(const Tensor& parameter, const Tensor& value) {
  check_defined("assign", {&parameter, &value});
  if (parameter.shape() != value.shape()) {
    fail("{}: expected a value of shape {}, got {}", described_parameter(parameter), to_string(parameter.shape()),
         to_string(value.shape()));
  }
  parameter.copy_from(value);
}

void assign(const Tensor& parameter, double value) {
  check_defined("assign", {&parameter});
  parameter.copy_from(full(parameter.shape(), value, parameter.dtype()));
}

void assign(const Tensor& parameter, Init init, Random& random) {
  check_defined("assign", {&parameter});
  Tensor values(parameter.shape(), parameter.dtype());
  draw(values, init, random, described_parameter(parameter));
  parameter.copy_from(values);
}

Scope::Scope(NamedTensors values)
    : random_(0),
      dtype_(values.empty() ? DType::float32 : values[0].second.dtype()),
      given_(std::make_shared<const NamedTensors>(std::move(values))) {}

Parameter Scope::buffer(const std::string& name, const Shape& shape, double value) const {
  Parameter made = parameter(name, shape, Init::constant(value));
  if (!given_ && shared_.empty()) parameters_->make_buffer(prefix_ + name);
  return made;
}

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
  if (found->second.is_unfollowed_view() && !found->second.is_frozen()) {
    const std::string& name = found->second.name();
    const std::string variable = name.empty() ? "a variable" : "'" + name + "'";
    fail(
        "parameter '{}': got a view of {} that no Recording follows, so that {} would lose its gradient; to tie "
        "weights, compute with the variable in each call, as in matmul(x, transpose(embedding.weight)); to keep a "
        "constant, give view.clone()",
        full_name, variable, name.empty() ? "the variable" : variable);
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
  const std::string what = fmt::format("parameter '{}'", full_name);
  const Tensor values(shape, dtype_, what.c_str());
  draw(values, init, random, what);
  return values;
}

Parameter Scope::parameter(const std::string& name, const Shape& shape, Init init,
                           std::shared_ptr<Adapter> adapter) const {
  const std::string full_name = prefix_ + name;
  if (given_) return given(shared_.empty() ? full_name : shared_ + name, shape);
  if (!shared_.empty()) {
    static_cast<void>((*parameters_)[shared_ + name]);  // throws for an unknown name
    return *parameters_->find(shared_ + name);
  }
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t size) { return size < 1; })) {
    fail("parameter '{}': every size must be positive, got {}", full_name, to_string(shape));
  }
  Parameter result(variable(source_                    ? (*source_)(full_name, shape)
                            : values_ == Values::none  ? broadcast_to(zeros({}, dtype_), shape)
                            : values_ == Values::zeros ? zeros(shape, dtype_)
                                                       : drawn(full_name, shape, init)));
  if (result.shape() != shape) {
    fail("parameter '{}': expected shape {}, got {}", full_name, to_string(shape), to_string(result.shape()));
  }
  result.adapter = std::move(adapter);
  parameters_->insert(full_name, result);
  return result;
}

}  // namespace heed
