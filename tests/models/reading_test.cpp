#include "tests/catch.h"
#include "tests/message.h"
#include "tests/models/sample.h"
#include "tests/tokenizers/small_tokenizer.h"

#include <heed/formats/datasets/text.h>
#include <heed/models/reading.h>

#include <algorithm>

using namespace heed;

namespace {

const Vocabulary& known_words() {
  static const Vocabulary all = [] {
    Vocabulary result;
    result.let_stand_for_unknown("<unk>");
    for (const char* word : {"the", "cup", "jam", "it"}) result.add(word);
    return result;
  }();
  return all;
}

struct Answering {
  Parameters parameters;
  Model model;
  explicit Answering(const ModelConfig& config) : model(Scope(parameters, 1), config) {
    model.vocabulary = known_words();
  }
};

TransformerConfig of_known_words() {
  return {.vocabulary = known_words().size(), .max_length = 6, .block = {.attention = {.d_model = 4}}};
}

// Returns "the cup the jam it" with this number of candidates; `chosen` is the correct one, or -1.
Example choice(int chosen, std::size_t candidates = 2) {
  Example example{.tokens = {"the", "cup", "the", "jam", "it"}, .query = 4, .candidates = {{0, 2}, {2, 4}, {3, 4}}};
  example.candidates.resize(candidates);
  choose(example, chosen);
  return example;
}

std::vector<int> numbers_of(const Ids& ids) { return {ids.data(), ids.data() + ids.numel()}; }

}  // namespace

TEST_CASE("The correct answer is a candidate's index; (none) is the index after the last, or -1") {
  const std::vector<Example> examples{choice(1), choice(-1), choice(2, 3)};
  const Batch batch = NumberedExamples(examples, known_words()).batch(0, 3);
  const Answering either(chooser_of(of_known_words())), or_none(chooser_of(of_known_words(), true));
  CHECK(numbers_of(either.model.labels(batch)) == std::vector<int>{1, -1, 2});
  CHECK(numbers_of(or_none.model.labels(batch)) == std::vector<int>{1, 3, 2});
  CHECK(right_answer(either.model, examples[0]) == 1);
  CHECK(right_answer(either.model, examples[1]) == -1);
  CHECK(right_answer(or_none.model, examples[1]) == 2);
  CHECK(answer_text(or_none.model, examples[1], 1) == "the jam");
  CHECK(answer_text(or_none.model, examples[1], 2) == "(none)");

  const Batch without = NumberedExamples({choice(1, 2), choice(0, 2)}, known_words()).batch(0, 2);
  Batch unmarked = without;
  unmarked.candidates = {};
  CHECK(message([&] { either.model.labels(unmarked); }) ==
        "the model chooses among candidates; expected examples with candidates");
}

TEST_CASE("The correct answer is a word's index, or -1 for an unknown word") {
  const Answering word(answerer_of(of_known_words()));
  Example example{.tokens = {"the", "cup", "it"}, .query = 2, .answer = "cup"};
  const Batch batch = NumberedExamples({example}, known_words()).batch(0, 1);
  CHECK(numbers_of(word.model.labels(batch)) == std::vector<int>{2});
  CHECK(right_answer(word.model, example) == 2);
  CHECK(answer_text(word.model, example, 2) == "cup");
  example.answer = "tea";
  CHECK(right_answer(word.model, example) == -1);
}

TEST_CASE("question() selects the last query word of a sentence, or the word that the user names") {
  const Model model = small_model();
  CHECK(question(model, "The animal didn't cross the street because it was too tired").query == 7);
  CHECK(question(model, "it was because it was tired").query == 3);
  CHECK(question(model, "The animal didn't cross the street because it was too tired", "street").query == 5);
  CHECK(message([&] { question(model, "The animal was tired"); }) ==
        "the sentence contains none of the model's query words (it); choose one with --query");
  Model without = small_model();
  without.queries = {};
  CHECK(message([&] { question(without, "The animal was tired"); }) ==
        "the model has no query words; name the word to ask about with --query");
  CHECK(message([&] { question(model, "The animal was tired", "animl"); }) ==
        "the sentence does not contain the token 'animl' (did you mean 'animal'?); its tokens: The animal was tired");
  CHECK(message([&] { question(model, "  "); }) == "the sentence is empty");
  const std::string known = "The animal was tired because it was tired";
  Model without_stop = small_model();
  without_stop.vocabulary = Vocabulary({"The", "animal", "was", "tired", "because", "it"});
  for (const char* stop : {".", "。", " ."}) {
    CHECK(question(without_stop, known + stop).tokens == question(without_stop, known).tokens);
  }
  CHECK(question(without_stop, "The animal. it was").tokens.at(2) == ".");
  CHECK(question(model, known + ".").tokens.back() == ".");  // which this model knows

  Model chinese = small_model();
  chinese.queries = {"它"};
  const std::string run_together = "因为它太累了";
  for (const std::string query : {"", "它"}) {
    CHECK(message([&] { question(chinese, run_together, query); }) ==
          "the sentence holds '它', but not as a token of its own: put spaces between the words, as in training, or "
          "train with data.tokens: characters; its tokens: " +
              run_together);
  }
  CHECK(question(chinese, "因为 它 太 累 了").query == 1);
  CHECK(message([&] { question(chinese, "苹果 很 甜", "果实"); }) ==
        "the sentence does not contain the token '果实'; its tokens: 苹果 很 甜");
  chinese.tokenizer = Tokenizer(Split::characters);
  CHECK(question(chinese, run_together).query == 2);
  CHECK(message([&] { question(model, "it \xff"); }).find("sentence") != std::string::npos);
}

