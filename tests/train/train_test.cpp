#include "files/json.h"
#include "run/metrics.h"
#include "tests/catch.h"
#include "tests/terminal.h"
#include "tests/train/program.h"

#include <heed/files/safetensors.h>

#include <cmath>

using namespace heed;
namespace fs = std::filesystem;

namespace {

struct TrainScratch : Scratch {
  TrainScratch() {
    write_file(*this / "small.yaml",
               "name: small\n"
               "data: {sentences: 200, held_out: 40}\n"
               "model: {d_model: 16, dropout: 0.2}\n"
               "train: {steps: 60, batch_size: 8, evaluate_every: 20, checkpoint_every: 25}\n"
               "dump: {every: 15, sentences: 2}\n");
  }

  // Returns the exit code, a colon, and the text on stderr.
  std::string error(const std::string& command) const {
    const Ended ended = run_program(*this, command);
    return std::to_string(ended.code) + ": " + ended.err;
  }
};

}  // namespace

TEST_CASE("train refuses a command line or file that it does not understand, and writes nothing") {
  const TrainScratch place;
  CHECK(place.error("train") == "2: train: expected either --config FILE or --resume DIR (see train --help)\n");
  CHECK(place.error("train extra") == "2: train: unexpected 'extra' (see train --help)\n");
  CHECK(place.error("train small.yaml") ==
        "2: train: unexpected 'small.yaml'; did you mean --config small.yaml? (see train --help)\n");
  CHECK(place.error("train --config small.yaml --set model.heads 4") ==
        "2: train: unexpected '4'; did you mean --set model.heads=4? (see train --help)\n");
  CHECK(place.error("train --config small.yaml model.heads=4") ==
        "2: train: unexpected 'model.heads=4'; did you mean --set model.heads=4? (see train --help)\n");
  CHECK(place.error("train --foo").starts_with("2: train: "));
  CHECK(place.error("train --config small.yaml --threads 0") ==
        "2: train: --threads must be at least 1 (see train --help)\n");
  CHECK(place.error("train --config small.yaml --threads 100000") ==
        "2: train: --threads must be at most 1024 (see train --help)\n");
  CHECK(place.error("OMP_NUM_THREADS=99999999999 train --config small.yaml")
            .ends_with("train: OMP_NUM_THREADS: expected from 1 to 1024 threads, got '99999999999'\n"));
#if !defined(HEED_SANITIZED)  // sanitizers need a larger stack
  CHECK(place.error("(ulimit -s 64; train --config small.yaml)") ==
        "1: train: the stack is limited to 64 KiB; expected at least 128 KiB (ulimit -s 128)\n");
#endif
  CHECK(place.error("train --config small.yaml --threads 1e3") ==
        "2: train: --threads: expected a whole number, got '1e3' (see train --help)\n");
  CHECK(place.error("train --config small.yaml --out ''") ==
        "2: train: --out must name a directory, got an empty name (see train --help)\n");
  CHECK(place.error("train --config ''") ==
        "2: train: --config must name a file, got an empty name (see train --help)\n");
  CHECK(place.error("train --config none.yaml") == "1: train: cannot read none.yaml: No such file or directory\n");
  CHECK(place.error("train --config small.yaml --set model.heads=0") ==
        "1: train: --set model.heads=0: model.heads must be an integer from 1 to 64, got '0'\n");
  CHECK(place.error("train --resume none") == "1: train: none: the run to resume does not exist\n");
  CHECK(run_program(place, "train --config small.yaml --dry-run").code == 0);
  CHECK(place.files() == 3);  // small.yaml, out.txt, err.txt
}

