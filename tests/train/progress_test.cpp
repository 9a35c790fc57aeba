#include "train/progress.h"

#include "tests/catch.h"
#include "tests/train/program.h"

#include <heed/files/file.h>

using namespace heed;

TEST_CASE("progress_text fits the width and drops the least important parts first") {
  const ProgressState s{.step = 200,
                        .steps = 300,
                        .loss = 0.51237,
                        .accuracy = 0.9912,
                        .counterpart_accuracy = 0.5,
                        .steps_a_second = 12.5};
  CHECK(progress_text(s, 80) == "step 200/300  loss 0.5124  held-out 99.1 %  pairs 50.0 %  12 steps/s  8 s left");
  CHECK(progress_text(s, 75) == "step 200/300  loss 0.5124  held-out 99.1 %  pairs 50.0 %  8 s left");
  CHECK(progress_text(s, 60) == "step 200/300  loss 0.5124  held-out 99.1 %  8 s left");
  CHECK(progress_text(s, 39) == "step 200/300  loss 0.5124  8 s left");
  CHECK(progress_text(s, 30) == "step 200/300  loss 0.5124");
  CHECK(progress_text(s, 20) == "step 200/300");
  CHECK(progress_text(s, 7) == "step 20");
  CHECK(progress_text(s, 0) == "");
  for (int width = 0; width < 100; ++width) CHECK(std::ssize(progress_text(s, width)) <= width);
}

TEST_CASE("progress_text omits figures that are not known") {
  CHECK(progress_text({.step = 5, .steps = 300, .loss = 1}, 80) == "step 5/300  loss 1.0000");
  CHECK(progress_text({.step = 5, .steps = 300, .loss = 1, .accuracy = 0.5}, 80) ==
        "step 5/300  loss 1.0000  held-out 50.0 %");
  CHECK(progress_text({.step = 0, .steps = 9000, .steps_a_second = 2}, 80) ==
        "step 0/9000  loss 0.0000  2 steps/s  1:15 h left");
  CHECK(progress_text({.step = 8880, .steps = 9000, .steps_a_second = 1}, 80) ==
        "step 8880/9000  loss 0.0000  1.0 s/step  2:00 min left");
  CHECK(progress_text({.step = 0, .steps = 10, .steps_a_second = 0.24}, 80) ==
        "step 0/10  loss 0.0000  4.2 s/step  42 s left");
}

TEST_CASE("Without a terminal, train prints one line per evaluation, whatever COLUMNS says") {
  const Scratch scratch;
  write_file(scratch / "small.yaml",
             "data: {sentences: 50, held_out: 20}\nmodel: {d_model: 8}\noptim: {warmup: 0}\n"
             "train: {steps: 20, batch_size: 4, evaluate_every: 10}\n");
  const Ended run = run_program(scratch, "COLUMNS=30 train --config small.yaml --out r");
  CHECK(run.code == 0);
  std::size_t lines = 0;
  for (std::size_t at = 0; (at = run.out.find("\nstep ", at)) != run.out.npos; ++at) lines += run.out[at + 7] != '\n';
  CHECK(run.out.find("\nstep 10/20  loss ") != run.out.npos);
  CHECK(run.out.find("\nstep 20/20  loss ") != run.out.npos);
  CHECK(lines >= 3);
  CHECK(run.out.find('\r') == run.out.npos);
}
