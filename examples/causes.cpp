// Is the attention the cause of the answer? A transformer learns to which noun "it" refers. Then one edge of its attention is
// cut in one sentence, and every head and edge in a hundred sentences.
#include <heed/data/tasks/coreference.h>
#include <heed/explain/studies/causes.h>
#include <heed/heed.h>
#include <heed/models/reading.h>

#include <fmt/ranges.h>

using namespace heed;

int main() {
  const Task task = coreference_task(4000, 100, Random(1));
  TransformerConfig shape{.vocabulary = task.vocabulary.size(), .max_length = task.max_length};
  shape.embedding_scale = 8, shape.last_residual = false;
  shape.block.attention = {.d_model = 64, .heads = 2, .d_k = 16, .d_v = 16};
  Model model(word_answerer(shape), 11);
  model.vocabulary = task.vocabulary;

  const NumberedExamples examples(task.train, task.vocabulary);
  Optimizer adam(model.parameters, {});
  const Schedule schedule{.kind = Schedule::Kind::cosine, .lr = 3e-3, .warmup = 30, .steps = 300};
  Random random(2);
  for (int step = 0; step < 300; ++step) {
    std::vector<int> chosen;
    for (int i = 0; i < 64; ++i) chosen.push_back(static_cast<int>(random.below(examples.size())));
    const Recording recording;
    const Tensor loss = model.loss(examples.batch(chosen), {.p = 0.5, .random = &random});
    adam.step(backward(loss), learning_rate(schedule, step));
    if (step % 100 == 0) fmt::print("step {:3}  loss {:.3f}\n", step, loss.item());
  }

  // One sentence: without the edge from "it" to its noun, in the last layer, the answer's logit falls.
  const Example& sentence = task.held_out[0];
  const Batch asked = batch_of(model, sentence);
  const int right = right_answer(model, sentence);
  const Edge edge{sentence.query, {sentence.antecedent, sentence.antecedent + 1}};
  fmt::print("\n{}\n", fmt::join(sentence.tokens, " "));
  fmt::print("logit of {}: {:.2f}\n", sentence.answer, model.logits(asked).at({0, right}));
  fmt::print("without the edge it -> {}: {:.2f}\n", sentence.answer,
             logits_under({cut({1, -1}, edge)}, model, asked).at({0, right}));

  // A hundred sentences: every intervention on every head.
  const Causes found = causes(model, task.held_out);
  fmt::print("\naccuracy of {} sentences: {:.2f}\n", found.sentences, found.accuracy.share);
  for (const Cause& row : found.rows) {
    if (row.what != Cause::What::edge || row.from != "query" || row.to != "antecedent") continue;
    fmt::print("without the edge in layer {} head {}, of weight {:.2f}: {:.2f}\n", row.layer + 1, row.head + 1,
               row.weight, row.accuracy.share);
  }
  const Cause* everywhere = found.find(Cause::What::edge_everywhere, -1, -1, "antecedent");
  fmt::print("without it in every head of every layer: {:.2f}\n", everywhere->accuracy.share);
}
