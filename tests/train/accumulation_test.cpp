// The gradient of a batch does not depend on how it is cut.
#include "tests/catch.h"
#include "tests/message.h"
#include "tests/scratch.h"
#include "tests/train/train_scratch.h"
#include "train/experiment.h"

#include <heed/autograd/ops.h>
#include <heed/formats/datasets/jsonl.h>
#include <heed/optim/gradient_reducer.h>

#include <cmath>

using namespace heed;

namespace {

std::vector<double> flat(const Parameters& parameters, const Gradients& gradients) {
  std::vector<double> all;
  for (const auto& [name, parameter] : parameters) {
    for (const double g : gradients[parameter].to_vector()) all.push_back(g);
  }
  return all;
}

double product(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Loss and gradient of the first batch, in this many parts.
std::pair<double, std::vector<double>> cut(const Experiment& e, int parts) {
  const Batch batch = training_batch(e, 0);
  std::vector<double> counts;
  for (int part = 0; part < parts; ++part) {
    counts.push_back(static_cast<double>(e.model.predictions(part_of(batch, part, parts))));
  }
  const auto [losses, gradients] =
      mean_gradients(e.model.parameters, counts, [&](int part) { return e.model.loss(part_of(batch, part, parts)); });
  return {mean_over_parts(losses, counts), flat(e.model.parameters, gradients)};
}

std::string stories(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    const char* place = i % 3 ? "shed" : i % 2 ? "barn" : "hall";
    text += fmt::format("1 Eve ran to the {}.\n{}2 Where is Eve? \t{}\t1\n", place, "", i % 5 ? place : "loft");
  }
  return text;
}

}  // namespace

TEST_CASE("The loss and gradient of a batch are the same in any number of parts, for every task") {
  const Scratch scratch;
  std::string words, candidates;
  for (int i = 0; i < 400; ++i) words += fmt::format("{} ", "the cat sat on a mat while two dogs ran"[i * 7 % 39]);
  write_file(scratch / "text.txt", words);
  write_file(scratch / "qa1_x.txt", stories(40));
  for (int i = 0; i < 40; ++i) {
    candidates += fmt::format(R"({{"tokens": ["the", "cup{}", "hid", "the", "jam{}", "it", "was", "{}"], "query": 5, )"
                              R"("candidates": [[0, 2], [3, 5]{}], "antecedent": {}}})",
                              i, i % 3 ? "" : "\", \"and\", \"tea", i % 2 ? "big" : "tiny", "", i % 2);
    candidates += "\n";
  }
  for (std::size_t at = 0; (at = candidates.find("tea\", \"it", at)) != candidates.npos; ++at) {
    const std::size_t query = candidates.find("\"query\": 5", at);
    candidates[query + 9] = '7';
  }
  write_file(scratch / "c.jsonl", candidates);
  Task task = make_task({.kind = TaskKind::coreference, .sentences = 60, .held_out = 20}, Random(1));
  for (std::size_t i = 0; i < task.train.size(); i += 3) task.train[i].answer = fmt::format("rare{}", i);
  write_jsonl(scratch / "rare.jsonl", task.train);
  const std::string text = (scratch / "text.txt").string();
  const std::vector<std::string> tasks{
      "task: coreference, sentences: 60",
      "task: bank, sentences: 60",
      "task: chinese, sentences: 60",
      "task: babi, train: " + (scratch / "qa1_x.txt").string(),
      "task: jsonl, unknown: token, min_count: 2, train: " + (scratch / "rare.jsonl").string(),
      "task: text, tokens: bytes, context: 8, train: " + text,
      "task: masked_text, tokens: bytes, context: 8, train: " + text,
      "task: induction, sentences: 60, context: 40",
      "task: candidates, train: " + (scratch / "c.jsonl").string()};
  for (const std::string& data : tasks) {
    CAPTURE(data);
    const bool chooses = data.starts_with("task: candidates");
    const Experiment e = make_experiment(
        parse_config(fmt::format("data: {{{}}}\nmodel: {{d_model: 8, heads: 2, layers: 2, mlp: 16, dropout: 0{}}}\n"
                                 "train: {{batch_size: 16}}\n",
                                 data, chooses ? ", answer: candidate" : ""),
                     "f"));
    const auto [whole, gradient] = cut(e, 1);
    for (const int parts : {2, 4, 8, 16}) {
      CAPTURE(parts);
      const auto [mean, cut_gradient] = cut(e, parts);
      CHECK(mean == Approx(whole).epsilon(2e-6));
      const double cosine = product(gradient, cut_gradient) /
                            std::sqrt(product(gradient, gradient) * product(cut_gradient, cut_gradient));
      CHECK(cosine > 1 - 1e-9);
      CHECK(product(cut_gradient, cut_gradient) == Approx(product(gradient, gradient)).epsilon(1e-5));
    }
  }
}

