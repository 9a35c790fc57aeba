#pragma once
#include "tests/train/program.h"

namespace heed {

// A directory with the configuration of a small run.
struct TrainScratch : ProgramScratch {
  TrainScratch() {
    write_file(*this / "small.yaml",
               "name: small\n"
               "data: {sentences: 200, held_out: 40}\n"
               "model: {d_model: 16, dropout: 0.2}\n"
               "train: {steps: 60, batch_size: 8, evaluate_every: 20, checkpoint_every: 25}\n"
               "dump: {every: 15, sentences: 2}\n");
  }
};

}  // namespace heed
