// A training loop of one's own, with all that a long run needs: batches made on another thread, a schedule, clipping, an average of the
// weights, a log, a progress bar, and a file from which the same program continues: example_own_loop [DIRECTORY].
#include <heed/data/loader.h>
#include <heed/data/splits.h>
#include <heed/formats/training_state.h>
#include <heed/heed.h>
#include <heed/run/progress.h>

using namespace heed;

// Two layers: (B, 2) -> logits (B, 2).
struct Classifier {
  Linear in, out;
  explicit Classifier(const Scope& scope)
      : in(scope / "in", 2, 16, {.init = Init::kaiming_normal()}), out(scope / "out", 16, 2) {}
  Tensor operator()(const Tensor& x) const { return out(relu(in(x))); }
};

// Numbers that a program in another language can make as well: sin(1), sin(2), ...
Tensor waves(const Shape& shape, int first) {
  std::vector<double> values;
  for (int i = 0; i < shape.numel(); ++i) values.push_back(std::sin(first + i));
  return tensor(shape, values);
}

int main(int argc, char** argv) {
  const int steps = 300;
  const Tensor x = waves({500, 2}, 1);  // points of a square
  std::vector<std::int32_t> inside;     // class 1 lies within a circle
  for (int i = 0; i < 500; ++i) inside.push_back(sum(square(x[i])).item() < 0.8);
  const Ids y({500}, inside);
  const Ids train = arange_ids(0, 400), test = arange_ids(400, 500);  // or train_test_split(500, 0.2, Random(1))

  Parameters parameters;
  const Classifier model(Scope(parameters, 1));
  int first = 2000;
  for (const auto& [name, parameter] : parameters) {  // only so that PyTorch can begin with the same values
    assign(parameter, 0.5 * waves(parameter.shape(), first));
    first += 1000;
  }
  Optimizer optimizer(parameters, {.method = OptimizerOptions::Method::adamw,
                                   .weight_decay = 0.01,
                                   .groups = {{.parameters = {"in.bias", "out.bias"}, .weight_decay = 0}}});
  WeightAverage average(parameters, {.decay = 0.95});
  const Schedule schedule{.kind = Schedule::Kind::warmup_stable_decay, .lr = 0.02, .warmup = 20, .steps = steps};

  const TrainingState state{.parameters = parameters, .optimizer = &optimizer, .average = &average};
  const std::filesystem::path run = argc > 1 ? argv[1] : "";
  const std::int64_t begin = argc > 1 ? state.load(run / "state.safetensors") : 0;
  std::optional<Log> log;
  if (argc > 1) log.emplace(run, LogOptions{.resume = begin});

  struct Batch {
    Tensor x;
    Ids y;
  };
  Loader loader(
      [&](std::int64_t step) {
        const std::int64_t from = step * 50 % 400;
        const Ids chosen = slice(train, 0, from, from + 50);
        return Batch{index_select(x, chosen), index_select(y, chosen)};
      },
      {.steps = steps, .first = begin, .prefetch = 4});
  ProgressBar bar(steps);
  for (std::int64_t step = begin; step < steps; ++step) {
    const Batch batch = loader.next();
    const Recording recording;
    const Tensor loss = cross_entropy(model(batch.x), batch.y);
    Gradients gradients = backward(loss);
    clip_by_global_norm(gradients, 1);
    optimizer.step(gradients, learning_rate(schedule, step));
    average.add();
    if (log && step % 10 == 0) {
      log->write(step, {{"loss", loss}, {"rate", learning_rate(schedule, step)}});
      log->write_gradients(step, parameters, gradients);
    }
    if (log && step % 100 == 99) state.save(log->path() / "state.safetensors", step + 1);
    bar.show(step, {{"loss", loss}});
  }
  const auto held_out = [&] { return cross_entropy(model(index_select(x, test)), index_select(y, test)).item(); };
  fmt::print("held-out loss {:.6f}\n", held_out());
  const WeightAverage::Shown shown(average);
  fmt::print("held-out loss of the average {:.6f}\n", held_out());
  fmt::print("accuracy {:.3f}\n", accuracy(model(index_select(x, test)), index_select(y, test)));
}
