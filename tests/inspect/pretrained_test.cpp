#include "files/json.h"
#include "inspect/command.h"
#include "run/program.h"
#include "tests/catch.h"
#include "tests/inspect/inspected_run.h"
#include "tests/message.h"
#include "tests/models/formats/hugging_face/copied_model.h"
#include "tests/scratch.h"

#include <heed/files/file.h>
#include <heed/models/formats/hugging_face.h>

using namespace heed;

namespace {

std::string shown(const std::vector<std::string>& words) {
  std::vector<const char*> arguments{"inspect"};
  for (const std::string& word : words) arguments.push_back(word.c_str());
  return inspect(static_cast<int>(arguments.size()), arguments.data(), {});
}

std::string pretrained(const std::string& name) { return "tests/golden/hugging_face/" + name; }
std::string golden_of(const std::string& name) { return pretrained(name) + "/golden.safetensors"; }

// A tokenizer.json whose tokens are the words from w0 on.
std::string tokenizer_of_words(int words = 61) {
  Json vocabulary = Json::object();
  for (int id = 0; id < words; ++id) vocabulary["w" + std::to_string(id)] = id;
  return Json({{"version", "1.0"},
               {"added_tokens", Json::array()},
               {"normalizer", nullptr},
               {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
               {"post_processor", nullptr},
               {"decoder", nullptr},
               {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "w0"}}}})
      .dump();
}

}  // namespace

TEST_CASE("inspect verify --against compares a pretrained model with golden values, layer by layer") {
  const std::string text = shown({"verify", pretrained("gemma3"), "--against", golden_of("gemma3")});
  CHECK(text.starts_with("equal: the largest relative difference is "));
  for (const char* row : {"\nembeddings ", "\nlayer 1 weights ", "\nlayer 2 ", "\nfinal state ", "\nlogits "}) {
    CAPTURE(row);
    CHECK(text.find(row) != std::string::npos);
  }
  const Json json =
      parse_json(shown({"verify", pretrained("bert_bare"), "--against", golden_of("bert_bare"), "--json"}));
  CHECK(json.at("equal") == true);
  CHECK((json.at("values").size() == 5 && json.at("values")[0].at("what") == "embeddings"));
}

TEST_CASE("inspect verify --against refuses values of another model, and a model that differs") {
  CHECK(message([] {
          shown({"verify", pretrained("llama"), "--against", golden_of("gemma2")});
        }) ==
        "tests/golden/hugging_face/gemma2/golden.safetensors: 'hidden' has shape (4, 11, 16), but the model gives "
        "(3, 11, 20); was it written for this model?");
  CHECK(message([] {
          shown({"verify", pretrained("llama"), "--against", golden_of("mistral")});
        })
            .starts_with("tests/golden/hugging_face/llama: the model and "
                         "tests/golden/hugging_face/mistral/golden.safetensors differ\nDIFFERENT: the largest"));
  CHECK(message([] {
          shown({"verify", "tests/golden/hugging_face/llama"});
        })
            .starts_with("a pretrained model is compared with golden values: inspect verify "
                         "tests/golden/hugging_face/llama --against FILE. examples/golden.py "
                         "tests/golden/hugging_face/llama TEXT FILE writes the file (see "));
}

TEST_CASE("inspect shows a sentence in a pretrained model, and asks for one if it is missing") {
  CopiedModel copy("bert_bare");
  write_file(copy.path() / "tokenizer.json", tokenizer_of_words());
  const std::string model = copy.path().string();
  const Json json = parse_json(shown({model, "--sentence", "w5 w17 w3", "--query", "w17", "--json"}));
  const Json& sentence = json.at("sentences")[0];
  CHECK(sentence.at("tokens") == Json{"w5", "w17", "w3"});
  CHECK(sentence.at("query") == 1);
  CHECK((sentence.at("predicted").is_null() && sentence.at("probability").is_null()));
  CHECK((sentence.at("layers").size() == 2 && sentence.at("layers")[0].size() == 4));
  CHECK(message([] { shown({pretrained("bert_bare")}); }) ==
        "tests/golden/hugging_face/bert_bare: a pretrained model lacks watched sentences; read one with --sentence");
  CHECK(shown({model, "--sentence", "w5 w17 w3"}).find("a model without a head: it gives no answer") !=
        std::string::npos);
  CHECK(message([&] {
          shown({model, "--sentence", "w5 w17", "--query", "w9"});
        }) == "'w9' is not a word or token of the sentence; its tokens: w5 w17");
}

