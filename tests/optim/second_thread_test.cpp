#include "tests/catch.h"
#include "tests/message.h"

#include <heed/autograd/ops.h>
#include <heed/optim/optimizer.h>

#include <functional>
#include <thread>

using namespace heed;

TEST_CASE("A second thread cannot update parameters during a step") {
  struct Waiting : Optimizer {
    using Optimizer::Optimizer;
    std::function<void()> meanwhile;
    const Gradients& own_gradients(const Gradients& gradients) override {
      meanwhile();
      return gradients;
    }
  };
  Parameters parameters;
  const Tensor w = variable(ones({2}));
  parameters.add("w", w);
  Waiting waiting(parameters);
  Optimizer other(parameters);
  const Gradients gradients = [&] {
    const Recording recording;
    return backward(sum(square(w)));
  }();
  std::vector<std::string> said;
  waiting.meanwhile = [&] {
    std::thread([&] {
      for (Optimizer* const second : {static_cast<Optimizer*>(&waiting), &other}) {
        said.push_back(message([&] { second->step(gradients, 0.1); }));
      }
      said.push_back(message([&] { parameters.load({{"w", zeros({2})}}, "file"); }));
      said.push_back(message([&] { parameters.add("v", variable(ones({1}))); }));
    }).join();
  };
  waiting.step(gradients, 0.1);
  const std::string text = ": another thread updates these parameters; let one thread at a time train a model";
  CHECK(said == std::vector{"Optimizer" + text, "Optimizer" + text, "file" + text, "parameters" + text});
  CHECK(w.to_vector()[0] == Approx(0.9));
  other.step(gradients, 0.1);
  CHECK(w.to_vector()[0] == Approx(0.8));
}
