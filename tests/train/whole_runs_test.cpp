#include "run/metrics.h"
#include "tests/catch.h"
#include "tests/train/train_scratch.h"
#include "tokenizers/internal/json.h"

#include <heed/formats/safetensors.h>

#include <cmath>

using namespace heed;
namespace fs = std::filesystem;

namespace {

// Minimal pairs of two candidates each; the cue word "big" or "tiny" decides.
std::string choices(const std::vector<std::string>& holders) {
  std::string lines;
  for (const std::string& holder : holders) {
    for (const char* thing : {"jam", "tea", "egg", "pin", "hat"}) {
      for (const bool big : {true, false}) {
        lines +=
            fmt::format(R"({{"tokens": ["the", "old", "{}", "hid", "the", "{}", "as", "it", "was", "{}"], "query": 7, )"
                        R"("candidates": [[0, 3], [4, 6]], "antecedent": {}}})",
                        holder, thing, big ? "big" : "tiny", big ? 0 : 1);
        lines += "\n";
      }
    }
  }
  return lines;
}

}  // namespace

TEST_CASE("examples/gpt2.yaml has the shape of GPT-2, and examples/llama.yaml that of LLaMA") {
  const TrainScratch place;
  fs::copy_file("examples/gpt2.yaml", place / "gpt2.yaml");
  fs::copy_file("examples/llama.yaml", place / "llama.yaml");
  const std::string text = " --set data.train=/usr/share/common-licenses/GPL-3 --set data.vocabulary=600 ";
  const Ended gpt2 = run_program(place, "train --dry-run --config gpt2.yaml" + text);
  INFO(gpt2.err << gpt2.out);
  CHECK(gpt2.code == 0);
  // 12 blocks of 12 d^2 + 13 d, a final norm, and the embeddings of 1024 positions and of words.
  const std::int64_t d = 768, words = 50257, all = 12 * (12 * d * d + 13 * d) + 2 * d + d * (1024 + words);
  CHECK(all == 124'439'808);                    // as in GPT-2
  CHECK(gpt2.out.starts_with("# model  86,"));  // with the vocabulary of a small text
  CHECK(gpt2.out.find(", d_model 768, mlp 3072\n") != std::string::npos);
  const Ended llama = run_program(place,
                                  "train --quiet --config llama.yaml --out l --set train.steps=1 "
                                  "--set optim.warmup=0 --set train.batch_size=2" +
                                      text);
  INFO(llama.err);
  CHECK(llama.code == 0);
  const SafeTensors model = read_safetensors(place / "l/model.safetensors");
  CHECK(model["encoder.5.attention.W_K.weight"].shape() == Shape{192, 64});
  CHECK(model["encoder.5.mlp.gate.weight"].shape() == Shape{192, 512});
  for (const auto& [name, tensor] : model.tensors) CHECK(name.find("bias") == std::string::npos);
}

TEST_CASE("model.from initialises a run from another, which the resumed run no longer needs") {
  const TrainScratch place;
  REQUIRE(place.error("train --quiet --config small.yaml --out a") == "0: ");
  const Ended run = run_program(
      place,
      "env --default-signal=INT train --config small.yaml --set data.task=bank --set model.from=a --out b & "
      "await [ -e b/checkpoint.safetensors ]; kill -INT $!; wait $!");
  CHECK((run.code == 130 || run.code == 0));
  CHECK(run.out.find("\nfrom   a/model.safetensors, step 60: ") != std::string::npos);
  CHECK(read_file(place / "b/config.yaml").find("\n  from: \"a\"\n") != std::string::npos);
  CHECK(place.error("mv a elsewhere && train --quiet --resume b") == "0: ");
  CHECK(run_program(place, "train --resume b").out.find("at step 0") != std::string::npos);

  CHECK(place.error("train --config small.yaml --set model.from=none --out c") ==
        "1: train: model.from: none: there is no such run or model\n");
  fs::create_directory(place / "empty");
  CHECK(place.error("train --config small.yaml --set model.from=empty --out c") ==
        "1: train: model.from: empty: expected a run or the directory of a pretrained model, found no "
        "model.safetensors and no config.json\n");
  CHECK(place.error("train --config small.yaml --set model.from=elsewhere --set model.heads=4 --set model.layers=1 "
                    "--out c") ==
        "1: train: model.from: elsewhere/model.safetensors: has another architecture:\n"
        "  block.attention.d_k: 8 in model.from, 4 in this configuration\n  block.attention.d_v: 8 in model.from, 4 in "
        "this configuration\n"
        "  block.attention.heads: 2 in model.from, 4 in this configuration\n  block.attention.kv_heads: 2 in "
        "model.from, 4 in this configuration\n"
        "  layers: 2 in model.from, 1 in this configuration\n");
  CHECK_FALSE(fs::exists(place / "c"));
}

