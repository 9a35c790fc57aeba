#include "inspect/page/page.h"

#include "inspect/page/page_curves.h"
#include "inspect/page/page_facts.h"
#include "inspect/page/page_model.h"
#include "inspect/run_studies.h"
#include "tests/catch.h"
#include "tests/inspect/inspected_run.h"
#include "tests/inspect/sample.h"
#include "tests/message.h"
#include "tests/scratch.h"
#include "tokenizers/internal/json.h"
#include "views/written_tokens.h"

#include <heed/files/file.h>
#include <heed/formats/datasets/jsonl.h>
#include <heed/run/log.h>

using namespace heed;

namespace {

struct PageFiles : Scratch {
  std::filesystem::path run = path / "run";
  PageFiles() {
    make_directory(run);
    write_dump(run, {0, {english_sentence()}});
    write_dump(run, {400, {english_sentence()}});
    save_model(model_path(run), small_model());
  }
  Json description() const { return page_run(run).description; }
  std::string error() const {
    const std::string text = message([&] { page_run(run); });
    return text.starts_with(run.string()) ? "RUN" + text.substr(run.string().size()) : text;
  }
};

}  // namespace

TEST_CASE("telling_head returns the head with the largest weight on the antecedent, or telling weight") {
  SentenceAttention sentence = english_sentence();
  const auto told = [&] { return telling_head(sentence); };
  CHECK((told().layer == 1 && told().head == 1));
  sentence.antecedent = -1;
  sentence.layers[0] = weights_of(7, {{.9, .1, 0, 0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, .9, .1, 0, 0, 0}});
  sentence.layers[1] = weights_of(7, {{0, .2, 0, 0, 0, 0, 0, 0, .8, 0, 0}, {.1, 0, 0, .3, 0, 0, .6, 0, 0, 0, 0}});
  CHECK((told().layer == 0 && told().head == 1));  // .9 on a neighbour, to which no other token attends
}

TEST_CASE("page_token names the bytes of an incomplete character") {
  const Model model = small_model();
  CHECK(page_token(model, "caf\xc3") == "caf<0xC3>");
  CHECK(page_token(model, "caf\u00e9") == "caf\u00e9");
}