TEST_CASE("batch_of() rejects a text with unknown words, too many tokens or too many sentences") {
  const auto reading = [](const Model& model, const char* text) {
    return message([&] { batch_of(model, question(model, text)); });
  };
  const char* thirteen = "it it it it it it it it it it it it it";
  const Model model = small_model();
  CHECK(reading(model, "it was stret zzzzz") ==
        "not among the 14 words that the model knows: 'stret' (did you mean 'street'?), 'zzzzz'");
  CHECK(reading(model, thirteen) == "the text has 13 tokens; the model has positions for 12");
  CHECK(reading(small_model(answerer_of(modern_config())), thirteen) ==
        "the text has 13 tokens; the model has positions for 12");
  const Model endless = small_model(Positions::none);
  CHECK(reading(endless, thirteen) == "no error");
  CHECK(endless.run(batch_of(endless, question(endless, thirteen))).logits.shape() == Shape{1, 14});

  const Model story = small_model(Positions::learned, Tie::none, false, 2);
  CHECK(reading(story, "the dog was tired . was it the dog ?") == "no error");
  CHECK(question(story, "the dog was tired . was it ?").sentences == std::vector<int>{1, 1, 1, 1, 1, 0, 0, 0});
  CHECK(reading(story, "the dog . the street . was it ?") == "the text has 3 sentences; the model reads up to 2");
  Example undivided{.tokens = {"it", "was"}, .query = 0};
  const auto logits = [&] { return story.logits(batch_of(story, undivided)).to_vector(); };
  const std::vector<double> of_one_sentence = logits();
  undivided.sentences = {0, 0};
  CHECK(logits() == of_one_sentence);
  undivided.sentences = {0};
  CHECK(message([&] { logits(); }) == "expected a sentence number for each of 2 tokens, got 1");
  CHECK(reading(small_model(decoder_of(modern_config())), thirteen) ==
        "the text has 13 tokens; the model sees 12 at once");
}

TEST_CASE("question() for a model of text accepts any bytes and selects the last token") {
  Model model = small_model(decoder_of(modern_config()));
  model.tokenizer = Tokenizer::of_text(Split::bytes);
  const Example example = question(model, "a\xff");
  CHECK(example.tokens == std::vector<std::string>{"a", "<0xFF>"});
  CHECK(example.query == 1);
}

TEST_CASE("question() asks at the last mask, and a query may have either name of it") {
  const Model model = load_model("tests/golden/exports/masked_text_of_bert");
  for (const char* query : {"", "[MASK]", "<mask>"}) {
    CAPTURE(query);
    const Example example = question(model, "the <mask> and the [MASK] .", query);
    CHECK(example.tokens == std::vector<std::string>{"[CLS]", "the", "[MASK]", "[UNK]", "the", "[MASK]", ".", "[SEP]"});
    CHECK(example.query == 5);
  }
  const Model own = small_model(masked_language_model(small_config()));
  CHECK(message([&] {
          question(own, "the dog", "<mask>");
        }).starts_with("the sentence does not contain the token '<mask>'"));
}