TEST_CASE("train never overwrites a run or a user's files, and refuses a truncated checkpoint") {
  const TrainScratch place;
  const Ended run = run_program(place, "train --quiet --config small.yaml --out r --threads 1");
  CHECK((run.code == 0 && run.out.empty() && run.err.empty()));
  CHECK(place.error("train --config small.yaml --out r") ==
        "1: train: r: already exists, and a run never overwrites another; choose another --out, continue it with "
        "--resume r, or remove it\n");

  fs::create_directory(place / "mine");
  write_file(place / "mine/notes", "");
  CHECK(place.error("train --config small.yaml --out mine") ==
        "1: train: mine: already exists and is not a run; choose another --out\n");
  const std::string longest(300, 'x'), shown = std::string(59, 'x') + "…";
  CHECK(place.error("train --config small.yaml --out " + longest) ==
        "1: train: " + shown + ": cannot be made: File name too long\n");
  CHECK(place.error("train --resume " + longest) == "1: train: " + shown + ": the run to resume does not exist\n");

  const std::string model = read_file(place / "r/model.safetensors");
  write_file(place / "r/model.safetensors.tmp-12-3", "half");
  write_file(place / "r/attention/step-000015.safetensors.tmp-12-4", "half");
  const std::vector<std::string> mine{"notes.tmp-2024-01-01",     "notes.txt.tmp-2-3",
                                      "model.safetensors.tmp-12", "model.safetensors.tmp-12-3-4",
                                      "model.safetensors.tmp--3", "step-.safetensors.tmp-1-2"};
  for (const std::string& name : mine) write_file(place / ("r/" + name), "mine");
  CHECK(place.error("train --quiet --resume r") == "0: ");
  CHECK(read_file(place / "r/model.safetensors") == model);
  CHECK_FALSE(fs::exists(place / "r/model.safetensors.tmp-12-3"));
  for (const std::string& name : mine) CHECK(fs::exists(place / ("r/" + name)));
  CHECK_FALSE(fs::exists(place / "r/attention/step-000015.safetensors.tmp-12-4"));
  CHECK(place.error("flock r train --resume r") ==
        "1: train: r: another train is at work on this run; wait for it, or stop it\n");

  const std::string checkpoint = read_file(place / "r/checkpoint.safetensors");
  write_file(place / "r/checkpoint.safetensors", checkpoint.substr(0, 300));
  const std::string cut = place.error("train --quiet --resume r");
  CHECK(cut.starts_with("1: train: r/checkpoint.safetensors: not a safetensors file: "));
  CHECK(cut.ends_with(" Is it truncated?\n"));
}

TEST_CASE("train starts a run again that was killed before it wrote its configuration") {
  const TrainScratch place;
  fs::create_directory(place / "r");
  write_file(place / "r/config.yaml.tmp-12-1", "half");
  CHECK(place.error("train --resume r") ==
        "1: train: r: config.yaml is missing, so this is not a run; start one with train --config FILE --out r\n");
  CHECK(place.error("train --quiet --config small.yaml --out r") == "0: ");
  CHECK_FALSE(fs::exists(place / "r/config.yaml.tmp-12-1"));
}

TEST_CASE("A stopped train erases its progress line, and inspect says that the model is newer") {
  if (!has_pseudo_terminals()) return;
  const TrainScratch place;
  const Ended stopped =
      run_program(place,
                  "script -qec 'echo $$ > pid; exec train --config small.yaml --set train.steps=100000 --set "
                  "dump.every=90000 --set train.checkpoint_every=1 --out r' typescript >/dev/null & await grep -q "
                  "step.[1-9] typescript; kill -TERM $(cat pid); wait $!; tail -c 400 typescript");
  CAPTURE(stopped.out);
  CHECK(stopped.out.find("\r\x1b[Jtrain: stopped after step ") != std::string::npos);
  const Ended shown = run_program(place, "inspect r");
  CHECK(shown.out.find("\nThe model is of step ") != std::string::npos);
  CHECK(shown.out.find("; the last snapshot is of step 0. ") != std::string::npos);
}

TEST_CASE("A run stopped by SIGINT or SIGTERM resumes and ends with the same model") {
  const TrainScratch place;
  CHECK(place.error("train --quiet --config small.yaml --out alone --set train.steps=1000") == "0: ");
  for (const std::string signal : {"INT", "TERM"}) {
    const std::string out = "stopped-" + signal;
    // A background job of sh ignores SIGINT.
    const std::string said =
        place.error("env --default-signal=INT train --quiet --config small.yaml --set train.steps=1000 --out " + out +
                    " & await [ -e " + out + "/checkpoint.safetensors ]; kill -" + signal + " $!; wait $!");
    CHECK(said.starts_with((signal == "INT" ? "130" : "143") + std::string(": train: stopped after step ")));
    CHECK(said.ends_with(" of 1000; the run is saved. Continue with: train --resume " + out + "\n"));
    CHECK(place.error("train --quiet --threads 1 --resume " + out) == "0: ");
    CHECK(read_file(place / (out + "/model.safetensors")) == read_file(place / "alone/model.safetensors"));
  }
}

TEST_CASE("A background run of a script ignores SIGINT") {
  const TrainScratch place;
  CHECK(place.error("train --quiet --config small.yaml --set train.steps=1000 --out r & await [ -e "
                    "r/checkpoint.safetensors ]; kill -INT $!; wait $!") == "0: ");
  CHECK(fs::exists(place / "r/attention/step-001000.safetensors"));
}