TEST_CASE("page_tokenizer reads a tokenizer with more tokens than parse_json allows keys") {
  LargeJson vocabulary = {{"[UNK]", 0}};
  while (vocabulary.size() <= max_json_keys) vocabulary["w" + std::to_string(vocabulary.size())] = vocabulary.size();
  const LargeJson file{{"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
                       {"model",
                        {{"type", "WordPiece"},
                         {"unk_token", "[UNK]"},
                         {"continuing_subword_prefix", "##"},
                         {"max_input_chars_per_word", 100},
                         {"vocab", vocabulary}}}};
  const Json parts = page_tokenizer(PretrainedTokenizer(file.dump()));
  CHECK(parts.at("model").at("type") == "WordPiece");
  CHECK_FALSE(parts.at("model").contains("vocab"));
}

TEST_CASE("inspect page writes one self-contained file for one or two runs") {
  const PageFiles one, two;
  const std::string file = (one / "page.html").string();
  const std::string said = shown({"page", one.run.string(), "--out", file}), html = read_file(file);
  CHECK(said.starts_with(
      fmt::format("{}: {:.1f} MB; open it in a browser\n", file, static_cast<double>(html.size()) / 1e6)));
  CHECK(html == page({page_run(one.run)}));
  CHECK(html.find("<script type=\"application/json\" id=\"weights-0-1-0\">") < html.find("<script>"));
  CHECK(html.find("<script type=\"application/json\" id=\"weights-0-0-0\">") > html.find("<script>"));
  CHECK(html.find("<script type=\"application/json\" id=\"model-0\">") > html.find("<script>"));
  CHECK(html.find("weights-1-0-0") == std::string::npos);
  for (const char* outside : {"https:", "src=\"", "@import"}) {
    INFO(outside);
    CHECK(html.find(outside) == std::string::npos);
  }
  for (std::size_t at = html.find("url("); at != std::string::npos; at = html.find("url(", at + 1)) {
    CHECK(html.substr(at, 5) == "url(#");  // a colour ramp of the same picture
  }
  shown({"page", one.run.string(), "--language", "zh", "--out", file});
  CHECK(read_file(file) == page({page_run(one.run)}, "zh"));
  CHECK(message([&] {
          shown({"page", one.run.string(), "--language", "fr", "--out", file});
        }).starts_with("--language must be en, zh or auto, got 'fr'"));
  shown({"page", one.run.string(), two.run.string(), "--out", file});
  CHECK(read_file(file).find("weights-1-0-0") != std::string::npos);
  CHECK(message([&] {
          shown({"page", one.run.string(), "--out", "/no/where.html"});
        }) == "cannot write /no/where.html: No such file or directory: the directory /no does not exist");
}

TEST_CASE("inspect page of a Log holds its curves, alone, beside others and beside a run") {
  const PageFiles run;
  const std::string file = (run / "page.html").string();
  Log one(run / "one"), two(run / "two");
  one.write(0, {{"loss", 2}, {"</script>", 1}});
  two.write(5, {{"loss", 0.5}});
  shown({"page", one.path().string(), two.path().string(), "--out", file});
  CHECK(read_file(file) == page(page_curves({one.path(), two.path()})));
  CHECK(read_file(file).find("<title>heed: one and two</title>") != std::string::npos);
  write_file(run.run / "metrics.jsonl", "{\"step\":0,\"held_out_loss\":0.5}\n");
  shown({"page", run.run.string(), one.path().string(), "--out", file});
  CHECK(read_file(file) == page(page_curves({run.run, one.path()})));
  CHECK(message([&] {
          shown({"page", run.run.string(), run.run.string(), run.run.string(), "--out", file});
        }).starts_with("expected up to two runs, or the directories of a Log, got 3"));
  std::filesystem::create_directory(run / "empty");
  write_file(run / "empty/metrics.jsonl", "");
  CHECK(message([&] {
          shown({"page", (run / "empty").string(), "--out", file});
        }) == (run / "empty").string() + ": metrics.jsonl has no numbers");
}

TEST_CASE("inspect page says which part of the run it could not measure") {
  const PageFiles run;
  const std::string file = (run / "page.html").string(), held_out = held_out_path(run.run).string();
  const auto said = [&] {  // on one line
    std::string text = shown({"page", run.run.string(), "--out", file});
    std::ranges::replace(text, '\n', ' ');
    return text;
  };
  CHECK(said().find(" Causes were not looked for: " + held_out + ": is missing; ") != std::string::npos);
  write_file(held_out, "{\"tokens\": 3}\n");
  CHECK(said().find(" Causes were not looked for: " + held_out + ":1: ") != std::string::npos);
  Example example = question(english_sentence());
  example.answer = "animal";
  write_jsonl(held_out, std::vector(3, example));
  CHECK(shown({"page", run.run.string(), "--out", file}).ends_with("MB; open it in a browser\n"));
}

TEST_CASE("A page holds a run's steps, sentences, metrics and model, and says what is missing") {
  const PageFiles run;
  write_file(run.run / "metrics.jsonl", "{\"step\":0,\"held_out_accuracy\":0.5}\n");
  const PageRun made = page_run(run.run);
  const Json& all = made.description;
  const std::string rest =
      R"("answers":[{"predicted":"animal","probability":0.9984}],"scores":[[[0.025,null],[0.010000000149011612,null]],[[0.0,null],[0.0,null]]]})";
  CHECK(all.at("steps").dump() == R"([{"step":0,)" + rest + R"(,{"step":400,)" + rest + "]");
  CHECK(all.at("heads").dump() == "[2,2]");
  CHECK(all.at("sentences")[0].at("antecedent") == 1);
  CHECK(all.at("metrics")[0].at("held_out_accuracy") == 0.5);
  CHECK(all.at("parameters") == small_model().parameters.numel());
  CHECK(all.at("sentences")[0].at("pointing").dump() == R"({"layer":1,"head":1})");
  CHECK(all.at("model").dump() == R"({"step":400,"cuts":true})");
  CHECK(parse_json(made.model).at("tensors").size() == small_model().parameters.size());
  CHECK(all.at("causes_missing").get<std::string>().starts_with("Causes were not looked for: "));

  std::filesystem::remove(model_path(run.run));
  CHECK(run.description().at("model_missing") == "The run directory has no model.safetensors.");

  // Parameters that exceed 2 MiB in float32 are held in float16, up to 2 MiB.
  const auto page_of = [&](int words) {
    Model large = small_model();
    for (int word = 0; large.vocabulary.size() < words; ++word) large.vocabulary.add(std::to_string(word));
    make_network(large, answerer_of(small_config()), 1);
    save_model(model_path(run.run), large);
    return page_run(run.run);
  };
  const PageRun halved = page_of(66'000);
  CHECK(halved.description.at("model").dump() == R"({"step":400,"cuts":true,"float16":true})");
  CHECK(parse_json(halved.model).at("tensors").at("encoder.0.mlp.in.bias").at("data").get<std::string>().size() == 44);
  const Json large = page_of(132'000).description;
  CHECK(large.at("model").is_null());
  CHECK(
      large.at("model_missing") ==
      "The model takes 2.38 MB in float16; a page holds models of up to 2.10 MB. inspect serve answers for any model.");

  // A page leaves out models with parts that it does not compute.
  const auto lacks = [&](void (*change)(TransformerConfig&), const LogitsConfig& logits = {}) {
    Model other = small_model();
    TransformerConfig shape = small_config();
    change(shape);
    make_network(other, word_answerer(shape, logits), 1);
    save_model(model_path(run.run), other);
    return page_run(run.run).description.at("model_missing").get<std::string>();
  };
  CHECK(lacks([](TransformerConfig& c) { c.shared_layers = true; }) ==
        "The model has transformer.shared_layers = true, which a page does not compute. inspect serve answers for any "
        "model.");
  CHECK(lacks([](TransformerConfig& c) {
          c.embedding_width = 4;
        }).starts_with("The model has transformer.embedding_width = 4, which"));
  CHECK(lacks([](TransformerConfig& c) {
          c.block.residual_scale = 2;
        }).starts_with("The model has transformer.block.residual_scale = 2.0, which"));
  CHECK(lacks([](TransformerConfig&) {}, {.scale = 2}).starts_with("The model has logits.scale = 2.0, which"));
}

TEST_CASE("page_run leaves out steps before the last if the page would be too large") {
  const PageFiles run;
  for (const int step : {100, 200, 300}) write_dump(run.run, {step, {english_sentence()}});
  const std::size_t size = page_run(run.run).weights[0][0].size();
  const auto steps_within = [&](std::size_t most) {
    const PageRun kept = page_run(run.run, 0, most);
    CHECK(kept.description.at("dumped_steps") == 5);
    CHECK(kept.weights.size() == kept.description.at("steps").size());
    std::string steps;
    for (const Json& step : kept.description.at("steps")) steps += step.at("step").dump() + " ";
    return steps;
  };
  CHECK(steps_within(6 * size) == "0 100 200 300 400 ");
  CHECK(steps_within(4 * size) == "0 200 400 ");
  CHECK(steps_within(3 * size) == "0 400 ");
  CHECK(steps_within(0) == "400 ");
}

TEST_CASE("A page holds the models that were kept at its steps, up to a size limit") {
  const PageFiles run;
  std::filesystem::create_directory(run.run / "models");
  for (const int step : {0, 100, 200, 300, 400}) {
    write_dump(run.run, {step, {english_sentence()}});
    Model model = small_model();
    model.step = step;
    save_model(dumped_model_path(run.run, step), model);
  }
  std::filesystem::remove(dump_path(run.run, 200));  // the page then does not have this step
  const auto steps_of = [](const PageRun& page) {
    std::string steps;
    for (std::size_t i = 0; i < page.models.size(); ++i) {
      const Json& step = page.description["steps"][i];
      CHECK(step.contains("model") == !page.models[i].empty());
      if (page.models[i].empty()) continue;
      const Json held = parse_json(page.models[i]);
      CHECK(held["step"] == step["step"]);
      CHECK(held["tensors"] == parse_json(page.model)["tensors"]);
      steps += step["step"].dump() + " ";
    }
    return steps;
  };
  const PageRun all = page_run(run.run);
  CHECK(steps_of(all) == "0 100 300 ");  // the last is the run's model
  CHECK(all.description["models_left_out"] == 0);
  const std::string html = page({all});
  CHECK(html.find("<script type=\"application/json\" id=\"model-0-1\">") != std::string::npos);
  CHECK(html.find("id=\"model-0-3\"") == std::string::npos);
  const std::size_t without = page({page_run(run.run, 0, max_page_bytes, {}, 0)}).size();
  const std::size_t two = without - page({}).size() + 5 * all.models[0].size() / 2;
  const PageRun some = page_run(run.run, 0, max_page_bytes, {}, two);
  CHECK(steps_of(some) == "0 300 ");
  CHECK(some.description["models_left_out"] == 1);
  CHECK(page({some}).size() < two + page({}).size());
  CHECK(page_run(run.run, 0, max_page_bytes, {}, 0).description["models_left_out"] == 3);

  Model other = small_model(Positions::none);
  save_model(dumped_model_path(run.run, 100), other);
  CHECK(run.error() == "RUN/models/step-000100.safetensors: is of another model than " + model_path(run.run).string() +
                           ": they are of different runs");
}

TEST_CASE("A page holds the history of causes if models were kept and antecedents are known") {
  const PageFiles run;
  Example example;
  example.tokens = {"dog", "street", "it"};
  example.query = 2, example.antecedent = 0;
  example.answer = "dog";
  write_jsonl(held_out_path(run.run), {example});
  CHECK_FALSE(run.description().contains("history"));
  std::filesystem::create_directory(run.run / "models");
  save_model(dumped_model_path(run.run, 400), small_model());
  CHECK(run.description().at("history") == history_json(cause_history(run.run)));
  example.antecedent = -1;
  write_jsonl(held_out_path(run.run), {example});
  CHECK_FALSE(run.description().contains("history"));
}

TEST_CASE("page_run refuses damaged metrics, snapshots that differ, and single files") {
  const PageFiles run;
  write_file(run.run / "metrics.jsonl", "{\"step\":0}\n{\n");
  CHECK(run.error().find("metrics.jsonl:2: not JSON at byte") != std::string::npos);
  std::filesystem::remove(run.run / "metrics.jsonl");
  write_dump(run.run, {200, {chinese_sentence()}});
  CHECK(run.error() == "RUN: the snapshots of steps 200 and 400 differ in their sentences, layers or heads");
  std::filesystem::remove_all(run.run / "attention");
  CHECK(run.error() == "RUN: has no snapshots of attention");
  CHECK(message([&] {
          page_run(model_path(run.run));
        }).ends_with(": is a single file; inspect page needs the run directory"));
}

TEST_CASE("page_run refuses snapshots of another model and a model whose values are not finite") {
  const PageFiles run;
  SentenceAttention deeper = english_sentence();
  deeper.layers.push_back(deeper.layers[0]);
  write_dump(run.run, {0, {deeper}});
  write_dump(run.run, {400, {deeper}});
  CHECK(run.error() ==
        "RUN/attention/step-000400.safetensors: comes from a model of 3 layers with 2 heads, but the run's model has 2 "
        "layers with 2 heads: they belong to different runs");
  write_dump(run.run, {0, {english_sentence()}});
  write_dump(run.run, {400, {english_sentence()}});
  Model huge = small_model();
  const Tensor gain = huge.parameters["encoder.0.attention_norm.gain"];
  Tensor(gain).copy_from(zeros(gain.shape()) + 3.4e38);
  save_model(model_path(run.run), huge);
  Example example;
  example.tokens = {"dog", "street", "it"};
  example.query = 2;
  example.answer = "dog";
  write_jsonl(held_out_path(run.run), {example});
  CHECK(
      run.error().starts_with("the model computes values that are not finite, the first of them in "
                              "encoder.0.attention_norm.output (1, 3, 8): "));
}
