// Agreement heads (Ferrando and Costa-jussa 2024, arXiv:2410.06496): in Gemma 2B one attention head writes the number of the
// subject at the token before the verb, as a direction that English and Spanish share, and few neurons read it. Here a model
// of two layers learns agreement from generated sentences with a noun between subject and verb ("The keys near the table
// are"), and other sentences ("The keys that the girl liked are") take the place of the other language.
//   agreement [SEED [STEPS]]
#include <heed/explain/generated_pairs.h>
#include <heed/explain/intervention.h>
#include <heed/heed.h>
#include <heed/models/model.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

using namespace heed;

constexpr const char* nouns =
    "the key keys boy boys girl girls dog dogs cat cats car cars book books house houses teacher teachers doctor "
    "doctors friend friends student students author authors officer officers tree trees picture pictures window "
    "windows table tables building buildings child children";
constexpr int subject = 1, distractor = 4;  // tokens of "The keys near the table", from 0

Model untrained(std::uint64_t seed) {
  Model model;
  model.tokenizer = Tokenizer::of_text(Split::words);
  for (const char* text : {nouns, "The the near behind that liked is was has are were have", "Yesterday we heard"}) {
    for (const std::string& token : model.tokenizer(text)) model.vocabulary.add(token);
  }
  TransformerConfig shape = gpt2(2, 4, 64);
  shape.vocabulary = model.vocabulary.size(), shape.max_length = 8;
  model.build(Scope(model.parameters, seed), language_model(shape));
  return model;
}

// Sentences up to the verb, and the numbers of the verbs that agree with the subject and that do not.
struct Sentences {
  std::vector<TextPair> train{}, held_out{};  // no two nouns of held-out sentences stand together in training

  explicit Sentences(const Model& model) {
    const auto noun = [&](const Example& text, int token) { return model.vocabulary[text.tokens[token]] / 2; };
    for (const WrittenPair& pair : generate_pairs(model, Behaviour::agreement, {.count = 4500})) {
      TextPair read{question(model, pair.clean), question(model, pair.corrupted), {}, {}, pair.group};
      const auto ids = [&](const std::vector<std::string>& verbs) {
        std::vector<int> numbers;
        for (const std::string& verb : verbs) numbers.push_back(model.vocabulary[" " + verb]);
        return numbers;
      };
      read.right = ids(pair.answer), read.wrong = ids(pair.wrong);
      const bool has_two_nouns = pair.group != "simple";
      const bool is_held_out = has_two_nouns && (noun(read.clean, subject) + noun(read.clean, distractor)) % 5 == 0;
      (is_held_out ? held_out : train).push_back(std::move(read));
    }
  }
};

// Returns sentences with a verb, and the token that follows each token.
Batch draw(const Model& model, const std::vector<TextPair>& pairs, int count, Random& random) {
  const std::int64_t T = model.transformer().config.max_length;
  std::vector<std::int32_t> tokens, targets;
  for (int i = 0; i < count; ++i) {
    const TextPair& pair = pairs[static_cast<std::size_t>(random.below(std::ssize(pairs)))];
    const bool is_clean = random.below(2) == 0;
    const std::vector<int>& verbs = is_clean ? pair.right : pair.wrong;
    std::vector<std::int32_t> ids;
    for (const std::string& token : (is_clean ? pair.clean : pair.corrupted).tokens) {
      ids.push_back(model.vocabulary[token]);
    }
    ids.push_back(verbs[static_cast<std::size_t>(random.below(std::ssize(verbs)))]);
    for (std::int64_t t = 0; t < T; ++t) {
      tokens.push_back(t + 1 < std::ssize(ids) ? ids[static_cast<std::size_t>(t)] : 0);
      targets.push_back(t + 1 < std::ssize(ids) ? ids[static_cast<std::size_t>(t + 1)] : -1);
    }
  }
  return {.tokens = Ids({count, T}, tokens), .targets = Ids({count, T}, targets)};
}

// Held-out sentences of one length whose nouns differ in number, and the model's activations for them.
struct Conflicts {
  const Model* model;
  PairBatch pairs;
  Trace clean, corrupted;
  int last;                       // the token before the verb
  std::vector<bool> is_singular;  // the subject of each

