// Learns whom "it" means, from sentences made here: "the cat chased the dog because it was hungry" means the cat, "... because
// it was tasty" the dog. With an argument, "coreference runs/mine", it also writes a run: "inspect runs/mine" shows where
// "it" attends, "inspect causes runs/mine" whether the answers depend on that, and "inspect history runs/mine" since when.
#include <heed/data/task.h>
#include <heed/heed.h>
#include <heed/models/model.h>
#include <heed/run/run_writer.h>

#include <optional>

using namespace heed;

namespace {

// Every two animals with either cue word: minimal pairs, of which a tenth is held out.
Task make_task() {
  const std::vector<std::string> animals{"cat", "dog", "fox", "owl",  "hen",  "cow",
                                         "pig", "bat", "rat", "hare", "crow", "snake"};
  std::vector<Example> examples;
  for (const std::string& hunter : animals) {
    for (const std::string& prey : animals) {
      if (hunter == prey) continue;
      for (const bool means_prey : {false, true}) {
        Example one{
            .tokens = {"the", hunter, "chased", "the", prey, "because", "it", "was", means_prey ? "tasty" : "hungry"},
            .query = 6};
        one.antecedent = means_prey ? 4 : 1, one.distractor = means_prey ? 1 : 4;
        one.answer = one.tokens[static_cast<std::size_t>(one.antecedent)], one.cue = one.tokens[8];
        examples.push_back(one);
      }
    }
  }
  pair_counterparts(examples);
  Task task;
  task.name = "hunters";
  hold_out(task, with_counterparts(examples), {}, Random(1));
  complete(task);  // its vocabulary and longest text
  return task;
}

}  // namespace

int main(int argc, char** argv) {
  const Task task = make_task();
  ModelConfig config = word_answerer(bert(2, 2, 32));
  config.transformer.vocabulary = task.vocabulary.size(), config.transformer.max_length = task.max_length;
  config.transformer.segments = 0;
  Model model(config);
  model.vocabulary = task.vocabulary;

  const NumberedExamples train(task.train, task.vocabulary), held_out(task.held_out, task.vocabulary);
  const Batch test = held_out.batch(0, held_out.size());
  std::optional<RunWriter> run;
  if (argc > 1)
    run.emplace(argv[1], model, std::vector{task.held_out[0], task.held_out[1]}, task.held_out,
                RunWriterOptions{.keep_models = true});
  Optimizer adam(model.parameters, {});
  for (int step = 0; step <= 300; ++step) {
    if (step % 100 == 0) {
      const double right = accuracy(model.logits(test), model.labels(test));
      fmt::print("step {:3}  {:.0f} % of {} held-out sentences are answered right\n", step, 100 * right,
                 held_out.size());
      if (run) run->write({.step = step, .held_out = {.accuracy = right}});
    }
    const Recording recording;
    Gradients gradients = backward(model.loss(train.batch(batch_order(train.size(), 32, step, Random(2)))));
    clip_by_global_norm(gradients, 1);
    adam.step(gradients, 3e-3);
  }
}
