#include "tests/catch.h"
#include "tests/terminal.h"
#include "tests/train/train_scratch.h"

using namespace heed;
namespace fs = std::filesystem;

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
