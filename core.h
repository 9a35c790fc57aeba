#pragma once

#include <heed/autograd/autocast.h>
#include <heed/autograd/checkpoint.h>
#include <heed/autograd/convolution.h>
#include <heed/autograd/derivatives.h>
#include <heed/autograd/format.h>
#include <heed/autograd/gradcheck/check.h>
#include <heed/autograd/gradcheck/samples.h>
#include <heed/autograd/machine.h>
#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>
#include <heed/autograd/profile.h>
#include <heed/autograd/record.h>
#include <heed/autograd/recurrent.h>
#include <heed/data/loader.h>
#include <heed/data/splits.h>
#include <heed/nn/adapter.h>
#include <heed/nn/batch_norm.h>
#include <heed/nn/block.h>
#include <heed/nn/convolution.h>
#include <heed/nn/hook.h>
#include <heed/nn/positions.h>
#include <heed/nn/recurrent.h>
#include <heed/nn/sampling.h>
#include <heed/optim/clip.h>
#include <heed/optim/gradient_reducer.h>
#include <heed/optim/gradient_sum.h>
#include <heed/optim/lbfgs.h>
#include <heed/optim/optimizer.h>
#include <heed/optim/schedule.h>
#include <heed/optim/weight_average.h>
#include <heed/version.h>

/// Tensors with reverse-mode differentiation, layers and optimisers for attention, models, and their explanation.
namespace heed {}
