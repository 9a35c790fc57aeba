#include "autograd/cpu/kernels.h"
#include "autograd/cpu/softmax_row.h"
#include "autograd/cpu/vector_math.h"
#include "autograd/internal/adjoints.h"

#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace heed {
namespace {

// Moves axis `from` to position `to`.
Tensor moved_axis(const Tensor& x, int from, int to) {
  std::vector<int> order(static_cast<std::size_t>(x.rank()));
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + from);
  order.insert(order.begin() + to, from);
  return permute(x, order);
}

void check_smoothing(double e) {
  if (!(e >= 0 && e < 1)) fail("cross_entropy: label_smoothing must lie in [0, 1), got {}", e);
}

void check_class_weights(const Tensor& weights, std::int64_t classes) {
  if (weights.is_variable() || weights.tape_node().recording != 0) {
    fail("cross_entropy: class_weights must be a constant, but gradients would reach them; detach them");
  }
  if (weights.shape() != Shape{classes}) {
    fail("cross_entropy: class_weights must be of shape ({}), got {}", classes, to_string(weights.shape()));
  }
  for (const double weight : weights.to_vector()) {
    if (weight >= 0 && std::isfinite(weight)) continue;
    fail("cross_entropy: class_weights must be finite and at least 0, got {}", weight);
  }
}

// The weight of each label in the loss, and their total.
struct LabelWeights {
  std::vector<double> of_class;  // empty: 1 each
  double of_all_classes = 0, of_rows = 0;

  LabelWeights(const Ids& labels, std::int64_t classes, const CrossEntropyOptions& options)
      : of_all_classes(static_cast<double>(classes)) {
    if (options.class_weights.defined()) {
      check_class_weights(options.class_weights, classes);
      of_class = options.class_weights.to_vector();
      of_all_classes = std::accumulate(of_class.begin(), of_class.end(), 0.0);
    }
    for (std::int64_t i = 0; i < labels.numel(); ++i) {
      if (labels[i] == options.ignored_label) continue;
      if (labels[i] < 0 || labels[i] >= classes) {
        fail("cross_entropy: label {} of row {} lies outside [0, {}){}", labels[i], i, classes,
             labels[i] < 0 ? fmt::format("; ignored_label is {}", options.ignored_label) : "");
      }
      of_rows += of_label(labels[i]);
    }
  }
  double of_label(std::int32_t label) const { return of_class.empty() ? 1 : of_class[static_cast<std::size_t>(label)]; }
};

// The parts of the gradient s softmax(x) - t of a row, 0 for ignored labels and for rows with a constant loss.
struct Targets {
  Tensor s, t;  // (..., 1), (..., C)

  Targets(Shape shape, DType dtype, const Ids& labels, std::int32_t ignored, double e,
          const std::vector<double>& of_class, const std::vector<std::int64_t>& constant)
      : t(zeros(shape, dtype)) {
    const std::int64_t classes = shape[-1];
    shape[-1] = 1;
    s = zeros(shape, dtype);
    const double share = e / static_cast<double>(classes);
    const auto weight = [&](std::int64_t c) { return of_class.empty() ? 1 : of_class[static_cast<std::size_t>(c)]; };
    double all = 0;
    for (std::int64_t c = 0; c < classes; ++c) all += weight(c);
    dispatch(dtype, [&]<class T>() {
      T *const totals = s.mutable_data<T>(), *const targets = t.mutable_data<T>();
      for (std::int64_t i = 0; i < labels.numel(); ++i) {
        if (labels[i] == ignored || std::ranges::binary_search(constant, i)) continue;
        const double own = (1 - e) * weight(labels[i]);
        totals[i] = static_cast<T>(own + share * all);
        for (std::int64_t c = 0; c < classes; ++c) targets[i * classes + c] = static_cast<T>(share * weight(c));
        targets[i * classes + labels[i]] += static_cast<T>(own);
      }
    });
  }
};

// Losses compare elementwise, without broadcasting.
void check_target(const char* operation, const Tensor& x, const Tensor& target) {
  cpu::check_one_dtype(operation, x, target);
  if (x.shape() == target.shape()) return;
  fail("{}: x and target must have equal shapes, got {} and {}{}", operation, to_string(x.shape()),
       to_string(target.shape()), x.numel() == target.numel() ? ". Did you mean to reshape the target?" : "");
}

