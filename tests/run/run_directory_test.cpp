#include "run/internal/run_directory.h"

#include "tests/catch.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/files/file.h>
#include <heed/formats/safetensors.h>

using namespace heed;
namespace fs = std::filesystem;

TEST_CASE("RunDirectory creates a directory once, locks it, and opens only directories of runs") {
  const Scratch scratch;
  const fs::path path = scratch / "r";
  {
    const RunDirectory run = RunDirectory::create("name", "seed: 1\n", path);
    CHECK(run.path() == path);
    CHECK(read_file(run.config()) == "seed: 1\n");
    CHECK_FALSE(run.has_checkpoint());
    CHECK(message([&] { RunDirectory::open(path); }) ==
          path.string() + ": another train is at work on this run; wait for it, or stop it");
    run.write_config("seed: 2\n");
    run.write_metrics({"{\"step\":0}", "{\"step\":1}"});
  }
  CHECK(read_file(path / "config.yaml") == "seed: 2\n");
  CHECK(read_file(path / "metrics.jsonl") == "{\"step\":0}\n{\"step\":1}\n");
  CHECK(RunDirectory::open(path).path() == path);
  CHECK(message([&] { RunDirectory::create("name", "", path); }).starts_with(path.string() + ": already exists"));
  CHECK(message([&] { RunDirectory::open(scratch / "none"); }).ends_with("/none: the run to resume does not exist"));
  fs::create_directories(scratch / "seeds" / "seed-7");
  write_file(scratch / "seeds" / "seed-7" / "config.yaml", "");
  CHECK(message([&] { RunDirectory::open(scratch / "seeds"); })
            .ends_with("/seeds: is not a run but contains " + (scratch / "seeds/seed-7").string() +
                       "; resume that, or repeat the command with --seeds that started "
                       "all of them"));
}

TEST_CASE("RunDirectory reports a file in the place of a directory") {
  const Scratch scratch;
  write_file(scratch / "runs", "mine");
  const std::string file = (scratch / "runs").string();
  CHECK(message([&] { RunDirectory::open(file); }, file) ==
        "FILE: cannot be opened as a run directory: Not a directory");
  CHECK(message([&] { RunDirectory::create("name", "", scratch / "runs" / "r"); }, file) ==
        "cannot make the directory FILE/r: Not a directory");
  const fs::path before = fs::current_path();
  fs::current_path(scratch.path);
  const std::string said = message([] { RunDirectory::create("name", "", ""); });
  fs::current_path(before);
  CHECK(said == "cannot make the directory runs: File exists");
}

TEST_CASE("refuse_lost_checkpoint throws for a run without checkpoint that has files of later steps") {
  const Scratch scratch;
  const RunDirectory run = RunDirectory::create("name", "", scratch / "r");
  const std::string path = run.path().string();
  CHECK(message([&] { run.refuse_lost_checkpoint(); }) == "no error");
  for (const char* directory : {"models", "attention"}) {
    for (const char* step : {"000000", "000040"}) {
      fs::create_directories(run.path() / directory);
      write_file(run.path() / directory / fmt::format("step-{}.safetensors", step), "");
    }
    CHECK(message([&] { run.refuse_lost_checkpoint(); }, path) ==
          fmt::format("FILE: checkpoint.safetensors is missing, and training anew would overwrite "
                      "FILE/{}/step-000040.safetensors "
                      "of step 40; put the checkpoint back, or start a new run with --set "
                      "model.from=FILE",
                      directory));
    fs::remove_all(run.path() / directory);
  }
  write_safetensors(run.path() / "checkpoint.safetensors", SafeTensors{});
  CHECK(message([&] { run.refuse_lost_checkpoint(); }) == "no error");
  CHECK(message([&] { done_by(run); }, path) ==
        "FILE/checkpoint.safetensors: metadata 'heed.progress' cannot be read: it is missing");
}

