// The user-facing functions: PyTorch's names and argument order. Each checks its arguments and calls run_op.
// Split by topic; this header takes them all in.
#pragma once
#include "libamp/ops/conv.h"
#include "libamp/ops/create.h"
#include "libamp/ops/math.h"
#include "libamp/ops/view.h"
