#include "explain/internal/pair_words.h"

namespace heed {
namespace {

using Words = std::vector<std::string>;

PairVocabulary english_ioi() {
  return {.templates = {{"when", "When {A} and {B} went to the {place}, {S} gave a {object} to", "."},
                        {"after", "After {A} and {B} met at the {place}, {S} handed a {object} to", "."},
                        {"while", "While {A} and {B} were at the {place}, {S} showed a {object} to", "."},
                        {"then", "Then {A} and {B} found a {object} at the {place}, and {S} gave it to", "."}},
          .people = {"Mary",   "John",   "Tom",       "James",   "Dan",   "Sarah",  "Michael", "Emily",  "Anna",
                     "Paul",   "Mark",   "David",     "Robert",  "Lisa",  "Kate",   "Susan",   "Peter",  "George",
                     "Jack",   "Alice",  "Laura",     "Steve",   "Kevin", "Jason",  "Amy",     "Rachel", "Matthew",
                     "Andrew", "Justin", "Joseph",    "Alex",    "Simon", "Martin", "Richard", "Adam",   "Eric",
                     "Ryan",   "Brian",  "Daniel",    "Jessica", "Helen", "Sam",    "Ben",     "Henry",  "William",
                     "Jane",   "Ruth",   "Elizabeth", "Charles"},
          .swapped = {},
          .slots = {{"place",
                     "places",
                     {"store", "park", "school", "garden", "hospital", "restaurant", "station", "library", "office",
                      "market", "beach"}},
                    {"object",
                     "objects",
                     {"drink", "book", "ring", "letter", "ball", "key", "phone", "ticket", "gift", "basket", "computer",
                      "flower"}}},
          .before = "to"};
}

PairVocabulary chinese_ioi() {
  return {.templates = {{"之后", "老{A}和老{B}去了{place}之后，老{S}把{object}送给了老", "。"},
                        {"时候", "老{A}和老{B}在{place}的时候，老{S}把{object}递给了老", "。"},
                        {"然后", "昨天老{A}和老{B}在{place}见面，然后老{S}把{object}交给了老", "。"}},
          .people = {"张", "李", "王", "刘", "陈", "杨", "赵", "黄", "周", "吴",
                     "徐", "孙", "胡", "朱", "高", "林", "何", "郭", "马", "罗"},
          .swapped = {},
          .slots = {{"place", "places", {"商店", "公园", "学校", "花园", "医院", "餐厅", "车站", "市场"}},
                    {"object", "objects", {"一本书", "一封信", "一把伞", "一张票", "一支笔", "一束花", "一把钥匙"}}},
          .before = "老"};
}

PairVocabulary greater_than(PairLanguage language) {
  if (language == PairLanguage::chinese) {
    return {
        .templates = {{"持续", "这场{event}从{C}{Y}年持续到{C}", ""}, {"开始", "{event}开始于{C}{Y}年，结束于{C}", ""}},
        .people = {},
        .swapped = {},
        .slots = {{"event", "events", {"战争", "冲突", "运动", "改革", "谈判", "危机", "革命", "起义"}}},
        .before = ""};
  }
  return {.templates = {{"lasted", "The {event} lasted from the year {C}{Y} to the year {C}", ""},
                        {"began", "The {event} began in {C}{Y} and ended in {C}", ""}},
          .people = {},
          .swapped = {},
          .slots = {{"event",
                     "events",
                     {"war", "conflict", "campaign", "crisis", "debate", "dispute", "expedition", "journey", "marriage",
                      "project", "rebellion", "revolution", "siege", "strike", "trial"}}},
          .before = ""};
}

PairVocabulary english_agreement() {
  const Words one{"is", "was", "has"}, many{"are", "were", "have"};
  PairVocabulary result{.templates = {{"near", "The {X} near the {other}", " old."},
                                      {"behind", "The {X} behind the {other}", " old."},
                                      {"that", "The {X} that the {other} liked", " old."},
                                      {"simple", "Yesterday we heard that the {X}", " old."}},
                        .people = {},
                        .swapped = {},
                        .slots = {{"other", "nouns", {}}},
                        .before = "the"};
  for (const auto& [noun, nouns] : std::initializer_list<std::pair<const char*, const char*>>{
           {"key", "keys"},         {"boy", "boys"},         {"girl", "girls"},         {"dog", "dogs"},
           {"cat", "cats"},         {"car", "cars"},         {"book", "books"},         {"house", "houses"},
           {"teacher", "teachers"}, {"doctor", "doctors"},   {"friend", "friends"},     {"student", "students"},
           {"author", "authors"},   {"officer", "officers"}, {"tree", "trees"},         {"picture", "pictures"},
           {"window", "windows"},   {"table", "tables"},     {"building", "buildings"}, {"child", "children"}}) {
    result.swapped.push_back({noun, nouns, one, many});
    for (const char* other : {noun, nouns}) result.slots[0].words.push_back(other);
  }
  return result;
}

// Nouns agree with a classifier instead of a verb. Nouns of one row have one classifier.
PairVocabulary chinese_agreement() {
  PairVocabulary result{.templates = {{"很多", "这里的{X}很多，我买了一", "。"},
                                      {"喜欢", "他喜欢{X}，所以买了一", "。"},
                                      {"没有", "我家没有{X}，想要一", "。"}},
                        .people = {},
                        .swapped = {},
                        .slots = {},
                        .before = "一"};
  const std::vector<std::pair<const char*, Words>> classifiers{{"本", {"书", "小说", "词典", "杂志"}},
                                                               {"辆", {"车", "汽车", "卡车"}},
                                                               {"匹", {"马"}},
                                                               {"件", {"衣服", "毛衣", "大衣"}},
                                                               {"张", {"纸", "桌子", "地图"}},
                                                               {"把", {"刀", "椅子", "雨伞"}},
                                                               {"支", {"笔", "铅笔"}},
                                                               {"朵", {"花", "玫瑰"}},
                                                               {"棵", {"树", "松树"}},
                                                               {"台", {"电脑", "电视"}}};
  for (const auto& [one, nouns] : classifiers) {
    for (const auto& [other, others] : classifiers) {
      if (std::string(one) >= other) continue;
      for (const std::string& noun : nouns) {
        for (const std::string& second : others) {
          if (noun.size() == second.size()) result.swapped.push_back({noun, second, {one}, {other}});
        }
      }
    }
  }
  return result;
}

// Returns women and men who replace each other, and the pronouns for them.
std::vector<WordPair> answered_by(std::initializer_list<std::pair<const char*, const char*>> people, const char* she,
                                  const char* he) {
  std::vector<WordPair> pairs;
  for (const auto& [woman, man] : people) pairs.push_back({woman, man, {she}, {he}});
  return pairs;
}

PairVocabulary english_gender() {
  return {.templates = {{"because", "Yesterday the {X} went to the {place} because", " was tired."},
                        {"said", "At the {place}, the {X} said that", " was tired."},
                        {"when", "The {X} left the {place} when", " was tired."}},
          .people = {},
          .swapped = answered_by({{"woman", "man"},
                                  {"girl", "boy"},
                                  {"mother", "father"},
                                  {"sister", "brother"},
                                  {"queen", "king"},
                                  {"wife", "husband"},
                                  {"daughter", "son"},
                                  {"aunt", "uncle"},
                                  {"lady", "gentleman"},
                                  {"princess", "prince"},
                                  {"actress", "actor"},
                                  {"mom", "dad"},
                                  {"niece", "nephew"},
                                  {"bride", "groom"}},
                                 "she", "he"),
          .slots = {{"place",
                     "places",
                     {"store", "park", "school", "garden", "hospital", "restaurant", "station", "library", "office",
                      "market", "beach"}}},
          .before = "because"};
}

PairVocabulary chinese_gender() {
  return {.templates = {{"因为", "昨天{X}去了{place}，因为", "累了。"},
                        {"说", "在{place}，{X}说", "累了。"},
                        {"以后", "{X}离开{place}以后，", "累了。"}},
          .people = {},
          .swapped = answered_by({{"妈妈", "爸爸"},
                                  {"女孩", "男孩"},
                                  {"奶奶", "爷爷"},
                                  {"姐姐", "哥哥"},
                                  {"妹妹", "弟弟"},
                                  {"女人", "男人"},
                                  {"母亲", "父亲"},
                                  {"女王", "国王"},
                                  {"公主", "王子"},
                                  {"女士", "先生"},
                                  {"女儿", "儿子"},
                                  {"妻子", "丈夫"}},
                                 "她", "他"),
          .slots = {{"place", "places", {"商店", "公园", "学校", "花园", "医院", "餐厅", "车站", "市场"}}},
          .before = "，"};
}

}  // namespace

PairVocabulary pair_vocabulary(Behaviour behaviour, PairLanguage language) {
  const bool is_chinese = language == PairLanguage::chinese;
  switch (behaviour) {
    case Behaviour::ioi:
      return is_chinese ? chinese_ioi() : english_ioi();
    case Behaviour::agreement:
      return is_chinese ? chinese_agreement() : english_agreement();
    case Behaviour::gender:
      return is_chinese ? chinese_gender() : english_gender();
    case Behaviour::greater_than:
      return greater_than(language);
    case Behaviour::induction:
      break;
  }
  return {};
}

}  // namespace heed
