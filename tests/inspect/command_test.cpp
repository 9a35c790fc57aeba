#include "inspect/command.h"

#include "inspect/output_file.h"
#include "inspect/run_studies.h"
#include "run/internal/program.h"
#include "tests/catch.h"
#include "tests/inspect/inspected_run.h"
#include "tests/message.h"
#include "tests/scratch.h"
#include "views/picture.h"

#include <heed/explain/score_parts.h>
#include <heed/files/file.h>
#include <heed/formats/datasets/jsonl.h>
#include <heed/version.h>

#include <fmt/ranges.h>

using namespace heed;
namespace fs = std::filesystem;

TEST_CASE("inspect shows the last snapshot or the chosen one") {
  const InspectedRun run;
  CHECK(run.inspect({"RUN"}) == query_view({400, {english_sentence()}}, {}));
  CHECK(run.inspect({"RUN", "--step", "0"}) == query_view({0, {chinese_sentence()}}, {}));
  CHECK(run.inspect({"RUN/attention/step-000000.safetensors"}) == query_view({0, {chinese_sentence()}}, {}));
  CHECK(run.inspect({"RUN", "--matrix", "--layer", "2", "--head=1"}) ==
        matrix_view({400, {english_sentence()}}, {.terminal = {}, .layer = 2, .head = 1, .before = nullptr}));
  CHECK(run.inspect({"--json", "RUN"}) == json_view({400, {english_sentence()}}));
}

TEST_CASE("inspect runs the saved model on a sentence") {
  const InspectedRun run;
  const Model model = small_model();
  const Dump dump{400, {attend(model, question(model, dog_sentence))}};
  CHECK(run.inspect({"RUN", "--sentence", dog_sentence}) == query_view(dump, {}));
  CHECK(run.inspect({"RUN", "--sentence", dog_sentence, "--json", "--step", "400"}) == json_view(dump));
  CHECK(run.inspect({"RUN", "--sentence", dog_sentence, "--query", "dog"}).find("  dog -> ") != std::string::npos);
  CHECK(run.inspect({"steps", "RUN", "--sentence", dog_sentence}) ==
        steps_view(model, question(model, dog_sentence), {}));
  CHECK(run.inspect({"weights", "RUN"}) == weights_view(model, {}));
  CHECK(run.error({"RUN", "--sentence", "The stret was it"}) ==
        "not among the 14 words that the model knows: 'stret' (did you mean 'street'?)");
}

TEST_CASE("inspect --step uses the model that was kept with that snapshot") {
  const InspectedRun run;
  Model first = small_model(Positions::none);
  first.step = 0;
  fs::create_directory(run.path / "models");
  save_model(dumped_model_path(run.path, 0), first);
  write_dump(run.path, {0, {english_sentence()}});
  write_jsonl(held_out_path(run.path), std::vector(2, dog_example()));
  CHECK(run.inspect({"weights", "RUN", "--step", "0"}) == weights_view(first, {}));
  CHECK(run.inspect({"weights", "RUN"}) == weights_view(small_model(), {}));
  CHECK(run.inspect({"steps", "RUN", "--sentence", dog_sentence, "--step", "0"}) ==
        steps_view(first, question(first, dog_sentence), {}));
  const Dump dump{0, {english_sentence()}};
  CHECK(run.inspect({"why", "RUN", "--step", "0"}) ==
        why_attends_view(why_attends(first, dump, dump.sentences, {}), dump, {}));
  CHECK(run.inspect({"causes", "RUN", "--step", "0"}) == causes_view(causes(first, run.path), {}));
  CHECK(parse_json(run.inspect({"causes", "RUN", "--json", "--step", "0"}))["step"] == 0);
  CHECK(run.error({"weights", "RUN", "--step", "7"}) ==
        "RUN: has no model of step 7; it has models of steps 0, and of the last, 400");
  write_file(dumped_model_path(run.path, 0), "x");
  CHECK(run.error({"weights", "RUN", "--step", "0"}).starts_with("RUN/models/step-000000.safetensors: "));
}

