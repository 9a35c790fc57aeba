#include "tests/catch.h"
#include "tests/train/train_scratch.h"
#include "tokenizers/internal/json.h"

using namespace heed;
namespace fs = std::filesystem;

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

TEST_CASE("With --quiet train prints nothing, whatever it is asked to do, and the exit code tells the result") {
  const TrainScratch place;
  for (const char* command : {"--config small.yaml --out r", "--resume r --set train.steps=70",
                              "--config small.yaml --seeds 1-2 --out s", "--config small.yaml --profile --out p",
                              "--config small.yaml --dry-run", "--config small.yaml --check-gradients"}) {
    INFO(command);
    const Ended ended = run_program(place, std::string("train --quiet ") + command);
    CHECK((ended.code == 0 && ended.out.empty() && ended.err.empty()));
  }
  CHECK(run_program(place, "train --quiet --config none.yaml --dry-run").code == 1);
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
  CHECK(place.error("train --help-config >/dev/full") ==
        "1: train: cannot write to standard output: No space left on device\n");
  CHECK(place.error("train --help >&-").starts_with("1: train: cannot write to "));
  CHECK(run_program(place, "train --quiet --config small.yaml --out s >&- 2>&-").code == 0);
  const Ended refused = run_program(place, "train --config small.yaml --out r 2>&-");
  CHECK(refused.code == 1);
  CHECK(read_file(place / "r/config.yaml").starts_with("name: "));  // no message was written into a file
  CHECK(run_program(place, "train --config none.yaml 2>&- >&-").code == 1);
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
