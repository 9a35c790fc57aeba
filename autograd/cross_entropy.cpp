#include "autograd/cpu/kernels.h"
#include "autograd/cpu/softmax_row.h"
#include "autograd/internal/adjoints.h"
#include "autograd/internal/reduced.h"

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
      check_label("cross_entropy", labels[i], i, classes, options.ignored_label);
      if (labels[i] == options.ignored_label) continue;
      of_rows += of_label(labels[i]);
    }
  }
  double of_label(std::int32_t label) const { return of_class.empty() ? 1 : of_class[static_cast<std::size_t>(label)]; }
};

// The loss of each row (of numbers along the axis of the classes), and the gradient of the logits.
template <class T>
class RowLoss {
 public:
  RowLoss(const LabelWeights& w, const Ids& labels, const CrossEntropyOptions& options, std::int64_t classes)
      : w_(w),
        labels_(labels),
        ignored_(options.ignored_label),
        classes_(classes),
        e_(options.label_smoothing),
        a_class_(e_ / static_cast<double>(classes)),
        factor_(options.reduction == Reduction::mean && w.of_rows > 0 ? 1 / static_cast<T>(w.of_rows) : T{1}) {}

  Tensor along_last_axis(const Tensor& logits, std::vector<double>& losses) const {
    const Tensor dense = contiguous(logits);
    Tensor dlogits(dense.shape(), dense.dtype());
    const T* from = dense.data<T>();
    T* to = dlogits.mutable_data<T>();
    const std::int64_t classes = classes_;
    const T spread = static_cast<T>(a_class_), factor = factor_;
    cpu::for_rows(labels_.numel(), classes, [&](std::int64_t i) {
      const T* row = from + i * classes;
      T* g = to + i * classes;
      const std::int32_t label = labels_[i];
      if (label == ignored_) {
        std::fill_n(g, classes, T{0});
        return;
      }
      const double own = (1 - e_) * w_.of_label(label);
      const T m = cpu::max_row(row, classes), log_rest = cpu::softmax_row(row, g, classes, m);
      if (std::isinf(log_rest)) {  // all logits are -infinity: like log_softmax
        losses[static_cast<std::size_t>(i)] = loss_without_logits(own);
        return;  // softmax_row() has set g to 0
      }
      const double rest = static_cast<double>(log_rest);
      // -log p = (m - x) + log sum e^(x - m), in this order: added to a large m, the second term would be lost
      double loss = own * (static_cast<double>(m) - static_cast<double>(row[label]));
      if (w_.of_class.empty()) {
        loss += rest;
        if (e_ > 0) loss += a_class_ * cpu::sum_terms<T>(classes, [=](std::int64_t c) { return m - row[c]; });
        for (std::int64_t c = 0; c < classes; ++c) g[c] = (g[c] - spread) * factor;
      } else {
        const double total = own + a_class_ * w_.of_all_classes;
        loss += total * rest;
        for (std::int64_t c = 0; c < classes; ++c) {
          const double share = share_of(c);
          if (share > 0) loss += share * static_cast<double>(m - row[c]);
          g[c] = (g[c] * static_cast<T>(total) - static_cast<T>(share)) * factor;
        }
      }
      g[label] -= static_cast<T>(own) * factor;
      losses[static_cast<std::size_t>(i)] = loss;
    });
    return dlogits;
  }

  // Goes through the classes of many rows at once, since numbers of one class are neighbours.
  Tensor along_axis(const Tensor& logits, int axis, std::vector<double>& losses) const {
    const Tensor log_p = log_softmax(logits, axis);
    Tensor dlogits = exp(log_p);
    if (log_p.numel() == 0) return dlogits;
    constexpr std::int64_t most = 64;
    const std::int64_t inner = log_p.strides()[axis], size = classes_ * inner, block = std::min(inner, most),
                       blocks = (inner + block - 1) / block;
    const T* const from = log_p.data<T>();
    T* const to = dlogits.mutable_data<T>();
    cpu::for_rows(labels_.numel() / inner * blocks, block * classes_, [&](std::int64_t task) {
      const std::int64_t first = task % blocks * block, n = std::min(block, inner - first), outer = task / blocks;
      const T* const x = from + outer * size + first;
      T* const g = to + outer * size + first;
      T totals[most], counts[most];  // of each row: the weight of its loss; 0 if the loss is constant, else 1
      for (std::int64_t j = 0; j < n; ++j) {
        const std::int64_t row = outer * inner + first + j;
        losses[static_cast<std::size_t>(row)] = loss_of(x + j, inner, labels_[row], totals[j], counts[j]);
      }
      for (std::int64_t c = 0; c < classes_; ++c) {
        const T share = static_cast<T>(share_of(c));
        T* const of_class = g + c * inner;
        for (std::int64_t j = 0; j < n; ++j) of_class[j] = (of_class[j] * totals[j] - share * counts[j]) * factor_;
      }
      for (std::int64_t j = 0; j < n; ++j) {
        if (counts[j] == 0) continue;
        const std::int32_t label = labels_[outer * inner + first + j];
        g[label * inner + j] -= static_cast<T>((1 - e_) * w_.of_label(label)) * factor_;
      }
    });
    return dlogits;
  }

 private:
  double share_of(std::int64_t c) const {
    return a_class_ * (w_.of_class.empty() ? 1 : w_.of_class[static_cast<std::size_t>(c)]);
  }

  // Returns the loss of a row whose logits are all -infinity.
  double loss_without_logits(double own) const {
    const bool is_counted = w_.of_class.empty() || own + a_class_ * w_.of_all_classes > 0;
    return is_counted ? std::numeric_limits<double>::infinity() : 0;
  }

  // Returns the loss of a row, whose logarithms of probabilities are `step` apart.
  double loss_of(const T* log_p, std::int64_t step, std::int32_t label, T& total, T& count) const {
    total = count = 0;
    if (label == ignored_) return 0;
    const double own = (1 - e_) * w_.of_label(label);
    const double of_label = -static_cast<double>(log_p[label * step]);
    if (std::isinf(of_label)) {
      bool is_masked = true;
      for (std::int64_t c = 0; c < classes_; ++c) is_masked = is_masked && std::isinf(log_p[c * step]);
      if (is_masked) return loss_without_logits(own);
    }
    count = 1;
    total = w_.of_class.empty() ? T{1} : static_cast<T>(own + a_class_ * w_.of_all_classes);
    double loss = own * of_label;
    for (std::int64_t c = 0; c < classes_ && e_ > 0; ++c) {
      if (const double share = share_of(c); share > 0) loss -= share * static_cast<double>(log_p[c * step]);
    }
    return loss;
  }

  const LabelWeights& w_;
  const Ids& labels_;
  std::int32_t ignored_;
  std::int64_t classes_;
  double e_, a_class_;  // label smoothing: all, and the share of a class
  T factor_;
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
  Tensor dlogits, y(each ? labels.shape() : Shape{}, logits.dtype());  // dlogits: (..., C)
  std::vector<double> losses(static_cast<std::size_t>(rows), 0.0);
  dispatch(logits.dtype(), [&]<class T>() {
    const RowLoss<T> of_row(w, labels, options, classes);
    dlogits = axis == last ? of_row.along_last_axis(logits.detach(), losses)
                           : moved_axis(of_row.along_axis(logits.detach(), axis, losses), axis, last);
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

}  // namespace heed