TEST_CASE("--words joins the tokens of each word") {
  CopiedModel copy("bert_bare");
  Json tokenizer = parse_json(tokenizer_of_words());
  Json vocabulary = {{"[UNK]", 0}, {"an", 1}, {"##im", 2}, {"##al", 3}, {"ate", 4}};
  for (int id = 5; id < 61; ++id) vocabulary["w" + std::to_string(id)] = id;
  tokenizer["model"] = {{"type", "WordPiece"},
                        {"unk_token", "[UNK]"},
                        {"continuing_subword_prefix", "##"},
                        {"max_input_chars_per_word", 100},
                        {"vocab", vocabulary}};
  tokenizer["decoder"] = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
  write_file(copy.path() / "tokenizer.json", tokenizer.dump());
  const std::string model = copy.path().string();
  const auto read = [&](const char* more) {
    const Json json = parse_json(shown({model, "--sentence", "w5 animal ate w7", "--json", more}));
    return json.at("sentences")[0];
  };
  const Json tokens = read("--json"), words = read("--words");
  CHECK(tokens.at("tokens") == Json{"w5", "an", "##im", "##al", "ate", "w7"});
  CHECK(words.at("tokens") == Json{"w5", "animal", "ate", "w7"});
  const Json &each = tokens.at("layers")[0][0], &joined = words.at("layers")[0][0];
  CHECK(joined[0][1].get<double>() ==
        Approx(each[0][1].get<double>() + each[0][2].get<double>() + each[0][3].get<double>()).margin(1e-6));
  CHECK(joined[1][0].get<double>() == Approx(each[3][0].get<double>()).margin(1e-6));  // the row of "##al"
  CHECK(shown({model, "--sentence", "w5 animal ate w7", "--query", "animal", "--words"}).find("animal -> ") !=
        std::string::npos);
  shown({"export", model, "--sentence", "w5 animal ate w7", "--words", "--csv", (copy.path() / "a.csv").string()});
  CHECK(read_file(copy.path() / "a.csv").find("animal") != std::string::npos);

  const InspectedRun run;
  CHECK(run.error({"RUN", "--words"}) == "--words: the tokens of this model are words already");
  std::filesystem::remove(model_path(run.path));
  CHECK(run.error({"RUN", "--words"}) == "--words: expected a run whose model can be read");
}

TEST_CASE("A file of a Hugging Face directory opens that directory, but one that heed saved opens itself") {
  CopiedModel copy("bert_bare");
  write_file(copy.path() / "tokenizer.json", tokenizer_of_words());
  const auto read = [](const std::filesystem::path& model) {
    return shown({model.string(), "--sentence", "w5 w17 w3", "--json"});
  };
  const std::string expected = read(copy.path());
  CHECK(read(copy.path() / "model.safetensors") == expected);
  CHECK(read(copy.path() / "config.json") == expected);
  const std::string page = (copy.path() / "page.html").string();
  CHECK(shown({"page", (copy.path() / "model.safetensors").string(), "--sentence", "w5 w17 w3", "--out", page})
            .starts_with(page));
  shown({"page", (copy.path() / "." / "").string(), "--sentence", "w5 w17 w3", "--out", page, "--force"});
  CHECK(read_file(page).find("\"name\":\"" + copy.path().filename().string() + "\"") != std::string::npos);
  CHECK(read(copy.path() / "tokenizer.json") == expected);
  std::filesystem::rename(copy.path() / "model.safetensors", copy.path() / "model-00001-of-00001.safetensors");
  const std::filesystem::path shard = copy.path() / "model-00001-of-00001.safetensors";
  Json index{{"weight_map", Json::object()}};
  for (const auto& [name, values] : read_safetensors(shard).tensors)
    index["weight_map"][name] = shard.filename().string();
  write_file(copy.path() / "model.safetensors.index.json", index.dump());
  CHECK(read(copy.path() / "model.safetensors.index.json") == expected);
  CHECK(message([&] { read(shard); }) ==
        shard.string() + ": not a heed model: metadata entry 'heed.vocabulary' is missing. Open its directory: " +
            copy.path().string());

  CopiedModel other("bert_bare");
  SavedModel saved = load_model(other.path());
  saved.step = 7;
  save_model(other.path() / "model.safetensors", saved);
  CHECK(load_model(other.path() / "model.safetensors").step == 7);
  std::filesystem::remove(copy.path() / "config.json");
  CHECK(message([&] { read(shard); }) ==
        shard.string() +
            ": not a heed model: metadata entry 'heed.vocabulary' is missing. A pretrained model needs its "
            "config.json in the same directory");
}