TEST_CASE("inspect history and inspect match print cause_history() and match_heads() of runs") {
  const InspectedRun run;
  write_jsonl(held_out_path(run.path), std::vector(4, dog_example()));
  fs::create_directory(run.path / "models");
  save_model(dumped_model_path(run.path, 400), small_model());
  CHECK(run.inspect({"history", "RUN"}) == history_view(cause_history(run.path), {}));
  CHECK(parse_json(run.inspect({"history", "RUN", "--json", "--limit", "2"}))["sentences"] == 2);
  const Scratch others;
  const std::string b = others / "b", c = others / "c";
  for (const std::string& other : {b, c}) fs::copy(run.path, other, fs::copy_options::recursive);
  const MatchedHeads matched = match_heads({run.path, b, c});
  CHECK(run.inspect({"match", "RUN", b, c}) == matched_heads_view(matched, {}));
  CHECK(parse_json(run.inspect({"match", "RUN", b, "--json"}))["similarity"] == 1);
  CHECK(run.error({"match", "RUN", b, b}) == b + ": this run is given twice; expected different runs");
}

TEST_CASE("inspect causes measures as many held-out sentences as --limit allows") {
  const InspectedRun run;
  write_jsonl(held_out_path(run.path), std::vector(3, dog_example()));
  const Json json = parse_json(run.inspect({"causes", "RUN", "--json", "--limit", "2"}));
  CHECK(json["sentences"] == 2);
  CHECK(json["held_out"] == 3);
  CHECK(json["attribution"][0]["tokens"] == english_sentence().tokens);  // of the last snapshot
  const Causes found = causes(small_model(), run.path, {.most = 2});
  CHECK(run.inspect({"causes", "RUN", "--limit", "2"}) == causes_view(found, {}));
}

TEST_CASE("inspect export writes SVG, CSV and NPY files and replaces an older SVG file") {
  const InspectedRun run;
  write_file(run.path / "it.svg", "<svg old");
  const std::string svg = attention_svg(english_sentence(), 400, {});
  CHECK(run.inspect({"export", "RUN", "--svg", "RUN/it.svg", "--csv", "RUN/it.csv"}) ==
        fmt::format("{0}/it.svg: {1} bytes\n{0}/it.csv: {2} bytes\n", run.path.string(), svg.size(),
                    attention_csv({400, {english_sentence()}}, {}).size()));
  CHECK(read_file(run.path / "it.svg") == svg);
  View view;
  view.layer = 1, view.head = 1;
  run.inspect({"export", "RUN", "--step", "0", "--probe", "1", "--layer=1", "--head=1", "--npy", "RUN/it.npy"});
  CHECK(read_file(run.path / "it.npy") == attention_npy(chinese_sentence(), view));
  run.inspect({"export", "RUN", "--sentence", dog_sentence, "--csv", "RUN/dog.csv"});
  CHECK(read_file(run.path / "dog.csv").find(",it,dog,") != std::string::npos);
}

TEST_CASE("inspect replaces a file of another kind only with --force") {
  const InspectedRun run;
  write_file(run.path / "notes.txt", "mine");
  for (const char* option : {"--svg", "--csv", "--npy", "--out"}) {
    INFO(option);
    const char* command = option == std::string_view("--out") ? "page" : "export";
    CHECK(run.error({command, "RUN", option, "RUN/notes.txt"})
              .starts_with("RUN/notes.txt: exists and is a file of another kind "));
    CHECK(run.error({command, "RUN", option, "RUN/model.safetensors", "--force"})
              .starts_with("RUN/model.safetensors: belongs to "));
  }
  CHECK(read_file(run.path / "notes.txt") == "mine");
  run.inspect({"export", "RUN", "--csv", "RUN/notes.txt", "--force"});
  CHECK(read_file(run.path / "notes.txt").starts_with(csv_beginning));
  run.inspect({"export", "RUN", "--csv", "RUN/notes.txt"});  // a table is replaced by a table
  CHECK(run.inspect({"export", "RUN", "--csv", "/dev/stdout"}) == attention_csv({400, {english_sentence()}}, {}));
  CHECK(attention_svg(english_sentence(), 0, {}).starts_with(svg_beginning));
  CHECK(attention_npy(english_sentence(), {}).starts_with(npy_beginning));
}

