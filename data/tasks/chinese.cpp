#include <heed/data/tasks/chinese.h>
#include <heed/data/tasks/generate.h>

#include <array>

namespace heed {
namespace {

struct Kind {
  std::array<std::string_view, 12> nouns;
  std::array<std::string_view, 10> adjectives;
};
constexpr std::size_t kinds = 3, nouns_a_kind = 12, animal = 1, place = 2;  // kind 0: fruit
constexpr std::array<Kind, kinds> language = {
    {{{"苹果", "柠檬", "西瓜", "葡萄", "桃子", "橘子", "草莓", "香蕉", "芒果", "樱桃", "李子", "菠萝"},
      {"甜", "酸", "苦", "涩", "脆", "软", "香", "新鲜", "便宜", "熟"}},
     {{"小狗", "小猫", "小马", "小牛", "小羊", "小鹿", "小熊", "小猪", "兔子", "狐狸", "猴子", "鸭子"},
      {"累", "饿", "困", "渴", "胆小", "紧张", "懒", "虚弱", "害羞", "难受"}},
     {{"马路", "街道", "大桥", "田野", "公园", "小路", "广场", "山谷", "树林", "草地", "院子", "小河"},
      {"宽", "窄", "泥泞", "滑", "拥挤", "崎岖", "陡", "黑", "荒凉", "远"}}}};

constexpr std::string_view verbs[] = {"过", "穿过", "经过", "走进", "靠近", "探索"};

constexpr std::string_view pronoun_shapes[] = {"{animal} 没有 {verb} {place} ， 因为 它 太 {adjective} 了",
                                               "{place} ， {animal} 没有 {verb} ， 因为 它 太 {adjective} 了",
                                               "因为 它 太 {adjective} 了 ， {animal} 没有 {verb} {place}",
                                               "因为 它 太 {adjective} 了 ， {place} ， {animal} 没有 {verb}"};
constexpr std::string_view single_shapes[] = {"{noun} 很 {adjective}", "很 {adjective} 的 {noun}",
                                              "{noun} 太 {adjective} 了", "这个 {noun} 真 {adjective}"};
constexpr std::string_view double_shapes[] = {"{noun} 很 {adjective} ， {noun2} 很 {adjective2}",
                                              "{noun} 很 {adjective} ， 但是 {noun2} 太 {adjective2} 了",
                                              "很 {adjective} 的 {noun} 和 很 {adjective2} 的 {noun2}"};

using Adjectives = std::array<std::vector<std::vector<int>>, kinds>;  // by kind and noun

struct Pair {
  std::string_view noun, adjective;
};

Pair choose(const Adjectives& adjectives, std::size_t kind, std::size_t noun, std::size_t choice) {
  const std::size_t adjective = static_cast<std::size_t>(adjectives[kind][noun][choice]);
  return {language[kind].nouns[noun], language[kind].adjectives[adjective]};
}

Example question(const std::vector<std::string>& tokens, const char* relation, std::string_view query,
                 std::string_view answer, std::string_view distractor = "") {
  Example example;
  example.tokens = tokens;
  example.query = index_of(query, tokens);
  example.antecedent = index_of(answer, tokens);
  if (!distractor.empty()) example.distractor = index_of(distractor, tokens);
  example.answer = answer;
  example.relation = relation;
  return example;
}

void ask_pronoun(std::vector<Example>& set, const Adjectives& adjectives, int code) {
  Digits digit{code};
  const std::size_t shape = digit(std::size(pronoun_shapes)), verb = digit(std::size(verbs)), i = digit(nouns_a_kind),
                    j = digit(nouns_a_kind), choice = digit(adjectives[animal][i].size());
  const Pair animal_pair = choose(adjectives, animal, i, choice), place_pair = choose(adjectives, place, j, choice);
  for (const bool tired : {true, false}) {
    const auto [noun, adjective] = tired ? animal_pair : place_pair;
    const std::string_view distractor = (tired ? place_pair : animal_pair).noun;
    const std::vector<std::string> tokens = fill(pronoun_shapes[shape], {{"{animal}", animal_pair.noun},
                                                                         {"{place}", place_pair.noun},
                                                                         {"{verb}", verbs[verb]},
                                                                         {"{adjective}", adjective}});
    set.push_back(question(tokens, "pronoun", "它", noun, distractor));
    set.back().cue = adjective;
    set.push_back(question(tokens, "adjective", adjective, noun, distractor));
    set.push_back(question(tokens, "noun", noun, adjective));
  }
}

void ask_single(std::vector<Example>& set, const Adjectives& adjectives, int code) {
  Digits digit{code};
  const std::size_t shape = digit(std::size(single_shapes)), kind = digit(kinds), i = digit(nouns_a_kind);
  const auto [noun, adjective] = choose(adjectives, kind, i, digit(adjectives[kind][i].size()));
  const auto tokens = fill(single_shapes[shape], {{"{noun}", noun}, {"{adjective}", adjective}});
  set.push_back(question(tokens, "adjective", adjective, noun));
  set.push_back(question(tokens, "noun", noun, adjective));
}

// Chooses two different nouns and two different adjectives.
void ask_double(std::vector<Example>& set, const Adjectives& adjectives, int code) {
  Digits digit{code};
  const std::size_t choices = adjectives[0][0].size(), shape = digit(std::size(double_shapes)), k1 = digit(kinds),
                    k2 = digit(kinds), i1 = digit(nouns_a_kind);
  const Pair a = choose(adjectives, k1, i1, digit(choices));
  const std::size_t i2 = (i1 + 1 + digit(nouns_a_kind - 1)) % nouns_a_kind;
  Pair b = choose(adjectives, k2, i2, digit(choices - 1));
  // an adjective that is otherwise not chosen
  if (a.adjective == b.adjective) b = choose(adjectives, k2, i2, choices - 1);
  const auto tokens =
      fill(double_shapes[shape],
           {{"{noun}", a.noun}, {"{adjective}", a.adjective}, {"{noun2}", b.noun}, {"{adjective2}", b.adjective}});
  for (const auto& [pair, distractor] : {std::pair{a, b}, std::pair{b, a}}) {
    set.push_back(question(tokens, "adjective", pair.adjective, pair.noun, distractor.noun));
    set.push_back(question(tokens, "noun", pair.noun, pair.adjective, distractor.adjective));
  }
}

std::vector<Example> examples(const std::string& what, int count, const Adjectives& adjectives, int keep,
                              const Random& random) {
  constexpr int unit = 18;  // one single sentence, two minimal pairs with 它, and a double sentence
  const int units = (count + unit - 1) / unit;
  const std::size_t choices = adjectives[0][0].size();
  const auto codes = [&](const char* name, int sentences, int kept, std::size_t space) {
    return draw(fmt::format("{} (sentences, {})", what, name), sentences, static_cast<std::int64_t>(space), kept,
                random.stream(name));
  };
  const std::size_t cells = nouns_a_kind * choices;
  const auto singles = codes("single", units, keep, std::size(single_shapes) * kinds * cells);
  const auto pronouns =
      codes("pronoun", 2 * units, 0, std::size(pronoun_shapes) * std::size(verbs) * nouns_a_kind * cells);
  const auto doubles =
      codes("double", units, 0, std::size(double_shapes) * kinds * kinds * cells * (nouns_a_kind - 1) * (choices - 1));
  std::vector<Example> set;
  for (std::size_t i = 0; i < singles.size(); ++i) {
    ask_single(set, adjectives, singles[i]);
    ask_pronoun(set, adjectives, pronouns[2 * i]);
    ask_pronoun(set, adjectives, pronouns[2 * i + 1]);
    ask_double(set, adjectives, doubles[i]);
  }
  set.resize(static_cast<std::size_t>(count));
  pair_counterparts(set);
  return set;
}

}  // namespace

Task chinese_task(int train_examples, int held_out_examples, const Random& random) {
  Adjectives train, held_out;
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    const int adjectives = static_cast<int>(language[kind].adjectives.size());
    PairSplit split = split_pairs(nouns_a_kind, adjectives, random.stream(kind));
    train[kind] = std::move(split.train);
    held_out[kind] = std::move(split.held_out);
  }
  Task task;
  task.name = "chinese";
  task.train = examples("data.sentences", train_examples, train, 0, random.stream("train"));
  task.held_out = examples("data.held_out", held_out_examples, held_out, 1, random.stream("held_out"));
  complete(task);
  return task;
}

}  // namespace heed