TEST_CASE("Two concurrent trains create two runs; with the same --out, one of them fails") {
  const TrainScratch place;
  const Ended both = run_program(
      place, "(train --quiet --config small.yaml; echo $? >a) & (train --quiet --config small.yaml; echo $? >b); wait");
  CHECK(both.err.empty());
  CHECK((read_file(place / "a") == "0\n" && read_file(place / "b") == "0\n"));
  CHECK(read_file(place / "runs/small/model.safetensors") == read_file(place / "runs/small-2/model.safetensors"));

  const Ended one = run_program(place,
                                "(train --quiet --config small.yaml --out r; echo $? >a) & "
                                "(train --quiet --config small.yaml --out r; echo $? >b); wait; cat a b");
  CHECK((one.out == "0\n1\n" || one.out == "1\n0\n"));
  CHECK(one.err.starts_with("train: r: "));
}

TEST_CASE("train completes the run and exits with 1 if it cannot write to standard output") {
  const TrainScratch place;
  CHECK(place.error("train --config small.yaml --out r >/dev/full").starts_with("1: train: cannot write to "));
  CHECK(fs::exists(place / "r/attention/step-000060.safetensors"));
  CHECK(place.error("train --help >/dev/full").starts_with("1: train: cannot write to "));
  CHECK(place.error("train --help >&-").starts_with("1: train: cannot write to "));
  CHECK(run_program(place, "train --quiet --config small.yaml --out s >&- 2>&-").code == 0);
  const Ended refused = run_program(place, "train --config small.yaml --out r 2>&-");
  CHECK(refused.code == 1);
  CHECK(read_file(place / "r/config.yaml").starts_with("name: "));  // no message was written into a file
  CHECK(run_program(place, "train --config none.yaml 2>&- >&-").code == 1);
}

TEST_CASE("train --resume writes missing files of a finished run again") {
  const TrainScratch place;
  REQUIRE(place.error("train --quiet --config small.yaml --out r") == "0: ");
  const auto again = [&](const std::string& file, const std::string& damage) {
    CAPTURE(file, damage);
    const std::string before = read_file(place / ("r/" + file));
    const Ended ended = run_program(place, damage + "; train --resume r");
    CHECK(ended.code == 0);
    CHECK(ended.out.find("Look closer: inspect r") != std::string::npos);
    CHECK(read_file(place / ("r/" + file)) == before);
  };
  again("model.safetensors", "rm r/model.safetensors");
  again("attention/step-000000.safetensors", "rm r/attention/*");
  again("attention/step-000060.safetensors", "rm -r r/attention");
  again("metrics.jsonl", ": > r/metrics.jsonl");
  again("metrics.jsonl", "rm r/metrics.jsonl");
  again("held_out.jsonl", "rm r/held_out.jsonl");
}

TEST_CASE("A checkpoint that contradicts itself is refused") {
  const TrainScratch place;
  REQUIRE(place.error("train --quiet --config small.yaml --out r") == "0: ");
  const SafeTensors whole = read_safetensors(place / "r/checkpoint.safetensors");
  const auto with = [&](const char* key, const Json& value) {
    SafeTensors content = whole;
    Json progress = parse_json(content.metadata.at("heed.progress"));
    progress[key] = value;
    content.metadata["heed.progress"] = format_json(progress);
    write_safetensors(place / "r/checkpoint.safetensors", content);
    return place.error("train --quiet --resume r");
  };
  const std::string start = "1: train: r/checkpoint.safetensors: metadata 'heed.progress' cannot be read: ";
  CHECK(with("step", -1) == start + "'step': expected an integer from 0, got -1\n");
  CHECK(with("step", 4.7) == start + "'step': expected an integer from 0, got 4.7\n");
  CHECK(with("step", "60") == start + "'step': expected an integer from 0, got \"60\"\n");
  CHECK(with("step", 1000000) ==
        "1: train: r/checkpoint.safetensors: contradicts itself: 1000000 steps taken, 60 by the optimiser\n");
  CHECK(with("loss_sum", nullptr) == start + "'loss_sum': expected a number, got null\n");
  CHECK(with("metrics", Json::array()) == start + "'metrics': expected lines, got []\n");
  CHECK(with("metrics", {"{\"step\":61}"}) == start + "'metrics': the last is of step 61, after step 60\n");
  CHECK(with("step", 60) == "0: ");
}

