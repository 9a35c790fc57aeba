#include "run/internal/program.h"
#include "tests/catch.h"
#include "tests/formats/hugging_face/copied_model.h"
#include "tests/inspect/pretrained_model.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/files/file.h>
#include <heed/formats/hugging_face.h>

#include <map>
#include <string>
#include <vector>

using namespace heed;

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
                  ": is a pretrained model, without the sentences of a run that inspect causes reads. Give it pairs, "
                  "inspect causes MODEL FILE.jsonl, or one sentence, inspect causes MODEL --sentence TEXT");

  CopiedModel bare("bert_bare");
  write_file(bare.path() / "tokenizer.json", tokenizer_of_words());
  CHECK(message(
            [&] {
              shown({"causes", bare.path().string(), "--sentence", "w5 w17"});
            },
            bare.path().string()) ==
        "FILE: the model has no head and gives no answers, so causes cannot be measured. inspect heads FILE FILE "
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
  const std::map<std::vector<std::string>, std::string> hints{
      {{"causes", model}, "inspect causes MODEL FILE.jsonl"},
      {{"history", model}, "It has the weights of one step, and inspect causes MODEL FILE.jsonl"},
      {{"history", model, "pairs.jsonl"}, "inspect causes MODEL FILE.jsonl"},
      {{"match", model, model}, "inspect circuit MODEL FILE.jsonl"},
      {{"report", model}, "Give it some: inspect report MODEL FILE"}};
  for (const auto& command : hints) {
    CAPTURE(command.first[0]);
    const std::string refusal = message([&] { shown(command.first); });
    CHECK(refusal.starts_with(model + ": is a pretrained model, without the sentences of a run that inspect " +
                              command.first[0]));
    CHECK(refusal.find(command.second) != std::string::npos);
  }
  CHECK(message([&] {
          shown({"heads", model});
        }).starts_with("expected a FILE of sentences with candidates: inspect heads " + model + " FILE (see "));
  CHECK_THROWS_AS(shown({"page", model, "--query", "w17", "--out", file}), Error);
}

TEST_CASE("inspect report compares a pretrained model with the baselines that need no training sentences") {
  const Scratch scratch;
  const std::string model = "tests/golden/exports/candidates_of_bert", file = (scratch.path / "cups.jsonl").string();
  std::string lines;
  for (const char* adjective : {"big", "small", "old", "red"}) {
    lines += fmt::format(R"({{"tokens": ["the", "cat", "saw", "a", "dog", "because", "it", "was", "{}"], "query": 6, )"
                         R"("candidates": [[0, 2], [3, 5]], "antecedent": 0}})"
                         "\n",
                         adjective);
  }
  write_file(file, lines);
  const Json report = parse_json(shown({"report", model, file, "--json"})).at(0);
  CHECK(report.at("sentences") == 4);
  CHECK(report.at("coin") == 0.5);
  CHECK(report.at("first") == 1);
  CHECK(report.at("nearest") == 0);
  CHECK((report.at("bag_of_words").is_null() && report.at("over_bag_of_words").is_null()));
  const std::string text = shown({"report", model, file});
  CHECK(text.find("Its training sentences are unknown") != std::string::npos);
  CHECK(text.find("a bag of words ") == std::string::npos);
  CHECK(text.find("the first candidate") != std::string::npos);
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
