// Cost formulas named by the `cost` column of ops.def. Flops count a multiply-add as two; bytes are what must be read
// and written once. NaN: not known from the operands.
#pragma once
#include "libamp/dispatch/op_call.h"

namespace amp::cost {

Cost free(const OpCall& call);       // no work: views
Cost copy(const OpCall& call);       // each element read and written
Cost pointwise(const OpCall& call);  // one operation per output element; read all inputs, write the output
Cost gathered(const OpCall& call);   // elements read by index: the largest index tensor times the dims it leaves alone
Cost pairs(const OpCall& call);      // three operations per pair of rows and element of a row
Cost matmul(const OpCall& call);     // 2 M N K per batch
Cost linear(const OpCall& call);     // 2 rows out in, + rows out for the bias
Cost conv(const OpCall& call);       // 2 per output element and weight of its channel
Cost conv_transpose(const OpCall& call);        // 2 per input element and weight of its channel
Cost conv_backward_weight(const OpCall& call);  // as the forward convolution
Cost unscale(const OpCall& call);               // each gradient read, multiplied and written
Cost optimizer(const OpCall& call);      // two operations per element of state; state and parameter read and written
Cost add_matmul(const OpCall& call);     // the product of inputs 1 and 2, plus the addend
Cost bilinear(const OpCall& call);       // 2 rows out (in1 in2 + in2)
Cost decomposition(const OpCall& call);  // 2 rows columns min(rows, columns) per matrix: the order of what it takes
Cost composite(const OpCall& call);      // counted in the ops inside
Cost attention(const OpCall& call);      // two products for each query and key
Cost attention_backward(const OpCall& call);  // five of them
Cost cell(const OpCall& call);                // a dozen operations for each four gates
Cost recurrent(const OpCall& call);           // for each row of the sequence both products of the gates
Cost recurrent_backward(const OpCall& call);  // twice that

}  // namespace amp::cost
