#include "tests/catch.h"
#include "tests/message.h"

#include <heed/autograd/draw.h>
#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>
#include <heed/nn/layers.h>

using namespace heed;

TEST_CASE("draw shows operations with their layers, variables with their names, shapes and bytes") {
  Parameters parameters;
  const Linear layer(Scope(parameters, 1) / "in", 3, 2, {.bias = false});
  const Recording recording;
  const Tensor unused = square(layer.weight), y = layer(ones({4, 3})), loss = sum(y * y);
  CHECK(draw(loss) ==
        "digraph recording {\n"
        "  n4 [label=\"sum\\nfloat32 ()\\n4 bytes\"];\n"
        "  n3 -> n4;\n"
        "  n3 [label=\"multiply\\nfloat32 (4, 2)\\n32 bytes\"];\n"
        "  n2 -> n3;\n"
        "  n2 -> n3;\n"
        "  n2 [label=\"linear\\nin\\nfloat32 (4, 2)\\n32 bytes\"];\n"
        "  n0 -> n2;\n"
        "  n0 [label=\"in.weight\\nfloat32 (3, 2)\\n24 bytes\", shape=box];\n"
        "}\n");
  CHECK(message([&] { draw(ones({2})); }) ==
        "draw: expected a tensor of the open Recording, got a constant or a variable of shape (2)");
}
