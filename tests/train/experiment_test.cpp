#include "train/experiment.h"

#include "tests/catch.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/autograd/record.h>
#include <heed/files/file.h>
#include <heed/formats/datasets/jsonl.h>

#include <algorithm>
#include <map>
#include <set>

using namespace heed;

TEST_CASE("make_experiment creates the task, the model and the watched sentences of a configuration") {
  const Config config = parse_config(
      "seed: 3\ndata: {sentences: 40, held_out: 20}\nmodel: {d_model: 12, heads: 3, layers: 1, tie: Q_is_K}\n"
      "train: {batch_size: 7}\ndump: {sentences: 2}\n",
      "f");
  const Experiment e = make_experiment(config);
  CHECK(e.task.train.size() == 40);
  CHECK(e.model.transformer().config.vocabulary == e.task.vocabulary.size());
  CHECK(e.model.transformer().config.max_length == e.task.max_length);
  CHECK(e.model.transformer().config.block.attention.tie == Tie::Q_is_K);
  CHECK(e.model.queries == std::vector<std::string>{"it"});
  CHECK((e.watched.size() == 2 && e.watched[1] == e.task.held_out[1]));
  CHECK_FALSE(e.begun_from);
  const auto batch = training_batch(e, 5);
  CHECK(batch.lengths.size() == 7);
  const Experiment again = make_experiment(config, {.dtype = DType::float64});
  CHECK(again.model.parameters["words.weight"].dtype() == DType::float64);
  CHECK(again.model.parameters["words.weight"].at({0, 0}) ==
        Approx(e.model.parameters["words.weight"].at({0, 0})).epsilon(1e-6));
  CHECK(training_batch(again, 5).lengths == batch.lengths);
}

TEST_CASE("The task determines the class of the model, and the configuration its options") {
  const auto made = [](const std::string& data, const std::string& model) {
    return make_experiment(parse_config("data: " + data + "\nmodel: {d_model: 16, " + model + "}\n", "f"))
        .model.config();
  };
  const std::string sentences = "{sentences: 40, held_out: 20}";
  const auto word = made(sentences, "logits: untied, logit_cap: 3");
  CHECK(word.transformer.embedding_scale == 4);
  CHECK(!word.transformer.last_residual);
  CHECK_FALSE(word.transformer.causal);
  CHECK((!word.logits.tied && word.logits.bias && word.logits.soft_cap == 3));
  const auto either = made(sentences, "answer: candidate");
  CHECK((either.transformer.embedding_scale == 4 && !either.or_none));
  CHECK(!either.transformer.last_residual);
  CHECK(made(sentences, "answer: candidate_or_none").or_none);
  for (const char* answer : {"word", "candidate"}) {
    const ModelConfig model = made(sentences, "last_residual: true, answer: " + std::string(answer));
    CHECK(model.transformer.last_residual);
  }
  const auto next =
      made("{task: induction, context: 16, sentences: 40, held_out: 20}",
           "window: 5, norm_placement: both, soft_cap: 7, score_scale: 2, output_bias: false, normalised_heads: true, "
           "positions: rotary, rotary_base: 50, rotary_scaling: linear, rotary_factor: 3, logit_cap: 9");
  CHECK(next.transformer.causal);
  CHECK((next.transformer.embedding_scale == 1 && next.transformer.last_residual));
  CHECK((next.logits.tied && !next.logits.bias && next.logits.soft_cap == 9));
  CHECK((next.transformer.rotary.base == 50 && next.transformer.rotary.scaling == RotaryScaling::linear));
  const BlockConfig& block = next.transformer.block;
  CHECK(block.placement == NormPlacement::both);
  CHECK((block.attention.window == 5 && block.attention.soft_cap == 7 && block.attention.scale == 2));
  CHECK((!block.attention.output_bias && !block.mlp.bias));
  CHECK(block.attention.query_key_norm == QueryKeyNorm::heads);
}

TEST_CASE("The sentences of examples/mine.yaml are distinct, and the last word decides the antecedent") {
  const Experiment e = make_experiment(read_config("examples/mine.yaml"));
  const std::vector<Example> all = read_jsonl("examples/mine.jsonl");
  CHECK((all.size() >= 60 && all.size() <= 200));
  const std::set<std::string> of_the_content{"big", "large", "wide", "bulky"},
      of_the_holder{"small", "tiny", "narrow", "shallow"};
  std::set<std::vector<std::string>> different;
  for (const Example& example : all) {
    CAPTURE(example.tokens);
    const auto& words = example.tokens;
    CHECK(words[static_cast<std::size_t>(example.query)] == "it");
    CHECK(std::ranges::count(words, "it") == 1);
    const std::string& cue = words.back();
    CHECK(of_the_content.contains(cue) + of_the_holder.contains(cue) == 1);
    // The content comes first, except in "The HOLDER cannot hold the CONTENT".
    const bool holder_first = words[2] == "cannot";
    const std::vector<std::string> holders{"suitcase", "bag", "box", "drawer", "basket", "crate"};
    const auto first = std::ranges::find_first_of(words, holders);
    const bool means_holder = std::ranges::find(holders, example.answer) != holders.end();
    CHECK(means_holder == of_the_holder.contains(cue));
    CHECK((holder_first ? first - words.begin() == 1 : first - words.begin() > 1));
    different.insert(words);
  }
  CHECK(different.size() == all.size());
  CHECK(e.held_out.size() == 20);
  for (std::int64_t i = 0; i < e.held_out.size(); ++i) CHECK(e.held_out.counterpart(i) >= 0);
  REQUIRE(e.watched.size() == 2);
  CHECK(e.watched[0].answer == "trophy");
  CHECK(e.watched[1].answer == "suitcase");
}

