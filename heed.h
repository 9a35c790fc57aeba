#pragma once

#include <heed/autograd/format.h>
#include <heed/autograd/gradcheck/check.h>
#include <heed/autograd/machine.h>
#include <heed/autograd/more_ops.h>
#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>
#include <heed/data/task.h>
#include <heed/files/safetensors.h>
#include <heed/nn/hook.h>
#include <heed/nn/layers.h>
#include <heed/nn/more_layers.h>
#include <heed/nn/reader.h>
#include <heed/optim/clip.h>
#include <heed/optim/optimizer.h>
#include <heed/optim/schedule.h>
