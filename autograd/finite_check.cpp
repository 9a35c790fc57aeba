#include <heed/autograd/record.h>

#include <cmath>
#include <string_view>
#include <utility>

namespace heed {
namespace {

thread_local bool checking = false;

// The kinds of non-finite values in a tensor.
struct Special {
  bool nan = false, plus = false, minus = false;

  explicit Special(const Tensor& x) {
    if (!x.defined() || is_finite(x)) return;
    for (const double value : x.to_vector()) {
      nan = nan || std::isnan(value);
      plus = plus || value == INFINITY;
      minus = minus || value == -INFINITY;
    }
  }
  const char* text() const { return nan ? "NaN" : plus ? "inf" : "-inf"; }
};

}  // namespace

FiniteCheck::FiniteCheck() : before_(std::exchange(checking, true)) {}

FiniteCheck::~FiniteCheck() { checking = before_; }

bool FiniteCheck::is_open() { return checking; }

// Infinities of constants may come from masks; infinities of a parameter may not.
void FiniteCheck::check_output(const Operation& operation, std::span<const Tensor* const> inputs,
                               const Tensor& output) {
  if (is_finite(output)) return;
  const Special found(output);
  bool plus = std::string_view(operation.name()) == "masked_fill", minus = plus;
  std::string source;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Special given(*inputs[i]);
    plus = plus || (given.plus && !inputs[i]->is_variable());
    minus = minus || (given.minus && !inputs[i]->is_variable());
    if (source.empty() && (given.nan || given.plus || given.minus)) {
      const std::string& name = inputs[i]->name();
      source = fmt::format("; input {}{} holds {}", i, name.empty() ? "" : fmt::format(", '{}',", name), given.text());
    }
  }
  if (!found.nan && (plus || !found.plus) && (minus || !found.minus)) return;
  throw NotFinite(in_layer(fmt::format("the output of {}, shape {}, holds {}{}", operation.name(),
                                       to_string(output.shape()), found.text(), source)));
}

void FiniteCheck::check_gradient(const Operation& operation, std::size_t input, const Tensor& gradient) {
  if (is_finite(gradient)) return;
  throw NotFinite(
      in_layer(fmt::format("the gradient that the backward of {} gives input {}, shape {}, holds {}", operation.name(),
                           input, to_string(gradient.shape()), Special(gradient).text())));
}

void FiniteCheck::check_loss(const Tensor& loss) {
  if (!is_finite(loss)) throw NotFinite(fmt::format("backward: the loss is {}", Special(loss).text()));
}

}  // namespace heed
