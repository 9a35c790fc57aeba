#pragma once
#include <heed/autograd/random.h>
#include <heed/autograd/record.h>

#include <functional>
#include <optional>
#include <tuple>
#include <type_traits>

namespace heed {

namespace detail {

// An argument as it was before the first call. The random numbers that it points to are part of it.
template <class T>
struct Kept {
  static constexpr bool has_random = requires(const T& x) { requires std::is_same_v<decltype(x.random), Random*>; };

  explicit Kept(const T& argument) : value(argument) {
    if constexpr (has_random) {
      if (value.random) random = *value.random;
    }
  }
  T& get() {
    if constexpr (has_random) {
      if (random) value.random = &*random;
    }
    return value;
  }
  T value;
  std::optional<Random> random{};
};

inline Tensor output_of(Tensor result) { return result; }
template <class Result>
requires requires(const Result& result) { result.output; }
Tensor output_of(const Result& result) { return result.output; }

Tensor checkpoint(const std::function<Tensor()>& first, std::function<Tensor()> again);

}  // namespace detail

/// Returns f(arguments...), of which the recording keeps only the inputs: backward() calls f again (Chen et al. 2016,
/// arXiv:1604.06174). It trades one more forward pass for the memory of what f would record. The gradients have the same bits, except
/// of a tensor that is also read outside of f, such as a parameter of several parts: f's share is summed first, so the last bits may differ.
///
///     for (const TransformerBlock& block : blocks) x = checkpoint(block, x, mask, PassOptions{.drop = dropout});
///     x = checkpoint([&](const Tensor& h, Random& r) { return dropout(layer(h), 0.1, r); }, x, random);
///
/// f returns a tensor, or a result with an `output`, such as a block's. Arguments and f are copied, so f must not refer to what ends
/// before backward(). Parameters and other recorded tensors that f reads get their gradients, too. Pass a Random, or a Dropout that
/// points to one, as an argument: the second call then draws the same numbers. backward() throws Error if f gives another output the
/// second time. Hooks see both calls. Side effects of f happen twice: a BatchNorm in it moves its running statistics twice per step.
template <class F, class... Arguments>
Tensor checkpoint(F f, Arguments&&... arguments) {
  const auto kept = std::make_tuple(detail::Kept<std::decay_t<Arguments>>(arguments)...);
  return detail::checkpoint([&] { return detail::output_of(f(arguments...)); },
                            [f, kept] {
                              auto own = kept;
                              return std::apply([&](auto&... each) { return detail::output_of(f(each.get()...)); },
                                                own);
                            });
}

}  // namespace heed
