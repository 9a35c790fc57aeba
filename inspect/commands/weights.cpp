#include "inspect/commands/shared.h"

namespace heed {

const Command weights_command{.name = "weights",
                              .summary = "Shows the learned W_Q, W_K, W_V and W_O: shapes, norms, heat maps",
                              .example = "inspect weights runs/toy --layer 2",
                              .shared = "step layer head json",
                              .answer = [](const Request& request) {
                                const Model model = model_of(request.runs[0], step_of(request), request.progress);
                                return request.has("json") ? json_line(weights_json(model, request.view))
                                                           : weights_view(model, request.view);
                              }};

}  // namespace heed