TEST_CASE("inspect refuses a directory without a model and names the models inside it") {
  const Scratch scratch;
  const auto refused = [&] {
    return message([&] { shown({scratch.path.string(), "--sentence", "a"}); }, scratch.path.string());
  };
  const std::string told =
      "FILE: is not a run or a model: expected the config.yaml of a run or the config.json of a model";
  CHECK(refused() == told);
  write_file(scratch.path / "adapter_config.json", "{}");
  CHECK(refused().starts_with("FILE: it is an adapter; merge it with its base model: python3 -c "));
  std::filesystem::remove(scratch.path / "adapter_config.json");
  std::filesystem::create_directories(scratch.path / "snapshots" / "5f2c");
  write_file(scratch.path / "snapshots" / "5f2c" / "config.json", R"({"model_type": "bert"})");
  std::filesystem::create_directories(scratch.path / "1_Pooling");
  write_file(scratch.path / "1_Pooling" / "config.json", R"({"pooling_mode_mean_tokens": true})");
  write_file(scratch.path / "model-Q4_0.gguf", "GGUF");
  write_file(scratch.path / "model-Q8_0-00002-of-00002.gguf", "GGUF");
  CHECK(refused() == told + "; inspect one of its models: FILE/model-Q4_0.gguf, FILE/snapshots/5f2c");
  std::filesystem::create_directories(scratch.path / "models--org--name");
  std::filesystem::rename(scratch.path / "snapshots", scratch.path / "models--org--name" / "snapshots");
  CHECK(refused() == told + "; inspect one of its models: FILE/model-Q4_0.gguf, FILE/models--org--name/snapshots/5f2c");
}

TEST_CASE("inspect shows the attention of a masked model whose tokenizer lacks a mask token") {
  CopiedModel copy("bert");
  write_file(copy.path() / "tokenizer.json", tokenizer_of_words());
  const std::string model = copy.path().string();
  const Json json = parse_json(shown({model, "--sentence", "w5 w17 w3", "--query", "w17", "--json"}));
  CHECK((json.at("sentences")[0].at("query") == 1 && json.at("sentences")[0].at("predicted").is_string()));
  const Json last = parse_json(shown({model, "--sentence", "w5 w17 w3", "--json"}));
  CHECK((last.at("sentences")[0].at("query") == 2 && last.at("sentences")[0].at("predicted").is_string()));
  CHECK(message([&] {
          shown({model, "--sentence", "w5 <mask>"});
        }) ==
        "the model's tokenizer.json lacks a mask token, so the text has no token to predict; choose a word with "
        "--query");
  CHECK(message([&] {
          shown({"generate", model, "--prompt", "w5"});
        }) ==
        "the model predicts hidden tokens; only one that predicts the next token, such as GPT-2, continues a text");
}