Tensor reduced(const Tensor& each, Reduction reduction) {
  return reduction == Reduction::none ? each : reduction == Reduction::sum ? sum(each) : mean(each);
}

}  // namespace

static const Operation cross_entropy_operation(
    "cross_entropy",
    "y = (1 - e) w[label] l[label] + e / C sum(w l), l = -ln softmax(x), per row; the mean divides by the sum of "
    "w[label]",
    "dx = dy (s softmax(x) - (1 - e) w[label] onehot(label) - e / C w), s = (1 - e) w[label] + e / C sum(w)", [] {
      const auto loss = [](const Ids& labels, double smoothing, Reduction reduction = Reduction::mean, int axis = -1,
                           const Tensor& weights = {}) {
        return [=](auto& x) {
          return cross_entropy(x[0], labels,
                               {.ignored_label = -1,
                                .label_smoothing = smoothing,
                                .axis = axis,
                                .class_weights = weights,
                                .reduction = reduction});
        };
      };
      const Tensor weights = tensor({4}, {0.5, 2, 0, 1}, DType::float64);
      const Ids six({3, 2}, {1, 0, 3, -1, 3, 1});
      return std::vector<GradientSample>{
          {"(3, 4)", {{{3, 4}}}, loss(Ids({3}, {1, 0, 3}), 0)},
          {"an ignored label", {{{3, 4}}}, loss(Ids({3}, {1, -1, 3}), 0)},
          {"smoothed", {{{3, 4}}}, loss(Ids({3}, {1, -1, 3}), 0.1)},
          {"all ignored", {{{2, 4}}}, loss(Ids({2}, {-1, -1}), 0), true},
          {"no rows", {{{0, 4}}}, loss(Ids({0}, {}), 0)},
          {"one class", {{{2, 1}}}, loss(Ids({2}, {0, 0}), 0), true},
          {"(4)", {{{4}}}, loss(Ids({}, {2}), 0)},
          {"weighted", {{{3, 2, 4}}}, loss(six, 0.2, Reduction::mean, -1, weights)},
          {"weighted sum along axis 1", {{{3, 4, 2}}}, loss(six, 0, Reduction::sum, 1, weights)},
          {"each along axis 0", {{{4, 3, 2}}}, loss(six, 0.2, Reduction::none, 0)}};
    });