TEST_CASE("train --resume extends a finished run, and an interruption on the way changes no bit") {
  const TrainScratch place;
  REQUIRE(place.error("train --quiet --config small.yaml --out a") == "0: ");
  REQUIRE(place.error("cp -r a b && cp -r a c") == "0: ");
  const Ended longer = run_program(place, "train --resume a --set train.steps=300 --set optim.lr=0.001");
  CHECK(longer.code == 0);
  CHECK(longer.out.find("from   step 60 of 300: optim.lr 0.001 (was 0.003), train.steps 300 (was 60); the\n"
                        "       new schedule holds from there\n") != std::string::npos);
  CHECK(read_file(place / "a/config.yaml").find("\n  steps: 300\n") != std::string::npos);
  CHECK(fs::exists(place / "a/attention/step-000300.safetensors"));

  // Killed before the end, then resumed without any setting.
  const std::string killed = place.error(
      "train --quiet --resume b --set train.steps=300 --set optim.lr=0.001 & "
      "await grep -q '\"step\":100,' b/metrics.jsonl; kill -9 $!; wait $!");
  CHECK(killed.starts_with("137: "));
  CHECK(place.error("train --quiet --resume b --threads 1") == "0: ");
  for (const std::string file : {"config.yaml", "model.safetensors", "metrics.jsonl", "checkpoint.safetensors"}) {
    CAPTURE(file);
    CHECK(read_file(place / ("a/" + file)) == read_file(place / ("b/" + file)));
  }

  const std::string before = read_file(place / "c/config.yaml");
  CHECK(place.error("train --resume c --set train.steps=20") ==
        "1: train: --set train.steps=20: train.steps must be at least the 60 steps already taken, got 20\n");
  CHECK(place.error("train --resume c --set optim.lr=0.1") ==
        "1: train: c: all of its 60 steps are done, so these settings would change nothing: optim.lr 0.1 (was 0.003); "
        "also raise train.steps\n");
  CHECK(place.error("train --resume c --set model.heads=4")
            .starts_with("1: train: --set model.heads=4: model.heads cannot change when a run is resumed; these keys "
                         "can: data.train, "));
  CHECK(read_file(place / "c/config.yaml") == before);
  CHECK(run_program(place, "train --resume c")
            .out.find("from   step 60 of 60: nothing is left to train; --set train.steps=N extends it\n") !=
        std::string::npos);
  CHECK(run_program(place, "train --help").out.find("train.checkpoint_every") != std::string::npos);
}

TEST_CASE("A resumed run keeps the subwords that it has learned") {
  const TrainScratch place;
  std::string text, later;
  for (int i = 0; i < 400; ++i) {
    text += fmt::format("the cat {} sat on the mat\n", i);
    later += fmt::format("quick zephyrs vex {} daft jackdaws\n", i);
  }
  write_file(place / "text.txt", text);
  const std::string settings =
      "--set data.task=text --set data.train=text.txt --set data.tokens=subwords --set data.vocabulary=300 "
      "--set data.context=8 --set train.steps=10 ";
  REQUIRE(place.error("train --quiet --config small.yaml --out r " + settings) == "0: ");
  const std::string learned = read_safetensors(place / "r/model.safetensors").metadata.at("heed.subwords");
  CHECK(place.error("train --quiet --resume r --set train.steps=20") == "0: ");
  CHECK(read_safetensors(place / "r/model.safetensors").metadata.at("heed.subwords") == learned);
  write_file(place / "text.txt", later + text);
  CHECK(place.error("train --quiet --resume r").find("'text.txt' has changed") != std::string::npos);
  REQUIRE(place.error("train --quiet --config small.yaml --out s " + settings) == "0: ");
  CHECK(read_safetensors(place / "s/model.safetensors").metadata.at("heed.subwords") != learned);
}

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

TEST_CASE("train names the unknown words of probes and suggests --set probes=[]") {
  const TrainScratch place;
  write_file(place / "mine.jsonl",
             "{\"tokens\": [\"The\", \"cat\", \"slept\", \"because\", \"it\", \"was\", \"tired\"], "
             "\"query\": 4, \"antecedent\": 1}\n"
             "{\"tokens\": [\"The\", \"dog\", \"slept\", \"because\", \"it\", \"was\", \"ill\"], "
             "\"query\": 4, \"antecedent\": 1}\n");
  write_file(place / "small.yaml",
             read_file(place / "small.yaml") +
                 "probes:\n- {text: The cat ate because it was tired, query: it, antecedent: cat}\n"
                 "- {text: The dog and the cow slept because it was ill, query: it, antecedent: dog}\n");
  const std::string command =
      "train --quiet --config small.yaml --set data.task=jsonl --set data.train=mine.jsonl --out r";
  const std::string said = place.error(command);
  CHECK(said.starts_with("1: train: probes: sentence 1: not among the 9 words that the model knows: 'ate'"));
  CHECK(said.find("\nprobes: sentence 2: not among the 9 words that the model knows: 'and'") != std::string::npos);
  CHECK(said.ends_with("\nWrite probes in words of the jsonl task, or watch none of your own with --set probes=[]\n"));
  CHECK_FALSE(fs::exists(place / "r"));
  CHECK(place.error(command + " --set probes=[]") == "0: ");
}