TEST_CASE("The default query of an encoder without a head is the last token of the text, not [SEP]") {
  CopiedModel copy("bert_bare");
  Json tokenizer = parse_json(tokenizer_of_words());
  const Json text{{"Sequence", {{"id", "A"}, {"type_id", 0}}}}, end{{"SpecialToken", {{"id", "w2"}, {"type_id", 0}}}};
  tokenizer["post_processor"] = {
      {"type", "TemplateProcessing"},
      {"single", {text, end}},
      {"pair", Json::array()},
      {"special_tokens",
       {{"w2", {{"id", "w2"}, {"ids", {tokenizer.at("model").at("vocab").at("w2")}}, {"tokens", {"w2"}}}}}}};
  write_file(copy.path() / "tokenizer.json", format_json(tokenizer));
  const std::string model = copy.path().string();
  const Json sentence = parse_json(shown({model, "--sentence", "w5 w17 w3", "--json"})).at("sentences")[0];
  CHECK(sentence.at("tokens") == Json{"w5", "w17", "w3", "w2"});
  CHECK(sentence.at("query") == 2);
  const std::string hint = "--query WORD asks about another token.\n";
  CHECK(shown({model, "--sentence", "w5 w17 w3"}).ends_with(hint));
  CHECK(shown({model, "--sentence", "w5 w17 w3", "--query", "w5"}).find(hint) == std::string::npos);
}

TEST_CASE("inspect reports progress while it reads a pretrained model") {
  CopiedModel copy("llama");
  write_file(copy.path() / "tokenizer.json", tokenizer_of_words());
  const std::string model = copy.path().string();
  std::vector<double> shares;
  const auto progress = [&](const std::string& what, double share, double) {
    if (what == "opening " + model) shares.push_back(share);
  };
  const std::vector<const char*> words{"inspect", "steps", model.c_str(), "--sentence", "w5 w17"};
  inspect(static_cast<int>(words.size()), words.data(), {}, progress);
  CHECK((shares.size() == 35 && shares.front() == 0 && shares.back() < 1));
}

TEST_CASE("inspect export --hugging-face writes an equal model and replaces files only with --force") {
  const Scratch scratch;
  const std::string out = scratch / "out";
  CHECK(shown({"export", pretrained("gpt2"), "--hugging-face", out}) == out + ": config.json, model.safetensors\n");
  CHECK(shown({"verify", out, "--against", golden_of("gpt2")}).starts_with("equal: "));
  CHECK(message([&] {
          shown({"export", pretrained("gpt2"), "--hugging-face", out});
        }) == out + "/config.json: exists already; choose another directory, or --force to replace it");
  write_file(std::filesystem::path(out) / "generation_config.json", R"({"eos_token_id": 3})");  // of another model
  CHECK(shown({"export", pretrained("llama"), "--hugging-face", out, "--force"}).starts_with(out));
  CHECK_FALSE(std::filesystem::exists(std::filesystem::path(out) / "generation_config.json"));
  CHECK(shown({"verify", out, "--against", golden_of("llama")}).starts_with("equal: "));
  CHECK(message([&] {
          shown({"export", out, "--hugging-face", out, "--force"});
        }) == out + "/config.json: belongs to " + out + ", which inspect never changes");
}

TEST_CASE("inspect generate refuses a model without a head") {
  const std::string told = "the model lacks a head: it shows states and attention, but gives no answers";
  const std::string model = pretrained("bert_bare");
  CHECK(message([&] { shown({"generate", model, "--prompt", "<5>"}); }) == told);
}

TEST_CASE("inspect refuses a text for a model without a tokenizer and names the missing file") {
  const std::string told =
      "the model lacks a tokenizer, so it cannot read text. In a directory, tokenizer.json is missing: "
      "AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR) writes one. A GGUF file needs tokenizer.ggml.model";
  CHECK(message([] { shown({"generate", pretrained("llama"), "--prompt", "the cat"}); }) == told);
  CHECK(message([] { shown({pretrained("llama"), "--sentence", "the cat"}); }) == told);
}

