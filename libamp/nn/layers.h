// All layers with learnt or fixed linear maps, pools and dropout, by topic; norms.h, activations.h, losses.h and
// attention.h are beside it.
#pragma once
#include "libamp/nn/conv.h"
#include "libamp/nn/dropout.h"
#include "libamp/nn/embedding.h"
#include "libamp/nn/linear.h"
#include "libamp/nn/padding.h"
#include "libamp/nn/pooling.h"