TEST_CASE("train ends with the reason if the loss is not finite or a file exceeds the size limit") {
  const TrainScratch place;
  CHECK(place.error("train --quiet --config small.yaml --set optim.lr=1e30 --out bad")
            .starts_with("1: train: step 2: the loss ("));
  CHECK(run_program(place, "inspect weights bad").code == 0);
#if !defined(HEED_SANITIZED) || defined(__SANITIZE_ADDRESS__)  // ThreadSanitizer fails under this limit
  CHECK(place.error("ulimit -f 4; train --quiet --config small.yaml --out full") ==
        "1: train: cannot write full/held_out.jsonl: File too large\n");
#endif
}

#if !defined(HEED_SANITIZED)  // sanitizers reserve more address space than these limits
TEST_CASE("train reports too little memory before it allocates, or with the size that was refused") {
  const TrainScratch place;
  const Ended dry =
      run_program(place,
                  "ulimit -v 33554432; train --config small.yaml --dry-run --set model.d_model=4096 --set "
                  "model.layers=64 --set model.mlp=8192");
  CHECK(dry.code == 1);
  CHECK(dry.out.find("\n# memory ") != std::string::npos);
  CHECK(dry.err.starts_with("train: training needs "));
  CHECK(place
            .error("ulimit -v 33554432; train --config small.yaml --out r --set model.d_model=4096 --set "
                   "model.layers=64 --set model.mlp=8192")
            .starts_with("1: train: training needs "));
  CHECK_FALSE(fs::exists(place / "r"));
  const std::string said = place.error(
      "ulimit -v 100000; train --quiet --config small.yaml --out r --threads 1 --set data.sentences=140000");
  CHECK(said.starts_with("1: train: out of memory: the system refused "));
  CHECK(place.error("ulimit -v 52000; timeout 60 train --quiet --config small.yaml --out r --threads 1") ==
        "1: train: OpenBLAS cannot be loaded: for 1 thread it needs 322 MiB of address space, which the system "
        "refuses; check the limit (ulimit -v)\n");
}
#endif

TEST_CASE("train --profile prints where the time went and writes a trace") {
  const TrainScratch place;
  const Ended run = run_program(place, "train --config small.yaml --out r --profile");
  CHECK(run.code == 0);
  CHECK(run.out.find(" GFLOP/s, ") != std::string::npos);
  CHECK(run.out.find("\nattention backward ") != std::string::npos);
  const Json trace = parse_json(read_file(place / "r/trace.json"));
  int steps = 0;
  for (const Json& work : trace.at("traceEvents")) {
    CHECK(work.at("dur").get<double>() >= 0);
    steps += work.at("name") == "cross_entropy backward";
  }
  CHECK(steps == 60);
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

TEST_CASE("inspect generate ends cleanly on SIGINT") {
  const Scratch place;
  write_file(place / "text.txt", std::string(3000, 'a') + std::string(3000, 'b'));
  write_file(
      place / "text.yaml",
      "data: {task: text, train: text.txt, tokens: bytes, context: 8}\nmodel: {d_model: 8, heads: 1, layers: 1}\n"
      "train: {steps: 1}\noptim: {warmup: 0}\n");
  REQUIRE(run_program(place, "train --quiet --config text.yaml --out r").code == 0);
  const std::string dry = "train --dry-run --config text.yaml --set data.train=text.txt,";
  CHECK(run_program(place, dry + ",text.txt").err ==
        "train: 'text.txt,,text.txt': expected file names separated by commas, got an empty name\n");
  fs::copy_file(place / "text.txt", place / "text.txt,b");
  CHECK(run_program(place, dry + "b").code == 0);
  const Ended ended =
      run_program(place,
                  "timeout -s INT -k 60 2 env --default-signal=INT inspect generate r --prompt aa --tokens "
                  "100000000 > many; test $? = 124");
  CHECK((ended.code == 0 && ended.err.empty()));
  CHECK(read_file(place / "many").size() > 10);
}

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