TEST_CASE("The message for unknown words in probes names each word and its sentence") {
  const std::string probes =
      "probes: [{text: The quokka slept because it was tired, query: it, antecedent: quokka}, "
      "{text: The bilby it, query: it, antecedent: bilby}]\n";
  const std::string said = message([&] { make_experiment(parse_config(probes, "f")); });
  CHECK(said.starts_with("probes: sentence 1: not among the 73 words that the model knows: 'quokka'"));
  CHECK(said.find("\nprobes: sentence 2: not among the 73 words that the model knows: 'bilby'") != std::string::npos);
  CHECK(said.ends_with(
      "\nWrite probes in words of the coreference task, or watch none of your own with --set probes=[]"));
}

TEST_CASE("The loss is exactly the cross-entropy of the answers, without a term for attention weights") {
  const char* kind = GENERATE("word", "candidate");
  CAPTURE(kind);
  const Experiment e = make_experiment(
      parse_config(fmt::format("data: {{sentences: 40, held_out: 20}}\nmodel: {{answer: {}}}\n", kind), "f"));
  const auto batch = training_batch(e, 0);
  const auto bits = [&](const auto& loss_of) {
    const Recording recording;
    const Tensor loss = loss_of();
    const Gradients gradients = backward(loss);
    std::vector<double> values = loss.to_vector();
    for (const auto& [name, parameter] : e.model.parameters) {
      for (const double value : gradients[parameter].to_vector()) values.push_back(value);
    }
    return values;
  };
  const Model& model = e.model;
  const std::vector<double> of_loss = bits([&] { return model.loss(batch); });
  CHECK(of_loss.size() > 1000);
  CHECK(of_loss ==
        bits([&] { return cross_entropy(model.run(batch, {.compute = Compute::query}).logits, model.labels(batch)); }));
}

TEST_CASE("With answer: candidate, the antecedent and the distractor of coreference are candidates") {
  const Experiment e = make_experiment(
      parse_config("data: {sentences: 40, held_out: 20}\nmodel: {answer: candidate}\ndump: {sentences: 1}\n"
                   "probes: [{text: \"The [animal] didn't cross the [street] because it was too tired\", query: it, "
                   "antecedent: animal}]",
                   "f"));
  CHECK(e.task.train[0].candidates.size() == 2);
  const auto batch = training_batch(e, 0);
  CHECK(e.model.logits(batch).size(1) == 2);
  CHECK(evaluate(e).accuracy > 0.2);  // chance: 0.5 for two candidates, below 0.02 for 73 words
  REQUIRE(e.watched.size() == 1);
  CHECK(e.watched[0].tokens.size() == 11);
  CHECK(e.watched[0].candidates == std::vector<Span>{{1, 2}, {5, 6}});
  CHECK(e.watched[0].chosen == 0);
}

TEST_CASE("make_experiment refuses sentences with a single candidate or without a right candidate") {
  const Scratch scratch;
  const auto write = [&](const char* name, const char* candidates, const char* antecedent) {
    write_file(scratch / name,
               fmt::format(R"({{"tokens": ["the", "cat", "bit", "the", "dog", "as", "it", "was", "{}"], "query": 6, )"
                           R"("candidates": {}, "antecedent": {}}})"
                           "\n",
                           name, candidates, antecedent));  // so that the files share no sentence
  };
  const auto told = [&](const char* train, const char* test) {
    return message(
        [&] {
          make_experiment(parse_config(
              fmt::format("data: {{task: candidates, train: {}, test: {}}}\nmodel: {{d_model: 8, answer: candidate}}\n",
                          (scratch / train).string(), (scratch / test).string()),
              "f"));
        },
        scratch.path.string());
  };
  write("two", "[[0, 2], [3, 5]]", "0");
  write("one", "[[0, 2]]", "0");
  write("none", "[[0, 2], [3, 5]]", "null");
  CHECK(told("one", "two").starts_with("FILE/one:1 has one candidate; expected two or more"));
  CHECK(told("two", "one").starts_with("FILE/one:1 has one candidate"));
  CHECK(told("none", "two").starts_with("FILE/none:1 has no correct candidate"));
  CHECK(told("two", "none").starts_with("FILE/none:1 has no correct candidate"));
}
