#include "autograd/cpu/blas.h"
#include "autograd/cpu/checks.h"

#include <heed/autograd/ops.h>

#include <algorithm>
#include <limits>
#include <string>

namespace heed {
namespace {

// Letters name the axes. The axes of "..." are named by digits, '0' for the last.
struct Named {
  std::string names;
  Tensor x;
};

bool has(std::string_view names, char name) { return names.find(name) != names.npos; }

struct Formula {
  std::string text;
  std::vector<std::string> operands;
  std::string result;
  bool has_result = false;

  explicit Formula(std::string_view given) {
    for (const char c : given) {
      if (c != ' ') text += c;
    }
    std::string_view rest = text;
    if (const std::size_t arrow = rest.find("->"); arrow != rest.npos) {
      has_result = true;
      result = rest.substr(arrow + 2);
      rest = rest.substr(0, arrow);
    }
    for (;;) {
      const std::size_t comma = rest.find(',');
      operands.emplace_back(rest.substr(0, comma));
      if (comma == rest.npos) break;
      rest = rest.substr(comma + 1);
    }
  }

  template <class... Args>
  [[noreturn]] void wrong(fmt::format_string<Args...> format, Args&&... args) const {
    fail("einsum: '{}': {}", text, fmt::format(format, std::forward<Args>(args)...));
  }

  // Replaces "..." by the names of `axes` axes, and checks that the others are letters.
  std::string expanded(std::string names, int axes) const {
    std::string digits;
    for (int i = axes - 1; i >= 0; --i) digits += static_cast<char>('0' + i);
    if (const std::size_t dots = names.find("..."); dots != names.npos) names.replace(dots, 3, digits);
    for (const char c : names) {
      if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || has(digits, c))) wrong("'{}' is not a letter", c);
    }
    return names;
  }
};

// Reduces axes that share a name to their diagonal, which becomes the last axis.
Named with_names(const Formula& formula, const std::string& given, const Tensor& x) {
  const bool dots = given.find("...") != given.npos;
  const int axes = dots ? x.rank() - static_cast<int>(given.size()) + 3 : 0;
  Named result{axes < 0 ? given : formula.expanded(given, axes), x};
  if (axes < 0 || static_cast<int>(result.names.size()) != x.rank()) {
    formula.wrong("'{}' does not name the axes of shape {}", given, to_string(x.shape()));
  }
  for (std::size_t i = 0; i < result.names.size();) {
    const std::size_t j = result.names.find(result.names[i], i + 1);
    if (j == result.names.npos) {
      ++i;
      continue;
    }
    const int first = static_cast<int>(i), second = static_cast<int>(j);
    const std::int64_t n = result.x.size(first);
    if (n != result.x.size(second)) {
      formula.wrong("axes '{}' of shape {} differ", result.names[i], to_string(result.x.shape()));
    }
    std::vector<int> order;
    for (int axis = 0; axis < result.x.rank(); ++axis) {
      if (axis != first && axis != second) order.push_back(axis);
    }
    order.insert(order.end(), {first, second});
    const Tensor moved = permute(result.x, order);
    Shape shape;
    for (int axis = 0; axis + 2 < moved.rank(); ++axis) shape.append(moved.size(axis));
    if (n > 0 && n > std::numeric_limits<std::int64_t>::max() / n) {
      formula.wrong("axes '{}' of shape {} are too long", result.names[i], to_string(result.x.shape()));
    }
    shape.append(n * n);
    result.x = n == 0 ? reshape(slice(moved, -1, 0, 0), shape) : slice(reshape(moved, shape), -1, 0, n * n, n + 1);
    const char name = result.names[i];
    result.names.erase(j, 1).erase(i, 1).push_back(name);
    i = 0;
  }
  return result;
}

// Returns the axes in the order of `names`, all of which `a` has. Sums over the others.
Tensor arranged(const Named& a, std::string_view names) {
  std::vector<int> summed, order;
  std::string kept;
  for (std::size_t i = 0; i < a.names.size(); ++i) {
    if (has(names, a.names[i])) {
      kept += a.names[i];
    } else {
      summed.push_back(static_cast<int>(i));
    }
  }
  const Tensor x = summed.empty() ? a.x : sum(a.x, summed);
  for (const char name : names) order.push_back(static_cast<int>(kept.find(name)));
  return permute(x, order);
}

