#include "run/bag_of_words.h"

#include "tests/catch.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/data/overlap.h>
#include <heed/files/file.h>
#include <heed/files/safetensors.h>

#include <cmath>
#include <map>

using namespace heed;

namespace {

// "cup hid jam it WORD": candidates are the cup and the jam.
Example asked(const std::string& word, int chosen, const std::string& second = "jam") {
  Example example{.tokens = {"cup", "hid", second, "it", word}, .query = 3, .candidates = {{0, 1}, {2, 3}}};
  choose(example, chosen);
  return example;
}

Vocabulary words() {
  Vocabulary result;
  result.let_stand_for_unknown("<unk>");
  for (const char* word : {"cup", "hid", "jam", "it", "big", "tiny", "was", "tea"}) result.add(word);
  return result;
}

}  // namespace

TEST_CASE("A bag of words learns which word speaks for which place, and which candidate is meant often") {
  std::vector<Example> training;
  for (int i = 0; i < 30; ++i) {
    training.push_back(asked("big", 0));
    training.push_back(asked("tiny", 1));
    training.push_back(asked("was", 1, "tea"));
  }
  const BagOfWords bag(training, words());
  const std::vector<Example> test{asked("big", 0), asked("tiny", 0), asked("was", 0, "tea")};
  CHECK(bag.answers(test, words()) == std::vector<int>{0, 1, 1});
  Example turned = asked("big", 0);  // the place counts, not the number
  std::swap(turned.candidates[0], turned.candidates[1]);
  CHECK(bag.answers({turned}, words()) == std::vector<int>{1});
}

TEST_CASE("A bag of words takes examples with more and with fewer candidates, and no examples") {
  std::vector<Example> training;
  for (int i = 0; i < 30; ++i) {
    training.push_back(asked("big", 0));
    Example three = asked("tiny", 0);
    three.candidates.push_back({1, 2});
    choose(three, 2);
    training.push_back(three);
  }
  const BagOfWords bag(training, words());
  // "tiny" speaks for a third, which the last has not.
  CHECK(bag.answers({training[0], training[1], asked("tiny", 0)}, words())[1] == 2);
  CHECK(bag.answers({training[0], training[1], asked("tiny", 0)}, words())[2] < 2);
  CHECK(bag.answers({training[0]}, words()) == std::vector<int>{0});
  CHECK(bag.answers({}, words()).empty());
}

TEST_CASE("A bag of words is at the minimum of its loss") {
  // Two places, one word that alone tells them apart in 3 of 4: by symmetry the logit's difference d solves
  // d / (2 N) * (share of squares) = p - sigmoid(d); here it is only asked that the likelihood is nearly 3 / 4.
  std::vector<Example> training;
  for (int i = 0; i < 200; ++i) {
    training.push_back(asked("big", i % 4 == 0));
    training.push_back(asked("tiny", i % 4 != 0));
  }
  const Scratch scratch;
  Baselines::write(scratch.path, training, words());
  const SafeTensors content = read_safetensors(baselines_path(scratch.path));
  const std::map<std::string, Tensor> tensors(content.tensors.begin(), content.tensors.end());
  const Tensor& place = tensors.at("place");
  const Tensor& own = tensors.at("own");
  double difference = own.at({1, 0}) - own.at({3, 0});  // cup, jam
  for (const std::string word : {"cup", "hid", "jam", "it", "big"}) {
    difference += place.at({words()[word], 0}) - place.at({words()[word], 1});
  }
  CHECK(difference == Approx(std::log(3.0)).margin(0.05));
}

TEST_CASE("Where some answers are none of the candidates, a bag of words can say so") {
  std::vector<Example> training;
  for (int i = 0; i < 30; ++i) {
    training.push_back(asked("big", 0));
    training.push_back(asked("tiny", -1));
  }
  CHECK(BagOfWords(training, words()).answers({asked("big", 0), asked("tiny", 0)}, words()) == std::vector<int>{0, -1});
}

TEST_CASE("Baselines are kept in the run, with the sentences that training knows") {
  const Scratch scratch;
  const std::vector<Example> training{asked("big", 0), asked("tiny", -1)};
  CHECK(message([&] { Baselines::read(scratch.path); }, scratch.path.string())
            .starts_with("FILE/baselines.safetensors: is missing; "));
  Baselines::write(scratch.path, training, words());
  const Baselines read = Baselines::read(scratch.path);
  CHECK(read.training == sentence_numbers(training));
  const std::vector<Example> test{asked("big", 0), asked("was", 0), asked("tiny", 1)};
  CHECK(read.bag.answers(test, words()) == BagOfWords(training, words()).answers(test, words()));

  const std::string file = baselines_path(scratch.path).string();
  const SafeTensors whole = read_safetensors(file);
  const auto said = [&](const auto& change) {
    SafeTensors content = whole;
    change(content);
    write_safetensors(file, content);
    return message([&] { Baselines::read(scratch.path); }, file);
  };
  CHECK(said([](SafeTensors&) {}) == "no error");
  CHECK(said([](SafeTensors& content) { content.metadata["heed.sentences"] = "[\"12xy\"]"; }) ==
        "FILE: holds no baselines of a run: '12xy' is no sentence's number");
  CHECK(said([](SafeTensors& content) {
          for (auto& [name, tensor] : content.tensors) tensor = zeros({3, 2});
        }) == "FILE: holds no baselines of a run: place (3, 2) and own (3, 2) do not fit");
  CHECK(
      said([](SafeTensors& content) { content.metadata.clear(); }).starts_with("FILE: holds no baselines of a run: "));
  write_file(baselines_path(scratch.path), "no tensors");
  CHECK(message([&] { Baselines::read(scratch.path); }) != "no error");
}
