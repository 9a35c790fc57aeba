#include "autograd/cpu/kernels.h"
#include "autograd/internal/tape.h"

#include <heed/autograd/checkpoint.h>
#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

#include <bit>
#include <limits>
#include <type_traits>

namespace heed {
namespace {

std::uint64_t combined(const auto& numbers) {
  std::uint64_t all = 0;
  for (const std::uint64_t number : numbers)
    all = std::rotl(all + number * 0xd6e8feb86659fd93U, 31) * 0x9e3779b97f4a7c15U;
  return all;
}

// A number that tells outputs apart by each element and its place. Both zeros count as equal, and all NaN.
template <class T>
std::uint64_t fingerprint(const T* values, std::int64_t n) {
  constexpr std::int64_t lanes = 16;  // independent chains, which vectors hold
  std::uint32_t hash[lanes] = {};
  const auto add = [&](std::int64_t lane, T given) {
    const T value = given == given ? given + T{0} : std::numeric_limits<T>::quiet_NaN();
    const auto bits = std::bit_cast<std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>(value);
    std::uint32_t chain = hash[lane];
    // the rotation spreads the top bit, which is all that a sign changes, over the bits below
    chain = std::rotl(chain + static_cast<std::uint32_t>(bits) * 0x9e3779b9U, 13) * 0x85a308d3U;
    if constexpr (sizeof(T) == 8) {
      chain = std::rotl(chain + static_cast<std::uint32_t>(bits >> 32) * 0x9e3779b9U, 13) * 0x85a308d3U;
    }
    hash[lane] = chain;
  };
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (std::int64_t k = 0; k < lanes; ++k) add(k, values[i + k]);
  }
  for (std::int64_t k = 0; i + k < n; ++k) add(k, values[i + k]);
  return combined(hash);
}

std::uint64_t fingerprint(const Tensor& y) {
  constexpr std::int64_t grain = 16384;
  const Tensor dense = contiguous(y.detach());
  std::vector<std::uint64_t> tiles(static_cast<std::size_t>((dense.numel() + grain - 1) / grain));
  dispatch(dense.dtype(), [&, from = &dense]<class T>() {
    cpu::parallel_for(from->numel(), grain, [&, values = from->data<T>()](std::int64_t begin, std::int64_t end) {
      tiles[static_cast<std::size_t>(begin / grain)] = fingerprint(values + begin, end - begin);
    });
  });
  return combined(tiles);
}

class Again final : public Backward {
 public:
  Again(std::function<Tensor()> f, std::vector<Tensor> inputs, const Tensor& y)
      : f_(std::move(f)), inputs_(std::move(inputs)), expected_(fingerprint(y)) {}

  std::vector<Tensor> operator()(const Tensor& dy, const NeedsInputGrad&) const override {
    std::vector<std::int64_t> nodes;
    for (const Tensor& input : inputs_) nodes.push_back(tape::node_of(input));
    std::vector<Tensor> gradients = tape::gradients_at(nodes, dy, [&] {
      const Tensor y = f_();
      if (y.defined() && fingerprint(y) != expected_) {
        fail(
            "backward of checkpoint: the function gave another output of shape {} than before; pass a Random that it "
            "draws from as an argument: checkpoint(f, x, random)",
            to_string(y.shape()));
      }
      return y;
    });
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i].defined()) gradients[i] = sum(dy) * zeros(inputs_[i].shape(), inputs_[i].dtype());
    }
    return gradients;
  }
  void list_saved(std::vector<Tensor*>& tensors) override {
    for (Tensor& input : inputs_) tensors.push_back(&input);
  }
  Record record() const override { return Record::other; }
  std::vector<Tensor> recorded(const Tensor& dy, const NeedsInputGrad& needs) const override {
    return (*this)(dy, needs);
  }

 private:
  std::function<Tensor()> f_;
  std::vector<Tensor> inputs_;
  std::uint64_t expected_;
};

}  // namespace

static const Operation checkpoint_operation("checkpoint", "y = f(x)", "dx = dy df / dx, where f is computed again", [] {
  return std::vector<GradientSample>{
      {"of two inputs",
       {{{2, 3}}, {{3, 2}}},
       [](auto& x) {
         return checkpoint([](const Tensor& a, const Tensor& b) { return tanh(matmul(a, b)); }, x[0], x[1]);
       }},
      {"inside another", {{{3}}}, [](auto& x) {
         const auto inner = [](const Tensor& v) { return square(v) * v; };
         return checkpoint([inner](const Tensor& v) { return checkpoint(inner, sin(v)) + v; }, x[0]);
       }}};
});
Tensor detail::checkpoint(const std::function<Tensor()>& first, std::function<Tensor()> again) {
  if (!tape::thread.tape || tape::thread.silent || tape::thread.paused) return first();
  std::vector<Tensor> inputs;
  Tensor y;
  {
    const tape::Set<bool> silent(tape::thread.silent, true);
    const tape::Set<std::vector<Tensor>*> notice(tape::thread.noticed, &inputs);
    y = first();
  }
  if (!y.defined()) fail("checkpoint: the function gave an undefined tensor");
  if (inputs.empty()) return y;
  std::vector<const Tensor*> pointers;
  for (const Tensor& input : inputs) pointers.push_back(&input);
  return Recorder::record(checkpoint_operation, pointers, y.detach(),
                          std::make_unique<Again>(std::move(again), inputs, y));
}

}  // namespace heed