Tensor cross_entropy(const Tensor& logits, const Ids& labels, const CrossEntropyOptions& options) {
  check_defined("cross_entropy", {&logits});
  const int axis = checked_axis("cross_entropy", options.axis, logits.rank()), last = logits.rank() - 1;
  const Shape expected = cpu::without_axis(logits.shape(), axis);
  if (labels.shape() != expected) {
    const bool has_axis_1 = logits.rank() > 2 && labels.shape() == cpu::without_axis(logits.shape(), 1);
    fail("cross_entropy: logits {} with their classes along axis {} need labels {}, got {}{}",
         to_string(logits.shape()), options.axis, to_string(expected), to_string(labels.shape()),
         has_axis_1 ? "; {.axis = 1} takes the classes along axis 1" : "");
  }
  const double e = options.label_smoothing;
  check_smoothing(e);
  const bool each = options.reduction == Reduction::none, is_mean = options.reduction == Reduction::mean;
  const std::int64_t rows = labels.numel(), classes = logits.size(axis);
  const LabelWeights w(labels, classes, options);
  const Tensor dense = contiguous(moved_axis(logits.detach(), axis, last));
  Tensor dlogits(dense.shape(), logits.dtype()), y(each ? labels.shape() : Shape{}, logits.dtype());
  std::vector<double> losses(static_cast<std::size_t>(rows), 0.0);
  dispatch(logits.dtype(), [&]<class T>() {
    const T factor = is_mean && w.of_rows > 0 ? 1 / static_cast<T>(w.of_rows) : T{1};
    const double a_class = e / static_cast<double>(classes);
    const T spread = static_cast<T>(a_class);
    const T* from = dense.data<T>();
    T* to = dlogits.mutable_data<T>();
    cpu::for_rows(rows, classes, [&](std::int64_t i) {
      const T* row = from + i * classes;
      T* g = to + i * classes;
      const std::int32_t label = labels[i];
      if (label == options.ignored_label) {
        std::fill_n(g, classes, T{0});
        return;
      }
      const double own = (1 - e) * w.of_label(label);
      const T m = cpu::max_row(row, classes), log_rest = cpu::softmax_row(row, g, classes, m);
      if (std::isinf(log_rest)) {  // all logits are -infinity: like log_softmax
        const bool counts = w.of_class.empty() || own + a_class * w.of_all_classes > 0;
        losses[static_cast<std::size_t>(i)] = counts ? std::numeric_limits<double>::infinity() : 0;
        return;  // softmax_row() has set g to 0
      }
      const double rest = static_cast<double>(log_rest);
      // -log p = (m - x) + log sum e^(x - m), in this order: added to a large m, the second term would be lost
      double loss = own * (static_cast<double>(m) - static_cast<double>(row[label]));
      if (w.of_class.empty()) {
        loss += rest;
        if (e > 0) loss += a_class * cpu::sum_terms<T>(classes, [=](std::int64_t c) { return m - row[c]; });
        for (std::int64_t c = 0; c < classes; ++c) g[c] = (g[c] - spread) * factor;
      } else {
        const double total = own + a_class * w.of_all_classes;
        loss += total * rest;
        for (std::int64_t c = 0; c < classes; ++c) {
          const double share = a_class * w.of_class[static_cast<std::size_t>(c)];
          if (share > 0) loss += share * static_cast<double>(m - row[c]);
          g[c] = (g[c] * static_cast<T>(total) - static_cast<T>(share)) * factor;
        }
      }
      g[label] -= static_cast<T>(own) * factor;
      losses[static_cast<std::size_t>(i)] = loss;
    });
    T* out = y.mutable_data<T>();
    if (each) {
      std::transform(losses.begin(), losses.end(), out, [](double loss) { return static_cast<T>(loss); });
    } else {
      *out = static_cast<T>(cpu::sum_row(losses.data(), rows) / (is_mean && w.of_rows > 0 ? w.of_rows : 1));
    }
  });
  // Rows of -infinity have gradient 0, like ignored ones.
  std::vector<std::int64_t> constant_rows;
  for (std::int64_t i = 0; i < rows; ++i) {
    if (std::isinf(losses[static_cast<std::size_t>(i)])) constant_rows.push_back(i);
  }
  const double factor = is_mean && w.of_rows > 0 ? 1 / w.of_rows : 1;
  return record(
      cross_entropy_operation, {&logits}, y, Saved(dlogits, labels, w.of_class, constant_rows),
      [each, axis, last](const Tensor& dy, const Tensor& gradient, const Ids&, auto&, auto&) {
        Shape column = dy.shape();
        if (each) column.append(1);
        const bool as_it_is = !each && dy.item() == 1;
        return std::vector{moved_axis(as_it_is ? gradient : gradient * reshape(dy, column), last, axis)};
      },
      Recordable([each, axis, last, e, factor, ignored = options.ignored_label](
                     const Tensor& dy, const NeedsInputGrad& needs, const Tensor& gradient, const Ids& of_rows,
                     const std::vector<double>& of_class, const std::vector<std::int64_t>& constant) {
        const Targets t(gradient.shape(), gradient.dtype(), of_rows, ignored, e, of_class, constant);
        const auto at_axis = [=](const Tensor& x) { return moved_axis(x, last, axis); };
        // gradient = factor (s p - t), p = softmax(logits)
        const Tensor p =
            cpu::known_softmax(needs.input_without_numbers(0),
                               at_axis((gradient.detach() / factor + t.t) / masked_fill(t.s, equal(t.s, 0), 1)), axis);
        const Tensor g = each ? unsqueeze(dy, axis) : dy;
        return std::vector{(p * at_axis(t.s) - at_axis(t.t)) * (g * factor)};
      }));
}

Tensor cross_entropy(const Tensor& logits, const Tensor& probabilities, const CrossEntropyOptions& options) {
  cpu::check_one_dtype("cross_entropy", logits, probabilities);
  if (probabilities.shape() != logits.shape()) {
    fail(
        "cross_entropy: expected probabilities of the shape of the logits, {}, or labels, which are Ids; got a tensor "
        "{}",
        to_string(logits.shape()), to_string(probabilities.shape()));
  }
  const int axis = checked_axis("cross_entropy", options.axis, logits.rank());
  const std::int64_t classes = logits.size(axis);
  const double e = options.label_smoothing;
  check_smoothing(e);
  Tensor targets = e > 0 ? probabilities * (1 - e) + e / static_cast<double>(classes) : probabilities;
  if (options.class_weights.defined()) {
    check_class_weights(options.class_weights, classes);
    Shape along_axis;
    for (int i = 0; i < logits.rank(); ++i) along_axis.append(i == axis ? classes : 1);
    targets = targets * reshape(options.class_weights.to(logits.dtype()), along_axis);
  }
  const Tensor log_p = log_softmax(logits, axis);
  const Booleans is_impossible = equal(targets, 0) & equal(log_p, -std::numeric_limits<double>::infinity());
  return reduced(-sum(where(is_impossible, 0, targets * log_p), axis), options.reduction);
}

Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  check_target("mse_loss", x, target);
  return reduced(square(x - target), reduction);
}

