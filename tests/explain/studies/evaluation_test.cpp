#include "tests/explain/studies/helpers.h"
#include "tests/message.h"

#include <heed/autograd/ops.h>
#include <heed/autograd/random.h>
#include <heed/explain/studies/evaluation.h>

#include <cmath>

using namespace heed;

namespace {

// A text of `count` words that small_model() knows.
std::string words(int count) {
  Random random(3);
  std::string text;
  for (int i = 0; i < count; ++i) text += tired_animal[static_cast<std::size_t>(random.below(11))] + " ";
  return text;
}

// 0, 0, 1, 1, ...: the groups of minimal pairs.
std::vector<int> pairs_of_numbers(int count) {
  std::vector<int> groups;
  for (int i = 0; i < count; ++i) groups.push_back(i / 2);
  return groups;
}

}  // namespace

TEST_CASE("student_t agrees with published tables") {
  const std::vector<std::pair<int, double>> table{{1, 12.706}, {2, 4.303}, {3, 3.182},  {4, 2.776},
                                                  {7, 2.365},  {8, 2.306}, {30, 2.042}, {120, 1.980}};
  for (const auto& [degrees, t] : table) CHECK(student_t(degrees) == Approx(t).margin(5e-4));
  // scipy.stats.t.ppf(1 - error / 2, degrees)
  CHECK(student_t(1, 0.05) == Approx(12.706204736174694).epsilon(1e-6));
  CHECK(student_t(4, 0.05) == Approx(2.7764451051977934).epsilon(1e-6));
  CHECK(student_t(29, 0.05) == Approx(2.0452296421327034).epsilon(1e-6));
  CHECK(student_t(1000, 0.01) == Approx(2.5807546980659506).epsilon(1e-6));
}

TEST_CASE("mean_of has the interval of Student's t over groups") {
  const std::vector<double> values{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  std::vector<int> each(12);
  for (int i = 0; i < 12; ++i) each[static_cast<std::size_t>(i)] = i;
  const Interval alone = mean_of(values, each);  // t.interval(0.95, 11, 6.5, std / sqrt(12)) of scipy
  CHECK(alone.share == Approx(6.5));
  CHECK(alone.low == Approx(4.2092).margin(1e-3));
  CHECK(alone.high == Approx(8.7908).margin(1e-3));
  std::vector<double> twice;
  std::vector<int> groups;
  for (int i = 0; i < 24; ++i) twice.push_back(values[static_cast<std::size_t>(i / 2)]), groups.push_back(i / 2);
  CHECK(mean_of(twice, groups).low == Approx(alone.low));  // equal values of a group count once
  for (int& group : each) group /= 2;
  CHECK((mean_of(values, each).share == Approx(6.5) && std::isnan(mean_of(values, each).low)));
  CHECK(std::isnan(mean_of({}, {}).share));
}

TEST_CASE("The accuracy of a text has the interval of shares, and a loss is never below 0") {
  // 24 predictions in 10 blocks, as evaluate_text() divides them; the model is right with a probability near 1
  Random random(5);
  for (const double right : {0.5, 0.97, 0.99}) {
    int held = 0;
    constexpr int texts = 400;
    for (int text = 0; text < texts; ++text) {
      std::vector<double> values;
      std::vector<int> blocks;
      for (int i = 0; i < 24; ++i) values.push_back(random.uniform() < right), blocks.push_back(i * 10 / 24);
      const Interval found = share_of_answers(values, blocks);
      held += found.low <= right && right <= found.high;
    }
    INFO(right);
    CHECK(held >= texts * 0.93);  // with Student's t over blocks 0.51 and 0.22 of the last two
  }
  const TextEvaluation found = evaluate_text(small_model(decoder_of(modern_config())), words(40));
  CHECK((found.loss.low >= 0 && found.accuracy.low >= 0 && found.accuracy.high <= 1));
  CHECK(share_of_answers(std::vector<double>(11, 1), {0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9}).low < 0.8);
}

TEST_CASE("evaluate_text names the Unicode normal form in which a word would be known") {
  ModelConfig config = language_model(small_config());
  config.transformer.causal = true, config.transformer.vocabulary = 2;
  Model model;
  model.vocabulary = Vocabulary({"caf\u00e9", "the"}), model.tokenizer = Tokenizer(Split::words);
  model.build(Scope(model.parameters, 1), config);
  CHECK(message([&] { evaluate_text(model, "the cafe\u0301"); }).find("write the text in NFC)") != std::string::npos);
}

TEST_CASE("share_of_answers has an interval within 0 and 1") {
  const Interval all = share_of_answers(std::vector<double>(20, 1), pairs_of_numbers(20));
  CHECK((all.share == 1 && all.low > 0.5 && all.low < 1 && all.high == 1));
  CHECK(std::isnan(share_of_answers({}, {}).share));
}

TEST_CASE("evaluate_text predicts each token once from those before it in its window") {
  const Model model = small_model(decoder_of(modern_config()));
  const std::string text = words(300);
  const TextEvaluation found = evaluate_text(model, text);
  CHECK((found.tokens == 300 && found.predictions == 299 && found.context == 12 && found.windows == 25));
  const std::vector<std::string> tokens = model.tokenizer(text);
  double sum = 0, right = 0;
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    const std::size_t first = i / 12 * 12;
    std::vector<std::int32_t> before;
    for (std::size_t t = first; t <= i; ++t) before.push_back(model.vocabulary[tokens[t]]);
    const auto count = std::ssize(before);
    const Tensor logits = reshape(slice(model.logits({.tokens = Ids({1, count}, before)}), 1, count - 1, count), {-1});
    const int next = model.vocabulary[tokens[i + 1]];
    sum += (logsumexp(logits) - slice(logits, 0, next, next + 1)).item();
    right += argmax(logits, 0)[0] == next;
  }
  CHECK(found.loss.share == Approx(sum / 299).epsilon(1e-5));
  CHECK(found.accuracy.share == Approx(right / 299));
  CHECK((found.loss.low < found.loss.share && found.loss.share < found.loss.high));
  CHECK(found.bits_per_byte == Approx(sum / std::log(2) / static_cast<double>(text.size())).epsilon(1e-5));
  CHECK(evaluate_text(model, text, 4).windows == 75);
  CHECK(std::isnan(evaluate_text(model, words(5)).loss.low));
}

