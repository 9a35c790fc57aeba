#include "inspect/output_file.h"

#include "tests/catch.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/files/file.h>

#include <sys/stat.h>

using namespace heed;

namespace {

struct Files : Scratch {
  std::filesystem::path run = path / "run";
  Files() {
    std::filesystem::create_directories(run / "attention");
    for (const char* name : {"config.yaml", "model.safetensors", "attention/step-000000.safetensors"}) {
      write_file(run / name, "own");
    }
  }
  std::string check(const std::filesystem::path& file, bool force = false) const {
    std::string text = message([&] { check_output(file, svg_beginning, {run}, force); });
    for (std::size_t at; (at = text.find(path.string())) != std::string::npos;)
      text.replace(at, path.string().size(), "D");
    return text;
  }
};

}  // namespace

TEST_CASE("check_output accepts a new file, an empty one and one of the same format") {
  const Files files;
  CHECK(files.check(files / "new.svg") == "no error");
  write_file(files / "empty", "");
  CHECK(files.check(files / "empty") == "no error");
  write_file(files / "old.svg", "<svg xmlns");
  CHECK(files.check(files / "old.svg") == "no error");
}

TEST_CASE("check_output accepts a file of another kind only with force, also behind a link") {
  const Files files;
  write_file(files / "thesis.txt", "Chapter 1");
  const std::string refused =
      "exists and is a file of another kind (expected it to begin with '<svg '); choose another name, or replace it "
      "with --force";
  CHECK(files.check(files / "thesis.txt") == "D/thesis.txt: " + refused);
  CHECK(files.check(files / "thesis.txt", true) == "no error");
  std::filesystem::create_symlink("thesis.txt", files / "link");
  CHECK(files.check(files / "link") == "D/link: " + refused);
  write_file(files / "short", "<s");
  CHECK(files.check(files / "short").starts_with("D/short: exists"));
}

TEST_CASE("check_output refuses the files of a run under any name, even with force") {
  const Files files;
  const auto refused = [&](const std::filesystem::path& file) {
    return files.check(file, true).ends_with(": belongs to D/run, which inspect never changes");
  };
  for (const char* name :
       {"config.yaml", "model.safetensors", "metrics.jsonl", "held_out.jsonl", "checkpoint.safetensors",
        "best.safetensors", "baselines.safetensors", "models/step-000000.safetensors",
        "attention/step-000000.safetensors", "attention/new.svg", "../run/config.yaml"}) {
    INFO(name);
    CHECK(refused(files.run / name));
  }
  for (const char* name :
       {"config.json", "tokenizer.json", "model-00001-of-00002.safetensors", "part.gguf", "chat_template.jinja"}) {
    INFO(name);
    CHECK_FALSE(refused(files.run / name));  // no such file: nothing is lost
    write_file(files.run / name, "of a pretrained model");
    CHECK(refused(files.run / name));
    CHECK(message([&] {
            check_output(files.run / name, svg_beginning, {files.run / "model.safetensors"}, true);
          }).find("belongs to") != std::string::npos);
  }
  std::filesystem::create_symlink(files.run / "config.yaml", files / "link.svg");
  CHECK(refused(files / "link.svg"));
  std::filesystem::create_hard_link(files.run / "config.yaml", files / "hard.svg");
  CHECK(refused(files / "hard.svg"));
  std::filesystem::create_symlink(files.run / "metrics.jsonl", files / "dangling.svg");
  CHECK(refused(files / "dangling.svg"));
  CHECK(files.check(files.run / "it.svg") == "no error");
  const std::filesystem::path other = files.path / "other";  // a run that is not in the list of runs
  std::filesystem::create_directories(other / "models");
  for (const char* name : {"config.yaml", "metrics.jsonl"}) write_file(other / name, "own");
  for (const char* name : {"model.safetensors", "models/step-000001.safetensors"}) {
    CHECK(files.check(other / name, true) ==
          std::string("D/other/") + name + ": belongs to D/other, which inspect never changes");
  }
  const std::filesystem::path dump = files.run / "attention/step-000000.safetensors";
  CHECK(message([&] { check_output(dump, svg_beginning, {dump}, true); }).find("belongs to") != std::string::npos);
}

TEST_CASE("check_output refuses a directory and accepts devices and FIFOs") {
  const Files files;
  CHECK(files.check(files.path, true) == "D: is a directory; name a file to write");
  CHECK(files.check("") == "expected the name of a file to write, got an empty one");
  CHECK(files.check("-") == "-: expected the name of a file to write; that of standard output is /dev/stdout");
  REQUIRE(::mkfifo((files / "fifo").c_str(), 0666) == 0);
  CHECK(files.check(files / "fifo") == "no error");
  CHECK(files.check("/dev/null") == "no error");
}

TEST_CASE("write_output prints only the bytes if the file is /dev/stdout") {
  CHECK(write_output("/dev/stdout", "bytes", "said") == "bytes");
  const Files files;
  CHECK(write_output(files / "it.svg", "bytes", "said") == "said");
  CHECK(read_file(files / "it.svg") == "bytes");
}