TEST_CASE("inspect causes measures one sentence of a pretrained model, with or without a pair") {
  CopiedModel copy("gpt2");
  write_file(copy.path() / "tokenizer.json", tokenizer_of_words());
  const std::string model = copy.path().string();
  const std::vector<std::string> asked{"causes", model, "--sentence", "w5 w17 w3 w42"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), asked.begin(), asked.end());
    return shown(more);
  };
  const Json json = parse_json(with({"--json"}));
  CHECK((json.at("tokens").size() == 4 && json.at("query") == 3 && json.at("heads").size() == 8));
  const std::string answer = json.at("answer");
  CHECK(with({}).starts_with(answer + " depends most on layer "));
  CHECK(parse_json(with({"--json", "--layer", "2", "--head", "3"})).at("heads").size() == 1);
  std::string rival;
  for (int id = 0; id < 61 && rival.empty(); ++id) {
    const std::string pair = "w" + std::to_string(id) + " w17 w3 w42";
    if (message([&] { rival = parse_json(with({"--json", "--pair", pair})).at("rival"); }) != "no error") continue;
    CHECK(with({"--pair", pair}).find(answer + " and " + rival) != std::string::npos);
  }
  CHECK((!rival.empty() && rival != answer));
  CHECK(message([&] {
          with({"--pair", "w5 w17"});
        }) ==
        "the pair: expected 4 tokens as in the sentence, so that heads can be patched token by token, got 2: w5 "
        "w17");
  CHECK_THROWS_AS(with({"--limit", "3"}), UsageError);
  CHECK_THROWS_AS(shown({"causes", model, "--pair", "w5"}), Error);
  CHECK(message([&] {
          shown({"causes", model});
        }) == model +
                  ": is a pretrained model, without the sentences of a run that inspect causes reads. Give it one: "
                  "inspect causes MODEL --sentence TEXT");

  CopiedModel bare("bert_bare");
  write_file(bare.path() / "tokenizer.json", tokenizer_of_words());
  CHECK(message(
            [&] {
              shown({"causes", bare.path().string(), "--sentence", "w5 w17"});
            },
            bare.path().string()) ==
        "FILE: the model lacks a head and gives no answers, so causes cannot be measured. inspect heads FILE FILE "
        "counts where its heads point, and training with model.from: FILE teaches it to answer");
}

TEST_CASE("inspect generate stops at the end token of a pretrained model") {
  CopiedModel copy("qwen2");
  write_file(copy.path() / "tokenizer.json", tokenizer_of_words());
  const auto generated = [&](const std::filesystem::path& model) {
    return parse_json(
        shown({"generate", model.string(), "--prompt", "w42 w8", "--tokens", "9", "--temperature", "0", "--json"}));
  };
  const auto end_at = [&](const char* file, const Json& ids) {
    Json json = file == std::string("config.json") ? parse_json(read_file(copy.path() / file)) : Json::object();
    json["eos_token_id"] = ids;
    write_file(copy.path() / file, json.dump());
    return generated(copy.path());
  };
  const auto shortened = [](Json all) {
    all["tokens"].erase(all["tokens"].begin() + 4, all["tokens"].end());
    return all["tokens"];
  };
  // The tokens of transformers' generate(max_new_tokens=9, do_sample=False) for this model.
  const Json all = end_at("config.json", nullptr);
  CHECK(all["tokens"] == Json({"w5", "w24", "w27", "w42", "w9", "w60", "w58", "w33", "w38"}));
  CHECK(all["ended_by"] == "tokens");

  const int fourth = std::stoi(all["tokens"][3].get<std::string>().substr(1));
  const Json ended = end_at("config.json", fourth);
  CHECK((ended["tokens"] == shortened(all) && ended["ended_by"] == "end_token"));
  const std::string last = all["tokens"][3];
  CHECK(all["text"].get<std::string>().starts_with(ended["text"].get<std::string>() + " " + last));
  for (const Json& none : {Json(-1), Json(61), Json(Json::array({4000000000, -7})), Json::array()}) {
    CHECK(end_at("config.json", none) == all);
  }
  end_at("config.json", fourth);
  CHECK(end_at("generation_config.json", nullptr) == all);  // null in this file removes the end token
  CHECK(end_at("generation_config.json", Json::array({60, fourth})) == ended);

  const Scratch scratch;
  save_model(scratch / "model.safetensors", load_model(copy.path()));
  CHECK(generated(scratch / "model.safetensors") == ended);
  export_hugging_face(load_model(scratch / "model.safetensors"), scratch / "exported");
  CHECK(generated(scratch / "exported") == ended);

  std::string text;
  const std::string path = copy.path().string();
  const char* const arguments[] = {"inspect", "generate", path.c_str(), "--prompt", "w42 w8", "--temperature", "0"};
  const std::string remark =
      inspect(static_cast<int>(std::size(arguments)), arguments, {}, {}, [&](std::string_view piece) {
        text += piece;
        return true;
      });
  CHECK(text == "w42 w8" + ended["text"].get<std::string>());
  CHECK(remark == "[The text ended with " + last + " after 4 of at most 500 tokens.]\n");
  for (const Json& wrong : {Json("</s>"), Json("2"), Json(2.5), Json(Json::array({2, nullptr}))}) {
    for (const char* file : {"generation_config.json", "config.json"}) {
      CHECK(message([&] { end_at(file, wrong); }) ==
            path + "/" + file + ": 'eos_token_id' must be the id of a token or a list of ids, got " + wrong.dump());
      end_at(file, 2);
    }
  }
  write_file(copy.path() / "generation_config.json", "[2]");
  CHECK(message([&] { load_model(copy.path()); }) == path + "/generation_config.json: expected an object, got [2]");
  write_file(copy.path() / "generation_config.json", "{");
  CHECK(message([&] { load_model(copy.path()); }).starts_with(path + "/generation_config.json: "));
}