TEST_CASE("Nothing is written into a run directory that was removed, emptied or moved") {
  const Scratch scratch;
  const fs::path path = scratch / "r";
  const RunDirectory run = RunDirectory::create("name", "", path);
  const auto said = [&] { return message([&] { run.write_metrics({"{}"}); }, path.string()); };
  const std::string refusal = "FILE: was removed, emptied or moved during training, which stops here";
  CHECK(said() == "no error");
  fs::rename(path, scratch / "moved");
  CHECK(said() == refusal);
  const RunDirectory other = RunDirectory::create("name", "", path);  // another run at the same path
  CHECK(said() == refusal);
  CHECK_FALSE(fs::exists(path / "metrics.jsonl"));
  fs::remove_all(path);
  fs::rename(scratch / "moved", path);
  CHECK(said() == "no error");
  fs::remove(path / "config.yaml");
  CHECK(said() == refusal);
}

TEST_CASE("RunDirectory removes only temporary files that write_file() left for files of a run") {
  const Scratch scratch;
  const fs::path path = scratch / "r";
  fs::create_directories(path);
  const std::vector<std::string> ours{"config.yaml.tmp-1-1",
                                      "held_out.jsonl.tmp-12-3",
                                      "metrics.jsonl.tmp-1-2",
                                      "model.safetensors.tmp-1-2",
                                      "trace.json.tmp-1-2",
                                      "baselines.safetensors.tmp-1-2",
                                      "checkpoint.safetensors.tmp-1-2",
                                      "best.safetensors.tmp-1-2",
                                      "baselines.safetensors.tmp-1-2",
                                      "step-000300.safetensors.tmp-1-2"};
  for (const std::string& name : ours) write_file(path / name, "half");
  CHECK_NOTHROW(RunDirectory::create("name", "", path));  // no run has begun there
  for (const std::string& name : ours) CHECK_FALSE(fs::exists(path / name));
  for (const char* directory : {"attention", "models"}) {
    fs::create_directory(path / directory);
    write_file(path / directory / "step-000300.safetensors.tmp-1-2", "half");
    RunDirectory::open(path);
    CHECK(fs::is_empty(path / directory));
  }

  const std::vector<std::string> others{"notes.tmp-2024-01-01",
                                        "notes.tmp-1-2",
                                        ".tmp-1-2",
                                        "model.safetensors.tmp-1",
                                        "model.safetensors.tmp-1-",
                                        "model.safetensors.tmp--1",
                                        "model.safetensors.tmp-1-2-3",
                                        "step-.safetensors.tmp-1-2",
                                        "step-3x.safetensors.tmp-1-2"};
  for (const std::string& name : others) {
    CAPTURE(name);
    write_file(path / name, "mine");
    RunDirectory::open(path);
    CHECK(fs::exists(path / name));
    const fs::path fresh = scratch / ("fresh" + name);
    fs::create_directory(fresh);
    write_file(fresh / name, "mine");
    CHECK(message([&] { RunDirectory::create("name", "", fresh); }) != "no error");
  }
}

TEST_CASE("A run whose files are links is not opened, and their targets are unchanged") {
  const Scratch scratch;
  const std::filesystem::path run = scratch / "r", mine = scratch / "mine";
  std::filesystem::create_directories(run / "attention");
  std::filesystem::create_directories(run / "models");
  write_file(run / "config.yaml", "seed: 1\n");
  write_file(mine, "mine");
  for (const char* name : {"model.safetensors", "metrics.jsonl", "baselines.safetensors",
                           "attention/step-000004.safetensors", "models/step-000004.safetensors"}) {
    CAPTURE(name);
    std::filesystem::create_symlink(mine, run / name);
    CHECK(message([&] { RunDirectory::open(run); }) ==
          fmt::format("{}: is a link to {}; a run writes only to its own files. Put the file itself there, or link the "
                      "whole run",
                      (run / name).string(), mine.string()));
    std::filesystem::remove(run / name);
  }
  std::filesystem::create_symlink(mine, run / "notes");  // not a file of a run
  std::filesystem::create_symlink(run, scratch / "link");
  CHECK(RunDirectory::open(scratch / "link").has_checkpoint() == false);
  CHECK(read_file(mine) == "mine");
}