TEST_CASE("encode() pads the texts of a batch, which the transformer reads as it reads each alone") {
  Model model;
  model.tokenizer = Tokenizer::of_text(Split::characters);
  for (const char* letter : {"a", "b", "c"}) model.vocabulary.add(letter);
  TransformerConfig config = small_config();
  config.max_length = 4;
  make_network(model, decoder_of(config));
  const std::vector<std::string> texts{"abca", "c", "bb"};
  const Batch batch = encode(model, texts);
  CHECK((batch.tokens.shape() == Shape{3, 4} && batch.lengths == std::vector{4, 1, 2}));
  const Tensor states = model.transformer()(batch).output;
  for (int i = 0; i < 3; ++i) {
    const std::string& text = texts[static_cast<std::size_t>(i)];
    const Tensor alone = model.transformer()(encode(model, {text})).output[0];
    CHECK(max(abs(slice(states[i], 0, 0, alone.size(0)) - alone)).item() < 1e-6);
  }
  Model of_sentences;
  of_sentences.tokenizer = Tokenizer(Split::words), of_sentences.queries = {"b"};
  for (const char* word : {"a", "b", "."}) of_sentences.vocabulary.add(word);
  make_network(of_sentences, answerer_of(small_config(Positions::learned, Tie::none, false, 2)));
  CHECK(std::ranges::equal(encode(of_sentences, {"a . b", "b"}).segments, std::vector{1, 1, 0, 0, 0, 0}));
  CHECK(message([&] { encode(of_sentences, {"a . a . b"}); }) == "text 0 has 3 sentences; the model reads up to 2");
  CHECK(message([&] { encode(model, {"a", "abcab"}); }) == "text 1: expected 1 to 4 tokens, got 5");
  CHECK(message([&] { encode(model, {""}); }) == "text 0: expected 1 to 4 tokens, got 0");
  CHECK(message([&] { encode(model, {}); }) == "encode: expected at least one text");
  CHECK(message([&] { encode(model, {"ax"}); }) != "no error");
}

TEST_CASE("batch_of() turns an example into a batch of one question") {
  const Model story = small_model(Positions::learned, Tie::none, false, 2);
  const Batch asked = batch_of(story, question(story, "the dog was tired . was it ?"));
  CHECK(asked.size() == 1);
  CHECK(numbers_of(asked.tokens) == std::vector<int>{4, 11, 8, 10, 12, 8, 7, 13});
  CHECK(asked.lengths == std::vector<int>{8});
  CHECK(numbers_of(asked.segments) == std::vector<int>{1, 1, 1, 1, 1, 0, 0, 0});
  CHECK(numbers_of(asked.query) == std::vector<int>{6});
  CHECK(asked.candidates.numel() == 0);
}

TEST_CASE("batch_of() for a token model puts all tokens into segment 0") {
  TransformerConfig shape = small_config();
  shape.segments = 2;
  const Model masked = small_model(masked_language_model(shape));
  const char* three_sentences = "the dog . the street . was it ?";
  for (const char* query : {"", "it"}) {
    const Batch asked = batch_of(masked, question(masked, three_sentences, query));
    CHECK(asked.segments.numel() == 0);
    CHECK(masked.logits(asked).shape() == Shape{1, 14});
  }
}

TEST_CASE("question() for a candidate chooser requires brackets and a query word") {
  const Model model = small_model(chooser_of(small_config(), true));
  const auto said = [&](const char* text, const char* query = "") {
    return message([&] { question(model, text, query); });
  };
  CHECK(said("The animal was tired because it was") ==
        "the model chooses among candidates; mark them with brackets: The [trophy] doesn't fit in [the suitcase] ...");
  CHECK(said("The [animal] was tired") ==
        "the sentence contains none of the model's query words (it); choose one with --query");
  CHECK(said("The [animal] was tired", "dog") == "the sentence does not contain the token 'dog'");
  CHECK(said("The [animal] was tired", "was") == "no error");
  CHECK(question(model, "it saw [it] and [a dog] as it did").query == 7);
  CHECK(said("The [animal was it") == "'[' without ']' after it");
  Example unmarked{.tokens = {"The", "animal", "it"}, .query = 2};
  CHECK(message([&] { batch_of(model, unmarked); }).starts_with("the model chooses among candidates; mark them"));
}

TEST_CASE("question() and encode() read <mask> and [MASK] as the mask of heed's own masked models") {
  const std::string text = "the dog was too tired because it was an animal in the street . the dog was too wide";
  const Subwords subwords = Subwords::learn({text}, 300);
  for (const Tokenizer& tokenizer : {Tokenizer::of_text(Split::bytes), Tokenizer::of_text(Split::characters),
                                     Tokenizer::of_text(Split::words), Tokenizer::of_text(subwords)}) {
    CAPTURE(name_of(tokenizer.split()));
    Vocabulary vocabulary(tokenizer.known_tokens());
    for (const std::string& token : tokenizer(text)) vocabulary.add(token);
    vocabulary.add(mask_token);
    ModelConfig config = masked_language_model(small_config());
    config.transformer.vocabulary = vocabulary.size(), config.transformer.max_length = 64;
    Model model;
    model.vocabulary = vocabulary, model.tokenizer = tokenizer;
    model.build(Scope(model.parameters, 1), config);
    const Example own = question(model, "the <mask> was <mask> tired");
    CHECK(std::ranges::count(own.tokens, mask_token) == 2);
    CHECK(own.tokens[static_cast<std::size_t>(own.query)] == mask_token);
    for (const char* query : {"", "[MASK]", "<mask>"}) {
      const Example other = question(model, "the [MASK] was <mask> tired", query);
      CHECK(other.tokens == own.tokens);
      CHECK(other.query == own.query);
    }
    const Batch batch = encode(model, {"the [MASK] was", "the <mask> was"});
    CHECK(std::count(batch.tokens.data(), batch.tokens.data() + batch.tokens.numel(), vocabulary.size() - 1) == 2);
    CHECK(batch.lengths[0] == batch.lengths[1]);
  }
}