TEST_CASE("An id beyond the tokenizer appears by name in tables, JSON and pages, and adds no text") {
  CopiedModel copy("qwen2");
  write_file(copy.path() / "tokenizer.json", tokenizer_of_words(20));
  const std::string model = copy.path().string(), page = (copy.path() / "page.html").string();
  const Json json =
      parse_json(shown({"generate", model, "--prompt", "w4 w8", "--tokens", "9", "--temperature", "0", "--json"}));
  std::string text, unused, sentence = "w4 w8";  // up to the first unused token
  for (const std::string token : json.at("tokens")) {
    const bool is_unused = token.starts_with("<unused ");
    if (is_unused && unused.empty()) unused = token, sentence += text;
    if (!is_unused) text += " " + token;
  }
  CHECK(json.at("text") == text);
  const Json read = parse_json(shown({model, "--sentence", sentence, "--json"})).at("sentences")[0];
  CHECK((!unused.empty() && read.at("predicted") == unused));
  CHECK(shown({model, "--sentence", sentence}).find(unused) != std::string::npos);
  shown({"page", model, "--sentence", sentence, "--out", page});
  const std::string escaped = "\\u003c" + unused.substr(1, unused.size() - 2) + "\\u003e";
  CHECK(read_file(page).find("\"predicted\":\"" + escaped) != std::string::npos);
}

TEST_CASE("inspect page writes one sentence of a pretrained model, and commands that need a run say so") {
  CopiedModel copy("bert_bare");
  write_file(copy.path() / "tokenizer.json", tokenizer_of_words());
  const std::string model = copy.path().string(), file = (copy.path() / "page.html").string();
  const std::string told = shown({"page", model, "--sentence", "w5 w17 w3", "--query", "w17", "--out", file});
  CHECK(told.find("open it in a browser") != std::string::npos);
  const std::string html = read_file(file);
  for (const char* part : {R"("tokens":["w5","w17","w3"])", R"("predicts":"nothing")", R"("pieces":["w5","w17","w3"])",
                           R"("model":{"step")", "id=\"model-0\""}) {
    CAPTURE(part);
    CHECK(html.find(part) != std::string::npos);
  }
  for (const char* command : {"causes", "history", "report", "induction"}) {
    CAPTURE(command);
    CHECK(message([&] {
            shown({command, model});
          }).starts_with(model + ": is a pretrained model, without the sentences of a run that inspect " + command));
  }
  CHECK(message([&] {
          shown({"heads", model});
        }).starts_with("expected a FILE of sentences with candidates: inspect heads " + model + " FILE (see "));
  CHECK_THROWS_AS(shown({"page", model, "--query", "w17", "--out", file}), Error);
}