TEST_CASE("evaluate_text names unknown tokens, and models and texts that it cannot evaluate") {
  const Model model = small_model(decoder_of(small_config()));
  CHECK(
      message([&] { evaluate_text(model, "the cat was wide"); }) ==
      "the model knows 14 words, but not these of the text: 'cat', 'wide'. Models with data.tokens: bytes or subwords "
      "know every text");
  CHECK(message([&] { evaluate_text(model, "the"); }) ==
        "the text has 1 token, of which none is predicted; expected more");
  CHECK(message([&] { evaluate_text(model, words(30), 13); }) ==
        "expected a context of at most 12 tokens, which the model reads, got 13");
  CHECK(message([&] { evaluate_text(small_model(), words(30)); }) ==
        "the model answers questions about sentences; only one that predicts tokens, such as GPT-2 or BERT, is "
        "evaluated on a text");
}

TEST_CASE("evaluate_answers counts right answers by relation, pairs and answers that a model cannot give") {
  Model model = small_model();
  std::vector<Example> examples = sentences();
  for (std::size_t i = 0; i < examples.size(); ++i) examples[i].relation = i == 1 ? "other" : "pair";
  const HeldOut asked(model, examples, any_number);
  double right = 0, loss = 0, both = 0;
  const std::vector<HeldOut::Answer> answers = asked.answers();
  for (std::size_t i = 0; i < answers.size(); ++i) {
    right += answers[i].word == asked.right(i);
    loss -= std::log(answers[i].probability) / 5;
    if (i < 4 && i % 2 == 1) {
      both += answers[i].word == asked.right(i) && answers[i - 1].word == asked.right(i - 1);
    }
  }
  const AnswerEvaluation found = evaluate_answers(model, examples);
  CHECK((found.sentences == 5 && found.pairs == 2 && found.without_answer == 0));
  CHECK(found.accuracy.share == Approx(right / 5));
  CHECK(found.both_of_pair.share == Approx(both / 2));
  CHECK(found.loss.share == Approx(loss));
  REQUIRE(found.groups.size() == 2);
  CHECK((found.groups[0].name == "other" && found.groups[0].sentences == 1));
  CHECK((found.groups[1].name == "pair" && found.groups[1].sentences == 4));

  model.vocabulary.let_stand_for_unknown("?");
  examples[1].answer = "cat";
  const AnswerEvaluation unknown = evaluate_answers(model, examples);
  CHECK((unknown.without_answer == 1 && unknown.sentences == 5));
  CHECK(std::isfinite(unknown.loss.share));
}
