// The user-facing functions: PyTorch's names and argument order. Each checks its arguments and calls run_op.
// Split by topic; this header takes them all in.
#pragma once
#include "libamp/ops/conv.h"
#include "libamp/ops/create.h"
#include "libamp/ops/distance.h"
#include "libamp/ops/index.h"
#include "libamp/ops/join.h"
#include "libamp/ops/loss.h"
#include "libamp/ops/math.h"
#include "libamp/ops/pointwise.h"
#include "libamp/ops/pool.h"
#include "libamp/ops/product.h"
#include "libamp/ops/reduce.h"
#include "libamp/ops/softmax.h"
#include "libamp/ops/view.h"