TEST_CASE("inspect heads says that no head can be measured on a single sentence") {
  const CopiedModel copy("bert");
  write_file(copy.path() / "tokenizer.json", tokenizer_of_words());
  const std::string file = (copy.path() / "one.jsonl").string();
  write_file(file, R"({"tokens": ["w5", "w17", "w3", "w9"], "query": 3, "antecedent": 0, "other": 2})");
  const std::string text = shown({"heads", copy.path().string(), file});
  CAPTURE(text);
  CHECK(text.starts_with(file + ": no head can be measured,"));
  CHECK(text.find("nan") == std::string::npos);
}

TEST_CASE("inspect heads says which pairs a causal model cannot tell apart") {
  for (const char* name : {"gpt2", "bert"}) {
    const CopiedModel copy(name);
    write_file(copy.path() / "tokenizer.json", tokenizer_of_words());
    std::string lines;
    const auto add = [&](const std::vector<std::string>& tokens, int right) {
      const Json line{{"tokens", tokens}, {"query", 4}, {"antecedent", right}, {"other", 3 - right}};
      lines += line.dump() + "\n";
    };
    for (const char* word : {"w5", "w6"}) {
      add({word, "w7", "w8", "w9", "w10", "w11"}, 1), add({word, "w7", "w8", "w9", "w10", "w12"}, 2);  // behind w10
    }
    add({"w5", "w7", "w8", "w13", "w10", "w11"}, 1), add({"w5", "w7", "w8", "w14", "w10", "w11"}, 2);
    write_file(copy.path() / "pairs.jsonl", lines);
    std::string text = shown({"heads", copy.path().string(), (copy.path() / "pairs.jsonl").string()});
    std::ranges::replace(text, '\n', ' ');
    CAPTURE(text);
    CHECK((text.find(
               " In 2 of the 3 minimal pairs the words that differ come after the pronoun and the candidates, where a "
               "causal model cannot see them: each head is right in one of the two sentences. ") != text.npos) ==
          (name == std::string("gpt2")));
  }
}

TEST_CASE("inspect prints the same for 16-bit weights as for equal weights in float32") {
  for (const char* name : {"llama", "gpt2", "gpt_neox", "phi3", "gemma3", "roberta", "distilbert"}) {
    CopiedModel halves(name), wide(name);
    write_file(halves.path() / "tokenizer.json", tokenizer_of_words());
    write_file(wide.path() / "tokenizer.json", tokenizer_of_words());
    wide.tensors([](NamedTensors&) {});
    std::vector<std::vector<std::string>> commands{
        {"", "--sentence", "w5 w17 w3", "--json"},
        {"steps", "--sentence", "w5 w17 w3", "--query", "w17"},
        {"why", "--sentence", "w5 w17 w3", "--query", "w17"},
        {"weights"},
        {"weights", "--json", "--layer", "1", "--head", "2"},
    };
    if (name != std::string("roberta") && name != std::string("distilbert")) {
      commands.push_back({"generate", "--prompt", "w5 w17", "--tokens", "6", "--temperature", "0"});
    }
    for (const std::vector<std::string>& command : commands) {
      const auto of = [&](const CopiedModel& model) {
        std::vector<std::string> words;
        if (!command[0].empty()) words.push_back(command[0]);
        words.push_back(model.path().string());
        words.insert(words.end(), command.begin() + 1, command.end());
        std::string text;
        const std::string refused = message([&] { text = shown(words); }, model.path().string());
        return refused == "no error" ? text : refused;
      };
      CAPTURE(name, command[0]);
      const std::string expected = of(wide);
      CHECK(expected.find("float") == std::string::npos);
      CHECK(of(halves) == expected);
    }
  }
}