TEST_CASE("batch_of() calls characters so, and names the Unicode normal form in which a text would be known") {
  const auto reading = [](const std::vector<std::string>& known, Split split, const char* text) {
    ModelConfig config = language_model(small_config());
    config.transformer.causal = true, config.transformer.vocabulary = static_cast<int>(known.size());
    Model model;
    model.vocabulary = Vocabulary(known), model.tokenizer = Tokenizer(split);
    model.build(Scope(model.parameters, 1), config);
    return message([&] { batch_of(model, question(model, text)); });
  };
  const char *composed = "caf\u00e9", *decomposed = "cafe\u0301";
  CHECK(reading({"c", "a", "f", "\u00e9"}, Split::characters, "caz") ==
        "not among the 4 characters that the model knows: 'caz'");
  const std::string form = " (known in another Unicode normal form: write the text in ";
  CHECK(reading({composed}, Split::words, decomposed).ends_with(form + "NFC)"));
  CHECK(reading({decomposed}, Split::words, composed).ends_with(form + "NFD)"));
  CHECK(reading({"c", "a", "f", "e", "\u00e9"}, Split::characters, decomposed).ends_with(form + "NFC)"));
  CHECK(reading({"c", "a", "f", "e", "\u0301"}, Split::characters, composed).ends_with(form + "NFD)"));
}

TEST_CASE("batch_of() says where a word is known with or without the space before it") {
  const auto reading = [](const std::vector<std::string>& known, const char* text) {
    Model model = small_model(decoder_of(small_config()));
    model.vocabulary = Vocabulary(known), model.tokenizer = Tokenizer::of_text(Split::words);
    return message([&] { batch_of(model, question(model, text)); });
  };
  CHECK(
      reading({"a", "b"}, "a b") ==
      "not among the 2 words that the model knows: ' b' (known as 'b'; tokens behind the first carry the space before "
      "them)");
  CHECK(reading({" a", " b"}, "a b") ==
        "not among the 2 words that the model knows: 'a' (known as ' a', with the space before it)");
  CHECK(reading({"a", " ", " ,"}, "a ,") ==
        "not among the 3 words that the model knows: ',' (known as ' ,', which is read as two tokens)");
}

TEST_CASE("token_ids(), tokens_of() and question() of ids are those of the text") {
  const Model model = small_model(decoder_of(modern_config()));
  const std::vector<std::string> tokens{model.vocabulary.word(2), model.vocabulary.word(1), model.vocabulary.word(2)};
  const std::string text = model.tokenizer.join(tokens);
  const std::vector<std::int32_t> ids = token_ids(model, text);
  CHECK(tokens_of(model, ids) == model.tokenizer(text));
  CHECK(question(model, ids) == question(model, text));
  CHECK(question(model, ids, tokens_of(model, ids)[1]).query == 1);
  CHECK(message([&] { question(model, std::vector<std::int32_t>{}); }) ==
        "expected the ids of at least one token, got none");
  CHECK(message([&] {
          question(model, std::vector<std::int32_t>{0, 99999});
        }).starts_with("vocabulary: no word has number 99999; expected 0 to "));
  CHECK(message([&] { question(model, ids, "xyz"); }).starts_with("no token is 'xyz'; the tokens: "));
  CHECK(message([&] { question(Answering(chooser_of(of_known_words())).model, ids); }) ==
        "the model chooses among candidates, which only a text can mark; give the text");
}

TEST_CASE("question() of ids is asked where that of the text is, also with a template") {
  ModelConfig config =
      GENERATE(language_model(small_config()), masked_language_model(small_config()), bare_transformer(small_config()));
  config.transformer.causal = config.head == HeadKind::next_token;
  Model model;
  model.tokenizer = Tokenizer::of_text(PretrainedTokenizer(tokenizer_json(true)));
  model.vocabulary = Vocabulary(model.tokenizer.known_tokens());
  make_network(model, config);
  for (const char* text : {"the cat saw", "the [MASK] saw a bird", "[MASK] [MASK]"}) {
    CHECK(question(model, token_ids(model, text)) == question(model, text));
  }
  CHECK(token_ids(model, "the bird") == std::vector<std::int32_t>{2, 5, 15, 16, 3});
  CHECK(token_ids(model, "the bird", false) == std::vector<std::int32_t>{5, 15, 16});
  CHECK(question(model, {5, 15, 16}).query == 2);
}
