// Annotated sentences are rejected, or survive writing and reading.
#include "tests/fuzz/fuzz.h"

#include <heed/formats/datasets/jsonl.h>

using namespace heed;

void heed::fuzz::jsonl(std::string_view input) {
  static const fuzz::MemoryFile file, again;
  const std::filesystem::path path = file.path(input), written = again.path("");
  fuzz::accepts([&] {
    const std::vector<Example> examples = read_jsonl(path);
    write_jsonl(written, examples);
    fuzz::demand(read_jsonl(written) == examples, "written sentences are read back unchanged");
    std::vector<Example> paired = examples;
    pair_counterparts(paired);
  });
}
