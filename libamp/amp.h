// All of libamp in one include, in namespace amp: tensors, ops, autograd, autocast, GradScaler, modules (amp::nn),
// optimizers, data files (amp::io), and listening to what the library decides (amp::observe).
#pragma once
#include "libamp/autocast/scope.h"
#include "libamp/autograd/autograd.h"
#include "libamp/core/step_clock.h"
#include "libamp/io/idx.h"
#include "libamp/nn/activations.h"
#include "libamp/nn/clip.h"
#include "libamp/nn/init.h"
#include "libamp/nn/layers.h"
#include "libamp/nn/losses.h"
#include "libamp/nn/module.h"
#include "libamp/nn/norms.h"
#include "libamp/observe/in_process.h"
#include "libamp/ops/ops.h"
#include "libamp/optim/adam.h"
#include "libamp/optim/sgd.h"
#include "libamp/scaler/grad_scaler.h"
