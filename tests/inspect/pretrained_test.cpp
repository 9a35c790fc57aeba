#include "run/internal/program.h"
#include "tests/catch.h"
#include "tests/formats/hugging_face/copied_model.h"
#include "tests/inspect/pretrained_model.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/files/file.h>
#include <heed/formats/hugging_face.h>

using namespace heed;

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
  CHECK(json.at("precision") == "float64");
  const Json rounded = parse_json(
      shown({"verify", pretrained("llama"), "--against", golden_of("llama"), "--precision", "bfloat16", "--json"}));
  CHECK(rounded.at("precision") == "bfloat16");
  CHECK(rounded.at("values").back().at("largest").get<double>() > 1e-4);
  CHECK(shown({"verify", pretrained("llama"), "--against", golden_of("llama"), "--precision", "float32"})
            .starts_with("float32: the largest relative difference is "));
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
        "tests/golden/hugging_face/bert_bare: a pretrained model has no watched sentences; read one with --sentence");
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
  Model saved = load_model(other.path());
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
  CHECK(refused().starts_with("FILE/adapter_config.json: heed has no such adapters\n"));
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

TEST_CASE("inspect shows the attention of a masked model whose tokenizer has no mask token") {
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
        "the model's tokenizer.json has no mask token, so the text has no token to predict; choose a word with "
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
  CHECK((shares.size() == 36 && shares.front() == 0 && shares.back() == 1));
}

TEST_CASE("--precision int8 is for files with quantized weights") {
  CHECK(message([] {
          shown({"generate", pretrained("llama"), "--prompt", "w1", "--precision", "int8"});
        })
            .starts_with("--precision int8 is for the quantized weights of a GGUF file, which "
                         "tests/golden/hugging_face/llama does not have; leave it out (see "));
  CHECK(message([] {
          shown({"verify", pretrained("llama"), "--precision", "float32"});
        }).starts_with("--precision needs --against"));
}

TEST_CASE("inspect export --gguf writes a file that inspect opens, of a type that is asked for") {
  const Scratch scratch;
  const std::string file = (scratch / "m.gguf").string();
  CHECK(shown({"export", pretrained("gpt2"), "--gguf", file, "--type", "f32"}).starts_with(file + ": "));
  CHECK(max(abs(load_model(file).parameters["encoder.1.mlp.in.weight"] -
                load_model(pretrained("gpt2")).parameters["encoder.1.mlp.in.weight"]))
            .item() == 0);
  CHECK(message([&] {
          shown({"export", pretrained("gpt2"), "--gguf", file, "--type", "q4_0"});
        }).starts_with("--type must be one of exact, f32, f16, bf16, q8_0, got 'q4_0'"));
  CHECK(message([&] { shown({"export", pretrained("gpt2"), "--type", "f32"}); }).starts_with("--type is for --gguf"));
  write_file(scratch / "notes.txt", "mine");
  CHECK_FALSE(message([&] {
                shown({"export", pretrained("gpt2"), "--gguf", (scratch / "notes.txt").string()});
              }).empty());
  CHECK(read_file(scratch / "notes.txt") == "mine");
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
  const std::string told = "the model has no head: it shows states and attention, but gives no answers";
  const std::string model = pretrained("bert_bare");
  CHECK(message([&] { shown({"generate", model, "--prompt", "<5>"}); }) == told);
}

TEST_CASE("inspect refuses a text for a model without a tokenizer and names the missing file") {
  const std::string told =
      "the model has no tokenizer, so it cannot read text. In a directory, tokenizer.json is missing: "
      "AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR) writes one. A GGUF file needs tokenizer.ggml.model";
  CHECK(message([] { shown({"generate", pretrained("llama"), "--prompt", "the cat"}); }) == told);
  CHECK(message([] { shown({pretrained("llama"), "--sentence", "the cat"}); }) == told);
}