// Returns the axis names of the result.
std::string result_names(const Formula& formula, const std::vector<Named>& operands) {
  std::string all, digits;
  for (const Named& operand : operands) all += operand.names;
  for (char c = '9'; c >= '0'; --c) {
    if (has(all, c)) digits += c;
  }
  if (formula.has_result) {
    const std::string names = formula.expanded(formula.result, static_cast<int>(digits.size()));
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!has(all, names[i])) formula.wrong("no operand has an axis '{}'", names[i]);
      if (names.find(names[i], i + 1) != names.npos) formula.wrong("the result names '{}' twice", names[i]);
    }
    return names;
  }
  std::string once, written;
  for (const std::string& operand : formula.operands) written += operand;
  for (const char c : written) {
    if (c != '.' && std::ranges::count(written, c) == 1) once += c;
  }
  std::ranges::sort(once);
  return digits + once;
}

std::int64_t size_of_axis(const Named& a, char name) {
  const std::size_t at = a.names.find(name);
  return at == a.names.npos ? 1 : a.x.size(static_cast<int>(at));
}

// Returns the sizes of these axes in a product of a and b, of which one may have size 1.
Shape sizes_of(std::string_view names, const Named& a, const Named& b) {
  Shape shape;
  for (const char name : names) {
    const std::int64_t m = size_of_axis(a, name);
    shape.append(m == 1 ? size_of_axis(b, name) : m);
  }
  return shape;
}

// Throws Error when the result has too many axes for a tensor, or too many elements for the memory.
void check_result(const Formula& formula, std::string_view names, const Named& a, const Named& b) {
  if (names.size() > Shape::max_rank) {
    formula.wrong("the result has {} axes; expected at most {}", names.size(), Shape::max_rank);
  }
  cpu::check_memory("einsum", sizes_of(names, a, b), a.x.dtype());
}

}  // namespace

Tensor einsum(std::string_view text, const Tensor& x) {
  check_defined("einsum", {&x});
  const Formula formula(text);
  if (formula.operands.size() != 1)
    formula.wrong("it has {} operands, but 1 tensor was given", formula.operands.size());
  const Named a = with_names(formula, formula.operands[0], x);
  const std::string result = result_names(formula, {a});
  check_result(formula, result, a, a);
  return arranged(a, result);
}

// Computes one matrix product (batch..., rows, summed) x (batch..., summed, columns).
Tensor einsum(std::string_view text, const Tensor& x, const Tensor& y) {
  cpu::check_one_dtype("einsum", x, y);
  const Formula formula(text);
  if (formula.operands.size() != 2)
    formula.wrong("it has {} operand{}, but 2 tensors were given", formula.operands.size(),
                  formula.operands.size() == 1 ? "" : "s");
  Named a = with_names(formula, formula.operands[0], x), b = with_names(formula, formula.operands[1], y);
  const std::string result = result_names(formula, {a, b});
  check_result(formula, result, a, b);
  std::string batch, rows, columns, inner;
  for (const char name : result) (!has(a.names, name) ? columns : has(b.names, name) ? batch : rows) += name;
  for (const char name : a.names) {
    const std::int64_t m = size_of_axis(a, name), n = size_of_axis(b, name);
    if (!has(b.names, name)) continue;
    if (m != n && m != 1 && n != 1) {
      formula.wrong("axis '{}' is {} in {} and {} in {}", name, m, to_string(x.shape()), n, to_string(y.shape()));
    }
    if (has(result, name)) continue;
    inner += name;
    if (m == n) continue;
    Named& wide = m == 1 ? b : a;  // sum of u v_i = u sum of v_i
    wide.x = sum(wide.x, {static_cast<int>(wide.names.find(name))}, true);
  }
  const auto matrices = [](const Tensor& t, std::size_t leading, std::int64_t n, std::int64_t m) {
    Shape shape;
    for (int axis = 0; axis < static_cast<int>(leading); ++axis) shape.append(t.size(axis));
    shape.append(n);
    shape.append(m);
    return reshape(t, shape);
  };
  const auto size = [&](std::string_view names) { return sizes_of(names, a, b).numel("einsum"); };
  const Tensor left = matrices(arranged(a, batch + rows + inner), batch.size(), size(rows), size(inner));
  const Tensor right = matrices(arranged(b, batch + inner + columns), batch.size(), size(inner), size(columns));
  for (const Tensor* each : {&left, &right}) {  // fails in this operation's name
    (void)cpu::is_blas_layout(each->size(-2), each->size(-1), each->strides()[-2], each->strides()[-1], "einsum");
  }
  const Tensor product = reshape(matmul(left, right), sizes_of(batch + rows + columns, a, b));
  return arranged({batch + rows + columns, product}, result);
}

}  // namespace heed
