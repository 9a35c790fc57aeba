#include "inspect/commands/shared.h"

namespace heed {

const Command steps_command{
    .name = "steps",
    .summary = "Prints every matrix from X to the output of a head, for a sentence",
    .example = "inspect steps runs/toy --sentence \"The dog didn't cross the road because it was too tired\"",
    .shared = "sentence query step layer head json",
    .answer = [](const Request& request) {
      if (!request.has("sentence")) misused("expected --sentence TEXT");
      const Model model = model_of(request.runs[0], step_of(request), request.progress);
      const Example example = example_of(request, model);
      return request.has("json") ? json_line(steps_json(model, example, request.view))
                                 : steps_view(model, example, request.view);
    }};

}  // namespace heed
