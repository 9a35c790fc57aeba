#pragma once

#include "autograd/blas.h"
#include "autograd/check.h"
#include "autograd/ops.h"
#include "autograd/record.h"
#include "data/task.h"
#include "nn/hook.h"
#include "nn/layers.h"
#include "nn/reader.h"
#include "nn/safetensors.h"
#include "optim/clip.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"
