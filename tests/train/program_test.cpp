#include "program.h"

#include "files/json.h"
#include "tests/catch.h"

using namespace heed;
namespace fs = std::filesystem;

namespace {

struct Place : Scratch {
  Place() {
    write_file(*this / "small.yaml",
               "name: small\n"
               "data: {sentences: 200, held_out: 40}\n"
               "model: {d_model: 16, dropout: 0.2}\n"
               "train: {steps: 60, batch_size: 8, evaluate_every: 20, checkpoint_every: 25}\n"
               "dump: {every: 15, sentences: 2}\n");
  }

  // "CODE: what was said on stderr"
  std::string error(const std::string& command) const {
    const Ended ended = run_program(*this, command);
    return std::to_string(ended.code) + ": " + ended.err;
  }
};

}  // namespace

TEST_CASE("train refuses a command line or file that it does not understand, and writes nothing") {
  const Place place;
  CHECK(place.error("train") == "2: train: expected either --config FILE or --resume DIR (see train --help)\n");
  CHECK(place.error("train extra") == "2: train: unexpected 'extra' (see train --help)\n");
  CHECK(place.error("train --foo").starts_with("2: train: Option "));
  CHECK(place.error("train --config small.yaml --threads 0") ==
        "2: train: --threads must be at least 1 (see train --help)\n");
  CHECK(place.error("train --config none.yaml") == "1: train: cannot read none.yaml: No such file or directory\n");
  CHECK(place.error("train --config small.yaml --set model.heads=0") ==
        "1: train: --set model.heads=0: model.heads must be an integer from 1 to 64, got '0'\n");
  CHECK(place.error("train --resume none") == "1: train: none: there is no such run to resume\n");
  CHECK(run_program(place, "train --config small.yaml --dry-run").code == 0);
  CHECK(place.files() == 3);  // small.yaml, out.txt, err.txt
}

TEST_CASE("A run is quiet when asked, never overwritten, and resumed after damage only when it is whole") {
  const Place place;
  const Ended run = run_program(place, "train --quiet --config small.yaml --out r --threads 1");
  CHECK((run.code == 0 && run.out.empty() && run.err.empty()));
  CHECK(place.error("train --config small.yaml --out r") ==
        "1: train: r: exists already, and a run never overwrites another; choose another --out, continue it with "
        "--resume r, or remove it\n");

  const std::string model = read_file(place / "r/model.safetensors");
  write_file(place / "r/model.safetensors.tmp-12-3", "half");
  write_file(place / "r/attention/step-000015.safetensors.tmp-12-4", "half");
  CHECK(place.error("train --quiet --resume r") == "0: ");
  CHECK(read_file(place / "r/model.safetensors") == model);
  CHECK_FALSE(fs::exists(place / "r/model.safetensors.tmp-12-3"));
  CHECK_FALSE(fs::exists(place / "r/attention/step-000015.safetensors.tmp-12-4"));
  CHECK(place.error("flock r train --resume r") ==
        "1: train: r: another train is at work on this run; wait for it, or stop it\n");

  const std::string checkpoint = read_file(place / "r/checkpoint.safetensors");
  write_file(place / "r/checkpoint.safetensors", checkpoint.substr(0, 300));
  const std::string cut = place.error("train --quiet --resume r");
  CHECK(cut.starts_with("1: train: r/checkpoint.safetensors: not a safetensors file: "));
  CHECK(cut.ends_with(" Is it cut?\n"));
}

TEST_CASE("A run killed before it wrote its configuration is begun again") {
  const Place place;
  fs::create_directory(place / "r");
  write_file(place / "r/config.yaml.tmp-12-1", "half");
  CHECK(place.error("train --resume r") ==
        "1: train: r: has no config.yaml, so nothing was trained in it; start with train --config FILE --out r\n");
  CHECK(place.error("train --quiet --config small.yaml --out r") == "0: ");
  CHECK_FALSE(fs::exists(place / "r/config.yaml.tmp-12-1"));
}

TEST_CASE("A signal stops a run, which is resumed to the very same model") {
  const Place place;
  CHECK(place.error("train --quiet --config small.yaml --out alone --set train.steps=1000") == "0: ");
  for (const std::string signal : {"INT", "TERM"}) {
    const std::string out = "stopped-" + signal;
    // A background job of sh ignores SIGINT until the program takes it back.
    const std::string said =
        place.error("train --quiet --config small.yaml --set train.steps=1000 --out " + out + " & until [ -e " + out +
                    "/checkpoint.safetensors ]; do sleep 0.01; done; kill -" + signal + " $!; wait $!");
    CHECK(said.starts_with((signal == "INT" ? "130" : "143") + std::string(": train: stopped after step ")));
    CHECK(said.ends_with(" of 1000; all is saved. Continue with: train --resume " + out + "\n"));
    CHECK(place.error("train --quiet --threads 1 --resume " + out) == "0: ");
    CHECK(read_file(place / (out + "/model.safetensors")) == read_file(place / "alone/model.safetensors"));
  }
}

TEST_CASE("A loss that is not finite, or a disk that is full, ends a run with its reason") {
  const Place place;
  CHECK(place.error("train --quiet --config small.yaml --set optim.lr=1e30 --out bad")
            .starts_with("1: train: step 2: the loss ("));
  CHECK(run_program(place, "inspect bad --weights").code == 0);
  CHECK(place.error("ulimit -f 1; train --quiet --config small.yaml --out full") ==
        "1: train: cannot write full/config.yaml: File too large\n");
}

TEST_CASE("train --profile prints where the time went and writes a trace") {
  const Place place;
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