  Conflicts(const Model& of, const PairBatch& batch)
      : model(&of),
        pairs(batch),
        clean(trace(of, batch.clean)),
        corrupted(trace(of, batch.corrupted)),
        last(static_cast<int>(batch.clean.tokens.shape()[1]) - 1) {
    for (std::int64_t b = 0; b < batch.clean.size(); ++b)
      is_singular.push_back(batch.clean.tokens.at({b, subject}) % 2 != 0);
  }
  // Returns the log odds of the right verbs: (B).
  Tensor log_odds_of_clean() const { return log_odds(clean.logits, pairs); }
  Tensor log_odds_under(const std::vector<Intervention>& interventions) const {
    return log_odds(logits_under(interventions, *model, pairs.clean), pairs);
  }
  // Returns the mean fall of the log odds when values at the last token are those of the corrupted sentence.
  double effect(const Place& place) const {
    return mean(log_odds_of_clean() - log_odds_under({patch(place.at(last), corrupted)})).item();
  }
  // Returns how much the log odds differ between both sentences.
  double whole() const { return mean(log_odds_of_clean() - log_odds(corrupted.logits, pairs)).item(); }
  // Returns the values of a head at the last token: (B, n) of (B, heads, T, n).
  Tensor at_last(const Tensor& values, int head) const {
    return reshape(slice(slice(values, 1, head, head + 1), 2, last, last + 1), {values.size(0), -1});
  }
  // Returns the mean output of a head for singular subjects minus that for plural ones: (d_v).
  Tensor number_direction(int layer, int head) const {
    const auto count = static_cast<double>(is_singular.size());
    const auto singular = static_cast<double>(std::ranges::count(is_singular, true));
    std::vector<double> weights;
    for (const bool each : is_singular) weights.push_back(each ? 1 / singular : -1 / (count - singular));
    const Tensor outputs = at_last(clean.layers[static_cast<std::size_t>(layer)].head_output, head);
    return sum(outputs * tensor({outputs.size(0), 1}, weights), {0});
  }
  // Returns the share of the right answers that are wrong when the number of the subject is changed along a direction in a head.
  double flipped(int layer, int head, const Tensor& direction) const {
    std::vector<std::vector<int>> singular, plural;  // the last token of these sentences
    for (const bool each : is_singular) {
      singular.push_back(each ? std::vector{last} : std::vector<int>{});
      plural.push_back(each ? std::vector<int>{} : std::vector{last});
    }
    const Place place = Place::head_output(layer, head);
    const Tensor changed =
        log_odds_under({steer(place.at_each(singular), direction, -1), steer(place.at_each(plural), direction, 1)});
    const Booleans right = log_odds_of_clean() > 0;
    return sum(tensor(right) * tensor(changed <= 0)).item() / sum(tensor(right)).item();
  }
};

int main(int argc, char** argv) {
  const std::uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  const int steps = argc > 2 ? std::atoi(argv[2]) : 800;
  const Model model = untrained(seed);
  const Sentences sentences(model);
  Random random(seed);
  Optimizer adam(model.parameters, {.method = OptimizerOptions::Method::adamw, .weight_decay = 0.01});
  const Schedule schedule{.kind = Schedule::Kind::cosine, .lr = 2e-3, .warmup = 50, .steps = steps};
  for (int step = 0; step < steps; ++step) {
    const Batch batch = draw(model, sentences.train, 64, random);
    const Recording recording;
    const Tensor loss = model.loss(batch);
    if (step % 200 == 0) fmt::print("step {:4}  loss {:.3f}\n", step, loss.item());
    adam.step(backward(loss), learning_rate(schedule, step));
  }

  const auto is_plural = [&](const Example& text, int token) { return model.vocabulary[text.tokens[token]] % 2 == 0; };
  std::vector<TextPair> conflicts;
  for (const TextPair& pair : sentences.held_out) {
    if (is_plural(pair.clean, subject) != is_plural(pair.clean, distractor)) conflicts.push_back(pair);
  }
  const std::vector<PairBatch> by_length = pair_batches(model, conflicts, conflicts.size());
  const Conflicts prepositions(model, by_length[0]), clauses(model, by_length[1]);  // of five and of six tokens
  int best_layer = 0, best_head = 0;
  double greatest = 0;
  for (int layer = 0; layer < model.layers(); ++layer) {
    for (int head = 0; head < model.heads(); ++head) {
      const double effect = prepositions.effect(Place::head_output(layer, head)) / prepositions.whole();
      fmt::print("layer {} head {}: {:.3f} of the effect\n", layer + 1, head + 1, effect);
      if (effect > greatest) greatest = effect, best_layer = layer, best_head = head;
    }
  }
  std::vector<double> of_neurons;
  double sum_of_neurons = 0;
  for (int layer = 0; layer < model.layers(); ++layer) {
    for (int neuron = 0; neuron < model.transformer().config.block.mlp.width; ++neuron) {
      of_neurons.push_back(std::max(0.0, clauses.effect(Place::neurons(layer, {neuron}))));
      sum_of_neurons += of_neurons.back();
    }
  }
  std::ranges::sort(of_neurons, std::greater());
  int neurons = 0;
  for (double sum = 0; sum < sum_of_neurons / 2; ++neurons) sum += of_neurons[static_cast<std::size_t>(neurons)];

  const Place head = Place::head_output(best_layer, best_head);
  const Tensor& weights = prepositions.clean.layers[static_cast<std::size_t>(best_layer)].weights;
  const Tensor of_head = mean(prepositions.at_last(weights, best_head), {0});
  fmt::print("\naccuracy {:.3f}\n", mean(tensor(clauses.log_odds_of_clean() > 0)).item());
  fmt::print("share of the best head {:.3f}, its weight on the subject {:.3f}, on the distractor {:.3f}\n", greatest,
             of_head.at({subject}), of_head.at({distractor}));
  fmt::print("its share in clauses {:.3f}\n", clauses.effect(head) / clauses.whole());
  fmt::print("answers in clauses that its direction flips {:.3f}\n",
             clauses.flipped(best_layer, best_head, prepositions.number_direction(best_layer, best_head)));
  fmt::print("neurons with half of the effect {} of {}\n", neurons, of_neurons.size());
}
