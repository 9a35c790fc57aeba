#pragma once
#include <heed/distributed/communicator.h>
#include <heed/explain/progress.h>

namespace heed {

/// The options of a study: the number of sentences, who learns of its progress, and the processes that share its work.
///
///     const Causes found = causes(model, held_out, {}, {.most = 100});
struct StudyOptions {
  int most = 0;  ///< sentences; 0: as many as one core reads in about a minute, and at least 100
  OnProgress progress = {};
  /// Each of them calls the study and gets the whole result, with the same bits for any number of them.
  Communicator processes = {};
};

}  // namespace heed
