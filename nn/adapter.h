#pragma once
#include <heed/nn/parameters.h>

#include <string>
#include <vector>

namespace heed {

/// What LoRA adds to a frozen matrix W (in, out) (Hu et al. 2021, arXiv:2106.09685): x W becomes x W + scale (x A) B. It is empty
/// until adapt() fills it.
struct Adapter {
  Tensor A{};        ///< (in, rank); undefined: nothing is added
  Tensor B{};        ///< (rank, out)
  double scale = 0;  ///< alpha / rank
};

/// Options of adapt(), with the defaults of PEFT.
struct AdapterOptions {
  int rank = 8;      ///< columns of A and rows of B
  double alpha = 8;  ///< the product is added times alpha / rank
};

/// Freezes all parameters in `scope` and adds an adapter to the matrix of each `Linear` there that `layers` names: by the last
/// part of its name, such as "W_Q" or "attention.W_Q", or by its whole name. A (in, rank) is uniform in [-1 / sqrt(in), 1 / sqrt(in)),
/// B (rank, out) is 0, so that the results are as before. They are parameters of the store, LAYER.lora_A and LAYER.lora_B, the only
/// ones that an Optimizer then changes. Layers that exist compute with them at once.
///
///     Parameters parameters;
///     const MultiHeadAttention attention(Scope(parameters, 1) / "attention", {.d_model = 64, .heads = 4});
///     ...                                                                // train it, or load its weights
///     adapt(Scope(parameters, 1), {"W_Q", "W_V"}, {.rank = 4});
///     Optimizer optimizer(parameters, options);                          // trains attention.W_Q.lora_A, ...
///     ...
///     merge(parameters);                                                 // W_Q and W_V now hold the sums
///
/// The matrices may have a type that only holds weights (DType), as those of a model that is mapped to memory. Throws Error for a
/// name without a Linear, for one that has an adapter, and for a rank below 1.
void adapt(const Scope& scope, const std::vector<std::string>& layers, AdapterOptions options = {});

/// Adds each adapter's product to its matrix and removes the adapters from the store. Frozen parameters stay frozen, such as the
/// matrices: unfreeze() them to train on. Parameters of `widened` take the place of those with their names. Throws Error for a matrix of a
/// type that only holds weights that is not among them, as merge(model) has it, and while a WeightAverage::Shown is open.
void merge(const Parameters& parameters, const Parameters& widened = {});

/// Returns y = x W, plus what the adapter of W adds. A layer calls it with its product.
Tensor adapted(const Tensor& x, const Parameter& W, const Tensor& y);
/// Returns the matrix that a layer multiplies by: W, or W + scale A B.
Tensor merged(const Parameter& W);

/// Returns whether adapt() gave the matrix an adapter.
bool has_adapter(const Parameter& matrix);
/// Returns whether a name is that of an adapter's parameter: "encoder.0.attention.W_Q.lora_A".
bool is_of_adapter(const std::string& name);

}  // namespace heed
