// SGD, Adam, AdamW, Adagrad and RMSprop against their formulas written down again in double, with every option.
#include "tests/optim/optimizer_reference.h"

using namespace amp;
using namespace amp::testing;

TEST_CASE("SGD follows its formula", "[optim]") {
  for (const SGDOptions& options : kSgd)
    for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
      CAPTURE(options.momentum, options.dampening, options.nesterov, options.maximize, name(dtype));
      compare<SGD>(SgdReference{options}, dtype);
    }
}

TEST_CASE("Adam and AdamW follow their formulas", "[optim]") {
  for (const AdamOptions& options : kAdam)
    for (const DType dtype : {DType::float32, DType::float64, DType::float16}) {
      CAPTURE(options.beta1, options.weight_decay, options.amsgrad, options.maximize, name(dtype));
      compare<Adam>(AdamReference{options, false}, dtype);
      compare<AdamW>(AdamReference{options, true}, dtype);
    }
}

TEST_CASE("Adagrad follows its formula", "[optim]") {
  for (const AdagradOptions& options : kAdagrad)
    for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
      CAPTURE(options.lr_decay, options.weight_decay, options.initial_accumulator_value, name(dtype));
      compare<Adagrad>(AdagradReference{options}, dtype);
    }
}

TEST_CASE("RMSprop follows its formula", "[optim]") {
  for (const RMSpropOptions& options : kRmsprop)
    for (const DType dtype : {DType::float32, DType::float64, DType::float16}) {
      CAPTURE(options.alpha, options.momentum, options.centered, options.maximize, name(dtype));
      compare<RMSprop>(RmspropReference{options}, dtype);
    }
}