TEST_CASE("train.accumulate leaves the losses of masked text as they are") {
  const TrainScratch place;
  std::string words;
  for (int i = 0; i < 3000; ++i) words += "the cat sat on a mat while two dogs ran"[i * i % 39];
  write_file(place / "text.txt", words);
  write_file(place / "masked.yaml",
             "data: {task: masked_text, train: text.txt, tokens: characters, context: 8}\n"
             "model: {d_model: 16, heads: 2, layers: 2, mlp: 32, dropout: 0}\n"
             "optim: {name: sgd, lr: 0.1, warmup: 0}\n"
             "train: {steps: 3, batch_size: 16, evaluate_every: 1}\n"
             "dump: {every: 3}\n");
  std::vector<Metrics> expected;
  for (const char* parts : {"1", "2", "8", "16"}) {
    CAPTURE(parts);
    const std::string run = std::string("in-") + parts;
    REQUIRE(place.error("train --quiet --config masked.yaml --out " + run + " --set train.accumulate=" + parts) ==
            "0: ");
    const std::vector<Metrics> lines = read_metrics(place / run);
    if (expected.empty()) expected = lines;
    REQUIRE(lines.size() == 4);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      CHECK(lines[i].train_loss == Approx(expected[i].train_loss).epsilon(1e-6));
      CHECK(lines[i].held_out.loss == Approx(expected[i].held_out.loss).epsilon(1e-6));
    }
  }
}

TEST_CASE("A short held-out text of masked text is evaluated, and patience ends with a loss") {
  const TrainScratch place;
  std::string words;
  for (int i = 0; i < 80; ++i)
    words += fmt::format("{} ", std::vector{"cat", "mat", "sat", "ran"}[static_cast<std::size_t>(i * i % 4)]);
  write_file(place / "text.txt", words);
  for (const int tokens : {2, 3, 5, 8}) {
    CAPTURE(tokens);
    std::string test;
    for (int i = 0; i < tokens; ++i) test += i % 2 ? " cat" : " mat";
    write_file(place / "test.txt", test.substr(1));
    write_file(place / "masked.yaml",
               "data: {task: masked_text, train: text.txt, test: test.txt, tokens: words, context: 8}\n"
               "model: {d_model: 8, heads: 2, layers: 1, mlp: 16}\n"
               "train: {steps: 6, batch_size: 4, evaluate_every: 1, patience: 2}\n"
               "dump: {every: 6}\n");
    const std::string run = fmt::format("of-{}", tokens);
    REQUIRE(place.error("train --quiet --config masked.yaml --out " + run) == "0: ");
    for (const Metrics& line : read_metrics(place / run)) CHECK(std::isfinite(line.held_out.loss));
  }
}

TEST_CASE("A set without any answer that the model can give is refused before training") {
  const Scratch scratch;
  Task task = make_task({.kind = TaskKind::coreference, .sentences = 60, .held_out = 20}, Random(1));
  write_jsonl(scratch / "train.jsonl", task.train);
  for (Example& example : task.held_out) example.answer = "newt";
  write_jsonl(scratch / "test.jsonl", task.held_out);
  CHECK(message([&] {
          make_experiment(
              parse_config(fmt::format("data: {{task: jsonl, unknown: token, train: {}, test: {}}}\n"
                                       "model: {{d_model: 8}}\n",
                                       (scratch / "train.jsonl").string(), (scratch / "test.jsonl").string()),
                           "f"));
        }) ==
        fmt::format(
            "the held-out set has {} examples, but no answer that the model can give; expected at least one whose "
            "word is in the training set, data.min_count times or more",
            task.held_out.size()));
}
