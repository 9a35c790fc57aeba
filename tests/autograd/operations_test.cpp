#include "tests/catch.h"

#include <heed/autograd/operation.h>

#include <set>
#include <string>

using namespace heed;

TEST_CASE("operations() contains every differentiable function, with its formula and derivative") {
  std::set<std::string> names;
  for (const Operation* operation : operations()) {
    INFO(operation->name());
    CHECK((*operation->formula() && *operation->derivative()));
    if (operation->samples().reason_for_none()) continue;
    CHECK(names.insert(operation->name()).second);
  }
  const std::set<std::string> expected{"add",
                                       "subtract",
                                       "multiply",
                                       "divide",
                                       "add scalar",
                                       "exp",
                                       "log",
                                       "multiply by scalar",
                                       "divide by scalar",
                                       "divide scalar",
                                       "sqrt",
                                       "square",
                                       "tanh",
                                       "sigmoid",
                                       "relu",
                                       "gelu",
                                       "gelu_tanh",
                                       "where",
                                       "masked_fill",
                                       "sum",
                                       "max",
                                       "min",
                                       "reshape",
                                       "permute",
                                       "slice",
                                       "broadcast_to",
                                       "contiguous",
                                       "clone",
                                       "view",
                                       "concat",
                                       "matmul",
                                       "linear",
                                       "lstm",
                                       "conv2d",
                                       "conv2d weights",
                                       "conv_transpose2d",
                                       "max_pool2d",
                                       "avg_pool2d",
                                       "avg_pool2d transposed",
                                       "softmax",
                                       "layer_norm",
                                       "log_softmax",
                                       "cross_entropy",
                                       "bce_with_logits",
                                       "embedding",
                                       "select_rows",
                                       "dropout",
                                       "attention",
                                       "attention weights",
                                       "abs",
                                       "sin",
                                       "cos",
                                       "erf",
                                       "log1p",
                                       "expm1",
                                       "softplus",
                                       "silu",
                                       "swiglu",
                                       "leaky_relu",
                                       "clamp",
                                       "power",
                                       "pow",
                                       "maximum",
                                       "minimum",
                                       "norm",
                                       "prod",
                                       "round",
                                       "floor",
                                       "ceil",
                                       "sign",
                                       "flip",
                                       "index_add",
                                       "logsumexp",
                                       "gather",
                                       "index_select",
                                       "scatter_add",
                                       "cumsum",
                                       "rotary",
                                       "rms_norm",
                                       "checkpoint",
                                       "place",
                                       "pick",
                                       "spread",
                                       "tril",
                                       "triu"};
  CHECK(names == expected);
}