static const Operation bce_operation(
    "bce_with_logits", "y = max(x, 0) - t x + ln(1 + e^-|x|)", "dx = dy (sigmoid(x) - t), dt = -dy x", [] {
      std::vector<GradientSample> samples;
      for (const Reduction reduction : {Reduction::none, Reduction::mean, Reduction::sum}) {
        samples.push_back({fmt::format("(2, 3) {}", static_cast<int>(reduction)),
                           {{{2, 3}}, {{2, 3}}},
                           [reduction](auto& x) { return bce_with_logits(x[0], x[1], reduction); }});
      }
      return samples;
    });
Tensor bce_with_logits(const Tensor& x, const Tensor& target, Reduction reduction, const Tensor& positive_weight) {
  check_target("bce_with_logits", x, target);
  if (positive_weight.defined()) {
    if (broadcast_shapes("bce_with_logits: positive_weight", x.shape(), positive_weight.shape()) != x.shape()) {
      fail("bce_with_logits: positive_weight {} must broadcast to x, {}", to_string(positive_weight.shape()),
           to_string(x.shape()));
    }
    const Tensor& w = positive_weight;
    return reduced((1 - target) * x + ((w - 1) * target + 1) * softplus(-x), reduction);
  }
  const Tensor each = cpu::map("bce_with_logits", x, target, cpu::on_lanes([](auto v, auto t) {
                                 const decltype(v) zero{};
                                 const auto rest = cpu::log1p(cpu::exp(v > zero ? -v : v));
                                 return (v > zero ? (1 - t) * v : -t * v) + rest;
                               }));
  return reduced(record(
                     bce_operation, {&x, &target}, each, Saved(x, target),
                     [](const Tensor& dy, const NeedsInputGrad& needs, auto& X, auto& T) {
                       Tensor dx, dt;
                       if (needs[0]) {
                         dx = cpu::map("bce_with_logits", dy, X, T, cpu::on_lanes<double>([](auto g, auto v, auto t) {
                                         return g * (cpu::sigmoid(v) - t);
                                       }));
                       }
                       if (needs[1]) dt = -(dy * X);
                       return std::vector{dx, dt};
                     },
                     Recordable([](const Tensor& dy, auto& X, auto& T) {
                       return std::vector{dy * (sigmoid(X) - T), -(dy * X)};
                     })),
                 reduction);
}

double accuracy(const Tensor& logits, const Ids& labels, std::int32_t ignored_label, int axis) {
  check_defined("accuracy", {&logits});
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const int classes = logits.rank() < 1 ? 0 : checked_axis("accuracy", axis, logits.rank());
  if (logits.rank() < 1 || logits.size(classes) < 1 || logits.size(classes) > most) {
    fail("accuracy: expected logits (..., C), C from 1 to 2^31 - 1, got {}", to_string(logits.shape()));
  }
  const Ids best = argmax(logits, classes);
  if (best.shape() != labels.shape()) {
    fail("accuracy: logits {} need labels {}, got {}", to_string(logits.shape()), to_string(best.shape()),
         to_string(labels.shape()));
  }
  const std::int64_t ignored = std::count(labels.data(), labels.data() + labels.numel(), ignored_label);
  const std::int64_t rows = best.numel() - ignored;
  if (rows == 0) {
    fail("accuracy: expected at least one row, got logits {} with {} ignored labels", to_string(logits.shape()),
         ignored);
  }
  const std::int64_t right = std::inner_product(
      best.data(), best.data() + best.numel(), labels.data(), std::int64_t{0}, std::plus<>(),
      [&](std::int32_t found, std::int32_t label) { return found == label && label != ignored_label; });
  return static_cast<double>(right) / static_cast<double>(rows);
}

}  // namespace heed
