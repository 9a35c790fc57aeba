#pragma once

#include <heed/core.h>
#include <heed/distributed/parallel_optimizer.h>
#include <heed/distributed/parallel_reducer.h>
#include <heed/formats/safetensors.h>