TEST_CASE("train learns a text, inspect shows it, and inspect generate continues it") {
  const Scratch place;
  std::string text;
  for (int i = 0; i < 400; ++i) text += "the cat sat on the mat. the dog sat on the log.\n";
  write_file(place / "text.txt", text);
  write_file(place / "text.yaml",
             "name: text\n"
             "data: {task: text, train: text.txt, context: 48}\n"
             "model: {d_model: 32, heads: 2, mlp: 64}\n"
             "optim: {lr: 0.01}\n"
             "train: {steps: 120, batch_size: 8, evaluate_every: 60, checkpoint_every: 60}\n"
             "dump: {every: 60, sentences: 1}\n");
  const Ended run = run_program(place, "train --config text.yaml --set data.tokens=characters --out r");
  REQUIRE(run.err.empty());
  CHECK(run.out.find(
            "data   text: 17,280 characters to learn from, 1,920 held out, 15 different;\n       context 48\n") !=
        std::string::npos);
  CHECK(run.out.find("perplexity ") != std::string::npos);
  CHECK(run.out.find(" tokens/s") != std::string::npos);
  CHECK(run.out.find("\n  on the whole held-out text ") != std::string::npos);
  CHECK(run.out.ends_with("\nLook closer: inspect r\nContinue a text: inspect generate r --prompt TEXT\n"));
  const std::vector<Metrics> metrics = read_metrics(place / "r");
  REQUIRE(metrics.size() == 3);
  const Evaluation& last = metrics[2].held_out;
  CHECK(last.loss < 0.3);  // in a line, only choices such as "cat" or "dog" are unpredictable
  CHECK(last.perplexity == Approx(std::exp(last.loss)));
  CHECK(last.bits_per_byte == Approx(last.loss * 1919 / 1920 / std::log(2.0)));
  CHECK(last.accuracy > 0.9);

  const std::string writes = "inspect generate r --prompt 'the ' --temperature 0.5 --tokens 60 --seed 2";
  const Ended written = run_program(place, writes);
  CHECK((written.code == 0 && written.err.empty()));
  CHECK(written.out.size() == 64);
  CHECK(written.out.find("sat on the ") != std::string::npos);
  CHECK(run_program(place, "OMP_NUM_THREADS=1 " + writes).out == written.out);
  CHECK(run_program(place, "inspect generate r --prompt 'the ' --stop '\\n'").out.find('\n') == std::string::npos);
  CHECK(run_program(place, "inspect generate r --prompt 'the ' --tokens 100000 | head -c 10").out ==
        written.out.substr(0, 4) + run_program(place, "inspect generate r --prompt 'the ' --tokens 6").out.substr(4));

  for (const char* view : {"r", "r --matrix", "weights r", "steps r --sentence 'the cat sa'", "r --json", "verify r",
                           "causes r --limit 4", "r --sentence 'the dog' --query g", "page r --out r.html --limit 2"}) {
    CAPTURE(view);
    const Ended shown = run_program(place, std::string("inspect ") + view);
    CHECK(shown.err.empty());
    CHECK((shown.code == 0 && !shown.out.empty()));
  }
  CHECK(run_program(place, "inspect r --sentence 'the dog sat on th'").out.find("predicts e") != std::string::npos);
  const std::string model = read_file(place / "r/model.safetensors");
  const Ended again =
      run_program(place, "train --quiet --config text.yaml --set data.split=characters --out again --threads 1");
  CHECK((again.code == 0 && read_file(place / "again/model.safetensors") == model));
  CHECK(run_program(place, "train --check-gradients --config text.yaml --set data.context=8").code == 0);
}