TEST_CASE("inspect reports progress with the name of the computation and of the run") {
  const InspectedRun run;
  write_jsonl(held_out_path(run.path), std::vector(2, dog_example()));
  const std::string path = run.path.string(), page = path + "/it.html";
  std::vector<std::string> told;
  const auto progress = [&](const std::string& what, double, double) {
    if (told.empty() || told.back() != what) told.push_back(what);
  };
  const std::vector<const char*> causes{"inspect", "causes", path.c_str()};
  heed::inspect(3, causes.data(), {}, progress);
  CHECK(told == std::vector<std::string>{"causes of " + path});
  told.clear();
  write_dump(run.path, {0, {english_sentence()}});
  const std::vector<const char*> written{"inspect", "page", path.c_str(), "--out", page.c_str()};
  heed::inspect(5, written.data(), {}, progress);
  CHECK(told == std::vector<std::string>{"snapshots of " + path, "causes of " + path});
  CHECK(read_file(page).starts_with(page_beginning));
}

TEST_CASE("Every view of a damaged run succeeds or names the damaged file") {
  const InspectedRun run;
  write_jsonl(held_out_path(run.path), {dog_example()});
  write_dump(run.path, {0, {english_sentence()}});
  const std::vector<std::vector<std::string>> views{{"RUN"},
                                                    {"RUN", "--matrix"},
                                                    {"RUN", "--json"},
                                                    {"weights", "RUN"},
                                                    {"causes", "RUN"},
                                                    {"export", "RUN", "--svg", "RUN/a.svg"},
                                                    {"compare", "RUN", "RUN"},
                                                    {"page", "RUN", "--out", "RUN/a.html"},
                                                    {"RUN", "--sentence", dog_sentence},
                                                    {"steps", "RUN", "--sentence", dog_sentence}};
  const auto all_of = [&](const char* file) {
    for (const std::vector<std::string>& view : views) {
      INFO(fmt::format("{} with a damaged {}", fmt::join(view, " "), file));
      const std::string text = run.error(view);
      CHECK((text == "no error" || text.find(file) != std::string::npos));
    }
  };
  const std::filesystem::path last = dump_path(run.path, 400);
  const std::string model = read_file(model_path(run.path)), dump = read_file(last);
  for (const std::string& bytes : {std::string(), std::string("x"), model.substr(0, model.size() / 2), dump}) {
    write_file(model_path(run.path), bytes);
    all_of("model.safetensors");
    CHECK(run.error({"weights", "RUN"}).starts_with("RUN/model.safetensors: "));
  }
  write_file(model_path(run.path), model);
  for (const std::string& bytes : {std::string(), std::string("x"), dump.substr(0, dump.size() / 2), model}) {
    write_file(last, bytes);
    all_of("step-000400.safetensors");
    CHECK(run.error({"RUN"}).starts_with("RUN/attention/step-000400.safetensors: "));
  }
  write_file(last, dump);
  for (const char* metrics :
       {R"({"step":400,"antecedent_weight":[[]]})", R"([])", R"({"step":400,"antecedent_weight":5})",
        R"({"step":1e99})", "\xff", R"({"step":400,"antecedent_weight":[["a"]]})"}) {
    write_file(run.path / "metrics.jsonl", metrics);
    all_of("metrics.jsonl");
    CHECK(run.error({"compare", "RUN", "RUN"}).starts_with("RUN/metrics.jsonl"));
  }
  write_file(run.path / "metrics.jsonl", R"({"step":400,"antecedent_weight":[],"held_out_loss":null})"
                                         "\n");
  CHECK(run.inspect({"compare", "RUN", "RUN"}).find("weight on antecedent, best head") != std::string::npos);
}

