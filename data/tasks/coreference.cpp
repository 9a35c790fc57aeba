#include <heed/data/tasks/coreference.h>
#include <heed/data/tasks/generate.h>

namespace heed {
namespace {

constexpr std::string_view animals[] = {"animal", "dog",    "cat", "horse",  "cow",  "goat",
                                        "donkey", "rabbit", "fox", "monkey", "bear", "deer"};
constexpr std::string_view animal_adjectives[] = {"tired", "hungry", "sleepy", "thirsty", "scared",
                                                  "lazy",  "weak",   "sick",   "shy",     "nervous"};
constexpr std::string_view places[] = {"street", "road",   "bridge", "field", "park", "path",
                                       "square", "valley", "forest", "trail", "yard", "meadow"};
constexpr std::string_view place_adjectives[] = {"wide",    "muddy", "icy",   "slippery", "narrow",
                                                 "crowded", "steep", "foggy", "bumpy",    "windy"};

struct Verb {
  std::string_view base, participle;
};
constexpr Verb verbs[] = {{"cross", "crossed"},       {"enter", "entered"}, {"reach", "reached"},
                          {"explore", "explored"},    {"visit", "visited"}, {"search", "searched"},
                          {"approach", "approached"}, {"use", "used"}};

constexpr std::string_view shapes[] = {
    "The {animal} didn't {verb} the {place} because it was too {adjective}",
    "The {place} wasn't {verbed} by the {animal} because it was too {adjective}",
    "Because it was too {adjective} , the {animal} didn't {verb} the {place}",
    "Because it was too {adjective} , the {place} wasn't {verbed} by the {animal}",
    "Yesterday the {animal} didn't {verb} the {place} because it was too {adjective}",
    "Yesterday the {place} wasn't {verbed} by the {animal} because it was too {adjective}",
    "Because it was too {adjective} , the {animal} didn't {verb} the {place} yesterday",
    "Because it was too {adjective} , the {place} wasn't {verbed} by the {animal} yesterday"};

using Adjectives = std::vector<std::vector<int>>;  // by noun

std::vector<Example> sentences(const std::string& what, int count, const Adjectives& of_animals,
                               const Adjectives& of_places, int keep, const Random& random) {
  if (count % 2 != 0) fail("{}: expected an even number, as sentences come in pairs, got {}", what, count);
  const std::size_t choices = of_animals[0].size();  // the same for every noun
  const std::size_t pairs = std::size(shapes) * std::size(verbs) * std::size(animals) * std::size(places) * choices;
  std::vector<Example> result;
  for (const int code : draw(what + " (pairs)", count / 2, static_cast<std::int64_t>(pairs), keep, random)) {
    Digits digit{code};
    const std::size_t shape = digit(std::size(shapes)), verb = digit(std::size(verbs)),
                      animal = digit(std::size(animals)), place = digit(std::size(places)), choice = digit(choices);
    for (const bool tired : {true, false}) {  // the animal is tired, or the street is wide
      Example example;
      example.cue = tired ? animal_adjectives[of_animals[animal][choice]] : place_adjectives[of_places[place][choice]];
      example.tokens = fill(shapes[shape], {{"{animal}", animals[animal]},
                                            {"{place}", places[place]},
                                            {"{verb}", verbs[verb].base},
                                            {"{verbed}", verbs[verb].participle},
                                            {"{adjective}", example.cue}});
      example.query = index_of("it", example.tokens);
      example.answer = tired ? animals[animal] : places[place];
      example.antecedent = index_of(example.answer, example.tokens);
      example.distractor = index_of(tired ? places[place] : animals[animal], example.tokens);
      example.relation = "pronoun";
      example.counterpart = static_cast<int>(result.size()) + (tired ? 1 : -1);
      result.push_back(std::move(example));
    }
  }
  return result;
}

}  // namespace

Task coreference_task(int train_sentences, int held_out_sentences, const Random& random) {
  const int n = static_cast<int>(std::size(animals)), m = static_cast<int>(std::size(animal_adjectives));
  const PairSplit of_animals = split_pairs(n, m, random.stream("animals"));
  const PairSplit of_places = split_pairs(n, m, random.stream("places"));
  Task task;
  task.name = "coreference";
  task.train =
      sentences("data.sentences", train_sentences, of_animals.train, of_places.train, 0, random.stream("train"));
  task.held_out = sentences("data.held_out", held_out_sentences, of_animals.held_out, of_places.held_out, 1,
                            random.stream("held_out"));
  complete(task);
  return task;
}

}  // namespace heed
