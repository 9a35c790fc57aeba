#pragma once

#include <heed/autograd/format.h>
#include <heed/autograd/gradcheck/check.h>
#include <heed/autograd/gradcheck/samples.h>
#include <heed/autograd/machine.h>
#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>
#include <heed/autograd/profile.h>
#include <heed/autograd/record.h>
#include <heed/distributed/mean_gradients.h>
#include <heed/distributed/parallel_optimizer.h>
#include <heed/files/safetensors.h>
#include <heed/models/candidate_chooser.h>
#include <heed/models/language_model.h>
#include <heed/models/masked_language_model.h>
#include <heed/models/word_answerer.h>
#include <heed/nn/hook.h>
#include <heed/nn/layers.h>
#include <heed/nn/rotary_embedding.h>
#include <heed/nn/sampling.h>
#include <heed/optim/clip.h>
#include <heed/optim/optimizer.h>
#include <heed/optim/schedule.h>
#include <heed/optim/weight_average.h>

/// Tensors with reverse-mode differentiation, layers and optimisers for attention, models, and their explanation.
namespace heed {}