TEST_CASE("The message for a path that is not a run describes it and says how to proceed") {
  const InspectedRun run;
  write_file(run.path / "config.yaml", "");
  const std::string file = (run.path / "config.yaml").string();
  CHECK(message([&] { run.inspect({file}); }) ==
        fmt::format("{0}: is a configuration, not a run; train --config {0} trains it and makes a run", file));
  write_file(run.path / "mine.jsonl", "{}\n");
  CHECK(message([&] { run.inspect({(run.path / "mine.jsonl").string()}); })
            .ends_with("mine.jsonl: is data, not a run; name it as data.train in a configuration, and train that: "
                       "train --config FILE"));
  CHECK(message([&] { run.inspect({"/dev/null"}); }) ==
        "/dev/null: is a device or FIFO; expected the directory of a run or model, or a file");
  const Scratch runs;
  CHECK(message([&] {
          run.inspect({runs.path.string()});
        }).ends_with(": is not a run or a model: expected the config.yaml of a run or the config.json of a model"));
  for (const char* name : {"b", "a"}) {
    fs::create_directory(runs / name);
    write_file(runs / name / "config.yaml", "");
  }
  CHECK(
      message([&] { run.inspect({runs.path.string()}); }) ==
      fmt::format("{0}: is not a run, but a directory of runs; inspect one of them: {0}/a, {0}/b", runs.path.string()));
}

TEST_CASE("inspect compare --probe compares only the chosen sentence") {
  const InspectedRun run;
  SentenceAttention other = english_sentence();
  other.tokens[1] = "dog";
  write_dump(run.path, {500, {other, english_sentence()}});
  write_dump(run.path, {600, {english_sentence(), other}});
  const std::string second = run.inspect({"compare", "RUN", "--step", "500", "--step", "600", "--probe", "2"});
  CHECK(second.find("animal") != std::string::npos);
  CHECK(second.find("dog") == std::string::npos);
  CHECK(second.find("left out") == std::string::npos);
  CHECK(run.error({"compare", "RUN", "--step", "500", "--step", "600", "--probe", "3"}) ==
        "--probe: expected a number from 1 to 2, got 3");
  CHECK(run.error({"compare", "RUN", "--step", "500", "--step", "400", "--probe", "1"})
            .starts_with("RUN: did not watch sentence 1 of "));
}

TEST_CASE("A view of the last snapshot says if the model is of a later step") {
  const InspectedRun run;
  Model model = small_model();
  model.step = 450;
  save_model(model_path(run.path), model);
  const std::string text = run.inspect({"RUN"});
  CHECK(text.find("\nThe model is of step 450; the last snapshot is of step 400. ") != std::string::npos);
  CHECK(run.inspect({"RUN", "--matrix"}).find("The model is of step 450;") != std::string::npos);
  CHECK(run.inspect({"RUN", "--step", "400"}) == query_view({400, {english_sentence()}}, {}));
  write_file(model_path(run.path), "damaged");
  CHECK(run.inspect({"RUN"}) == query_view({400, {english_sentence()}}, {}));
}

TEST_CASE("inspect compares two steps, or two runs") {
  const InspectedRun run;
  SentenceAttention changed = english_sentence();
  changed.predicted = "street";
  changed.probability = 0.5;
  changed.layers[1] = weights_of(7, {{0, .25, 0, 0, 0, .75, 0, 0, 0, 0, 0}, {0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}});
  write_dump(run.path, {200, {changed}});
  write_file(run.path / "metrics.jsonl",
             R"({"step":200,"train_loss":1.5,"held_out_loss":2.25,"held_out_accuracy":0.5,"twin_accuracy":null,)"
             R"("antecedent_weight":[[0.1,0.9],[0.25,0.125]]})"
             "\n");
  CHECK("\n" + run.inspect({"compare", "RUN", "--step", "200", "--step", "400", "--layer", "2"}) == R"(
                                                step 200              step 400
step                                                 200                   400
loss in training                                  1.5000                     -
loss on held-out examples                         2.2500                     -
accuracy                                          50.0 %                     -
both of a pair                                         -                     -
weight on antecedent, best head      0.90 layer 1 head 2                     -

The [animal] didn't cross the street because it was too tired
predicts            street   0.500        animal   0.998        most apart
layer 2 head 1      street   0.75 ████▌   animal   0.93 █████▋◂ street   -0.72
layer 2 head 2      animal   1.00 ██████◂ animal   1.00 ██████◂ The      +0.00

[brackets] and ◂ mark the antecedent: what the query refers to.
)");
  const std::string same = run.inspect({"compare", "RUN", "RUN", "--step", "400"});
  CHECK(same.find("tired    0.60") != std::string::npos);
  CHECK(run.inspect({"compare", "RUN", "--step", "0", "--step", "400"})
            .ends_with("\nLeft out: 2 sentences that only one of them watched.\n"));
  CHECK(run.inspect({"compare", "RUN", "RUN/attention/step-000200.safetensors"})
            .ends_with("\nHeads are compared by number; in two runs the same number need not do the same.\n"));
  write_file(run.path / "metrics.jsonl", "{}\nx\n");
  CHECK(run.error({"compare", "RUN", "RUN"})
            .starts_with("RUN/metrics.jsonl:1: expected an object {\"step\": ...} with a step from 0\n"));
}

