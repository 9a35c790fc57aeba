#pragma once

#include <heed/core.h>
#include <heed/distributed/parallel_optimizer.h>
#include <heed/distributed/parallel_reducer.h>
#include <heed/formats/safetensors.h>
#include <heed/models/candidate_chooser.h>
#include <heed/models/language_model.h>
#include <heed/models/masked_language_model.h>
#include <heed/models/word_answerer.h>
