#include "tests/catch.h"
#include "tests/scratch.h"
#include "tests/train/program.h"

#include <heed/files/file.h>

#include <filesystem>
#include <string>

using namespace heed;

#if !defined(HEED_MPI)
TEST_CASE("A build without MPI refuses to train as one of several processes of a launcher") {
  const Scratch scratch;
  write_file(scratch / "small.yaml",
             "data: {sentences: 40, held_out: 20}\nmodel: {d_model: 8}\ntrain: {steps: 2, batch_size: 4}\n");
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE=4", "PMI_SIZE=4", "SLURM_STEP_NUM_TASKS=4"}) {
    CAPTURE(variable);
    const Ended ended = run_program(scratch, std::string(variable) + " train --config small.yaml --out r");
    CHECK(ended.code == 1);
    CHECK(ended.out.empty());
    CHECK(!std::filesystem::exists(scratch / "r"));
    CHECK(ended.err ==
          "train: started as one of 4 processes, but built without MPI: each would do all the work. Build heed "
          "with the preset mpi, or start one process\n");
  }
  CHECK(run_program(scratch, "OMPI_COMM_WORLD_SIZE=1 train --quiet --config small.yaml --out r").code == 0);
}
#endif
