#include "inspect/converted_picture.h"

#include "tests/inspect/inspected_run.h"
#include "tests/scratch.h"

#include <heed/files/file.h>

#include <cstdlib>

using namespace heed;

namespace {

// A directory that holds all programs which are found while it exists.
struct Programs : Scratch {
  std::string before = std::getenv("PATH");
  Programs() { setenv("PATH", path.c_str(), 1); }
  ~Programs() { setenv("PATH", before.c_str(), 1); }
  void add(const std::string& name, const std::string& script) const {
    write_file(path / name, "#!/bin/sh\n" + script);
    std::filesystem::permissions(path / name, std::filesystem::perms::owner_all);
  }
};

}  // namespace

TEST_CASE("inspect export writes PDF and PNG with rsvg-convert, and says what to install where it is missing") {
  const InspectedRun run;
  const Programs programs;
  const std::string pdf = (run.path / "it.pdf").string(), png = (run.path / "it.png").string();
  CHECK(run.error({"export", "RUN", "--pdf", pdf}) ==
        "--pdf needs the program rsvg-convert, which is not installed. On Debian: sudo apt install librsvg2-bin. --svg "
        "FILE "
        "writes the same picture without it");
  CHECK_FALSE(std::filesystem::exists(pdf));
  programs.add(
      "rsvg-convert",
      "case \"$*\" in --format=pdf) printf %%PDF-;; '--format=png --zoom=2') printf '\\211PNG';; esac; /bin/cat");
  CHECK(run.inspect({"export", "RUN", "--pdf", pdf, "--png", png}).starts_with(pdf + ": "));
  CHECK(read_file(pdf).starts_with("%PDF-<svg "));
  CHECK(read_file(png).starts_with("\x89PNG<svg "));
  run.inspect({"export", "RUN", "--pdf", pdf});  // replaces a PDF
  CHECK(run.error({"export", "RUN", "--png", pdf}).find("it.pdf: ") != std::string::npos);
  programs.add("rsvg-convert", "echo 'no fonts' >&2; exit 3");
  CHECK(message([] { converted_picture("<svg />", "png"); }) == "rsvg-convert did not make a png: no fonts");
}