TEST_CASE("A run that chooses among candidates ends with its report, and the views show the run") {
  const Scratch scratch;
  write_file(scratch / "train.jsonl", choices({"cup", "box", "jar", "bag", "pan", "can"}));
  write_file(scratch / "test.jsonl", choices({"urn", "cup"}));
  write_file(scratch / "c.yaml",
             "name: c\ndata: {task: candidates, train: train.jsonl, test: test.jsonl}\n"
             "model: {d_model: 16, dropout: 0.1}\ntrain: {steps: 150, batch_size: 16, evaluate_every: 75}\n"
             "optim: {lr: 1e-2}\ndump: {every: 75, sentences: 2}\n");
  const Ended ended = run_program(scratch, "heed-train --config c.yaml --out run");
  INFO(ended.out << ended.err);
  REQUIRE(ended.code == 0);
  const auto says = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  CHECK(says(ended.out, "\nLook closer: heed-inspect run\n"));
  CHECK(run_program(scratch, "cd run && heed-train --resume .").err ==
        "train: cannot read train.jsonl: No such file or directory; data paths are relative to the directory in which "
        "the run was started: resume it there, or give another path with --set data.train=FILE\n");
  CHECK(run_program(scratch, "heed-train --config c.yaml --set data.train=none.jsonl").err ==
        "train: cannot read none.jsonl: No such file or directory; data paths are relative to the working directory: "
        "start train elsewhere, or give another path with --set data.train=FILE\n");
  CHECK(says(ended.out, "note   10 held-out sentences left out: the training set has them, too"));
  CHECK(says(ended.out, "10 % of the 100 words in held-out sentences are unknown, and 7 % of the\n"));
  CHECK(says(ended.out, "held-out sentences: 10 sentences, 5 minimal pairs"));
  CHECK(says(ended.out, "  the model                                  100.0 %"));
  CHECK(says(ended.out, "  a coin                                      50.0 %"));
  CHECK(says(ended.out, "The loss contains no attention weight.\n"));

  const auto inspect = [&](const std::string& arguments) { return run_program(scratch, "heed-inspect " + arguments); };
  const Ended cards = inspect("report run test.jsonl --json");
  REQUIRE(cards.code == 0);
  const Json json = parse_json(cards.out);
  CHECK(json[0]["known"] == 10);
  CHECK(json[0]["model"]["share"] == 1.0);
  CHECK(says(inspect("report run").out, "held-out sentences: 10 sentences"));
  CHECK(says(inspect("report run train.jsonl").err, "train.jsonl: no sentence is left: 60 are in the training set"));
  CHECK(says(inspect("report run test.jsonl --probe 1").err, "(see heed-inspect report --help)"));
  CHECK(says(inspect("run --sentence 'the old urn'").err, "mark them with brackets"));
  CHECK(says(inspect("run --sentence '[the old sieve] hid [the jam] as it was big'").out, "predicts the old sieve"));
  CHECK(says(inspect("causes run --limit 10").out, "The model chooses among candidates, so no logit of a word"));
  CHECK(inspect("why run --probe 1").code == 0);
  CHECK(inspect("run --json").code == 0);
  CHECK(inspect("page run --out page.html --limit 10").code == 0);
  CHECK(says(read_file(scratch / "page.html"), "\"candidates.pointer.weight\""));  // the page computes with it
  CHECK(says(inspect("verify run").out, "baselines.safetensors"));
  CHECK(run_program(scratch, "heed-train --config c.yaml --check-gradients --set train.batch_size=4").code == 0);
  REQUIRE(run_program(scratch,
                      "heed-train --quiet --config c.yaml --set data.tokens=subwords --set data.vocabulary=300 --set "
                      "model.answer=word --set train.steps=2 --out pieces")
              .code == 0);
  CHECK(says(inspect("causes pieces --limit 2").out, "but the model reads pieces of words,\nso no logit"));
  std::filesystem::remove(scratch / "run" / "baselines.safetensors");
  CHECK(says(inspect("report run test.jsonl").err,
             "baselines.safetensors: is missing; heed-train --resume run writes it"));
  CHECK(run_program(scratch, "heed-train --resume run").code == 0);
  CHECK(inspect("report run test.jsonl").code == 0);
}