TEST_CASE("inspect names the missing run, snapshot, model or sentence") {
  const InspectedRun run;
  CHECK(run.error({"RUN/nowhere"}) ==
        "RUN/nowhere: there is no such run or model; train --config FILE makes a run, and hf download OWNER/NAME "
        "--local-dir DIR fetches a model of Hugging Face");
  CHECK(run.error({"RUN", "--step", "7"}) == "RUN: has no snapshot of step 7; there are 0, 400");
  CHECK(run.error({"weights", "RUN/attention"}) ==
        "RUN/attention: is not a run or a model: expected the config.yaml of a run or the config.json of a model");
  CHECK(run.error({"weights", "RUN", "--step", "0"}) ==
        "RUN: keeps only the model of step 400, not that of step 0. With dump.weights: true, train keeps the model of "
        "each snapshot");
  CHECK(run.error({"RUN/attention/step-000000.safetensors", "--step", "400"}) ==
        "RUN/attention/step-000000.safetensors: is the snapshot of step 0, not 400");
  CHECK(run.error({"weights", "RUN/attention/step-000000.safetensors"})
            .starts_with("RUN/attention/step-000000.safetensors: not a heed model: metadata entry '"));
  CHECK(run.error({"weights", "RUN/model.safetensors", "--step", "7"}) ==
        "RUN/model.safetensors: is the model of step 400, not 7");
  CHECK(run.error({"causes", "RUN/model.safetensors"}) ==
        "RUN/model.safetensors: is a single file; expected a run directory with held-out sentences");
  CHECK(run.error({"report", "RUN"}).starts_with("a report needs a model that chooses among candidates"));
  CHECK(run.error({"causes", "RUN"}).starts_with("RUN/held_out.jsonl: is missing; "));
  std::filesystem::create_directory(run.path / "log");
  write_file(run.path / "log/metrics.jsonl", "{\"step\":0,\"loss\":1}\n");
  CHECK(run.error({"causes", "RUN/log"}) ==
        "RUN/log: has the numbers of a Log and no model; inspect curves and inspect page draw them");
  CHECK(run.error({"RUN", "--probe", "2"}) == "--probe: expected a number from 1 to 1, got 2");
  CHECK(run.error({"export", "RUN", "--csv", "/nowhere/a.csv"}) ==
        "cannot write /nowhere/a.csv: No such file or directory: the directory /nowhere does not exist");
  CHECK(
      run.error({"RUN/model.safetensors"}) ==
      "RUN/model.safetensors: is a model, without sentences whose attention was kept: ask it with --sentence TEXT, or "
      "see inspect weights");
}

TEST_CASE("inspect serve opens the file of a model without a sentence") {
  struct Served {};
  const InspectedRun run;
  std::filesystem::create_directory(run.path / "alone");
  std::filesystem::copy(model_path(run.path), run.path / "alone");
  const auto serve = [&](const std::filesystem::path& file) {
    const std::string name = file.string();
    const std::array argv{"inspect", "serve", name.c_str()};
    std::string address;
    CHECK_THROWS_AS(inspect(3, argv.data(), {}, {},
                            [&](std::string_view written) -> bool {
                              address = written;
                              throw Served();  // in place of Ctrl+C
                            }),
                    Served);
    return address;
  };
  CHECK(serve(model_path(run.path)).starts_with("http://127.0.0.1:"));  // begins with a watched sentence
  // A model of few words alone, which cannot read the usual first sentence.
  Model other;
  other.vocabulary.add("it");
  make_network(other, small_model().config(), 1);
  save_model(model_path(run.path / "alone"), other);
  CHECK(run.error({"serve", "RUN/alone/model.safetensors"})
            .starts_with("RUN/alone/model.safetensors: give a text that the model reads with --sentence; it cannot "
                         "read the usual one: "));
}
