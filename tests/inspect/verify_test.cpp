#include "inspect/command.h"
#include "run/internal/program.h"
#include "run/internal/run_directory.h"
#include "tests/catch.h"
#include "tests/inspect/sample.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/files/file.h>
#include <heed/formats/datasets/jsonl.h>
#include <heed/formats/safetensors.h>

using namespace heed;

namespace {

struct WholeRun : Scratch {
  WholeRun() {
    write_file(path / "config.yaml", "name: toy\n");
    Example example;
    example.tokens = {"dog", "it"};
    example.query = 1;
    example.answer = "dog";
    write_jsonl(held_out_path(path), {example});
    write_file(path / "metrics.jsonl", "{\"step\":400}\n");
    save_model(model_path(path), small_model());
    write_safetensors(path / "checkpoint.safetensors", SafeTensors{});
    write_dump(path, {400, {english_sentence()}});
    std::filesystem::create_directory(path / "models");
    save_model(dumped_model_path(path, 400), small_model());
  }
  void flip(const char* file) const {
    std::string bytes = read_file(path / file);
    bytes[bytes.size() - 2] = static_cast<char>(bytes[bytes.size() - 2] ^ 4);
    write_file(path / file, bytes);
  }
};

std::string verify(const std::filesystem::path& run) {
  const std::string path = run.string();
  const char* arguments[] = {"inspect", "verify", path.c_str()};
  return inspect(3, arguments, {});
}

}  // namespace

TEST_CASE("inspect verify lists every file of a run as whole or readable") {
  const WholeRun run;
  CHECK("\n" + verify(run.path) == R"(
config.yaml                        can be read (text, without a digest)
held_out.jsonl                     can be read (text, without a digest)
metrics.jsonl                      can be read (text, without a digest)
model.safetensors                  whole
checkpoint.safetensors             whole
attention/step-000400.safetensors  whole
models/step-000400.safetensors     whole
)");
}

TEST_CASE("inspect verify names all damaged and missing files, not only the first") {
  const WholeRun run;
  run.flip("model.safetensors");
  run.flip("attention/step-000400.safetensors");
  run.flip("models/step-000400.safetensors");
  write_file(run / "metrics.jsonl", "{");
  std::filesystem::remove(run / "checkpoint.safetensors");
  const std::string told = message([&] { verify(run.path); });
  CHECK(told.starts_with(run.path.string() + ": 5 of 7 files are not whole\nconfig.yaml "));
  CHECK(told.find("\nmodel.safetensors                  DAMAGED: ") != std::string::npos);
  CHECK(told.find("model.safetensors: the file is damaged: its bytes do not match its digest") != std::string::npos);
  CHECK(told.find("\nmetrics.jsonl                      DAMAGED: ") != std::string::npos);
  CHECK(told.find("\ncheckpoint.safetensors             missing\n") != std::string::npos);
  CHECK(told.find("attention/step-000400.safetensors: the file is damaged") != std::string::npos);
  CHECK(told.find("models/step-000400.safetensors: the file is damaged") != std::string::npos);
  write_file(run / "config.yaml", "");
  CHECK(message([&] { verify(run.path); }).find("config.yaml: is empty") != std::string::npos);
  save_model(dumped_model_path(run.path, 500), small_model());
  CHECK(message([&] { verify(run.path); }).find("models/step-000500.safetensors: is of step 400") != std::string::npos);
}

TEST_CASE("inspect verify finds held-out sentences that are not those of the checkpoint, and lost numbers") {
  const WholeRun run;
  Task task;
  task.held_out = read_jsonl(held_out_path(run.path));
  SafeTensors checkpoint;
  checkpoint.metadata["heed.held_out"] = digest_of(task).held_out;
  write_safetensors(run / "checkpoint.safetensors", checkpoint);
  CHECK(verify(run.path).find("held_out.jsonl                     can be read") != std::string::npos);
  task.held_out[0].answer = "it";
  write_jsonl(held_out_path(run.path), task.held_out);
  write_file(run / "metrics.jsonl", "");
  const std::string told = message([&] { verify(run.path); });
  CHECK(told.starts_with(run.path.string() + ": 2 of 7 files are not whole\n"));
  CHECK(told.find("held_out.jsonl: differs from the sentences that the run held out, by their digest in "
                  "checkpoint.safetensors\n") != std::string::npos);
  CHECK(told.find("metrics.jsonl: has no numbers\n") != std::string::npos);
  run.flip("model.safetensors");
  CHECK(message([&] { verify(run.path); }).find("differs from the sentences") == std::string::npos);
}

TEST_CASE("inspect verify finds lines and checkpoints of other steps") {
  const WholeRun run;
  const auto told = [&] { return message([&] { verify(run.path); }, run.path.string()); };
  const auto checkpoint_of = [&](const Progress& progress) {
    SafeTensors checkpoint;
    checkpoint.metadata["heed.progress"] = to_text(progress);
    write_safetensors(run / "checkpoint.safetensors", checkpoint);
  };
  const std::string first = R"({"step":0,"train_loss":2.5})", second = R"({"step":400,"train_loss":1.5})";
  write_file(run / "metrics.jsonl", first + "\n" + second + "\n");
  checkpoint_of({.step = 400, .metrics = {first, second}});
  CHECK(told() == "no error");
  write_file(run / "metrics.jsonl", first + "\n" + second + "\n" + second + "\n");
  CHECK(told().find("FILE/metrics.jsonl:3: expected a step above 400, got 400\n") != std::string::npos);
  write_file(run / "metrics.jsonl", second + "\n" + first + "\n");
  CHECK(told().find("FILE/metrics.jsonl:2: expected a step above 400, got 0\n") != std::string::npos);
  write_file(run / "metrics.jsonl", first + "\n");
  CHECK(told().find("FILE/metrics.jsonl:2: differs from the numbers in checkpoint.safetensors: expected " + second +
                    ", got no line\n") != std::string::npos);
  write_file(run / "metrics.jsonl", first + "\n" + second + "\n");
  checkpoint_of({.step = 200, .metrics = {first}});
  CHECK(told().find("FILE/model.safetensors: is of step 400, but checkpoint.safetensors is of step 200; train --resume "
                    "writes the model again\n") != std::string::npos);
}

TEST_CASE("inspect verify needs a run directory") {
  const WholeRun run;
  CHECK(message([&] {
          verify(model_path(run.path));
        }).ends_with(": is a single file; inspect verify needs the run directory"));
}

TEST_CASE("inspect verify reads the numbers of a Log and the files beside them") {
  const Scratch run;
  write_file(run / "metrics.jsonl", "{\"step\":0,\"loss\":1}\n");
  CHECK(verify(run.path) == "metrics.jsonl  can be read (text, without a digest)\n");
  write_safetensors(run / "state.safetensors", SafeTensors{});
  CHECK("\n" + verify(run.path) == R"(
metrics.jsonl      can be read (text, without a digest)
state.safetensors  whole
)");
  std::filesystem::resize_file(run / "state.safetensors", 9);
  CHECK(message([&] { verify(run.path); }).find("1 of 2 files are not whole") != std::string::npos);
}
