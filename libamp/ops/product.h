// The named matrix products. Listed low precision under CUDA's rules; of these addmv, addr, mv, chain_matmul, multi_dot
// and einsum are on no list under the CPU's. tensordot and bilinear meet in the widest dtype under CUDA's rules.
#pragma once
#include <string_view>

#include "libamp/core/tensor.h"

namespace amp {

Tensor mm(const Tensor& input, const Tensor& mat2);
Tensor mv(const Tensor& input, const Tensor& vec);
Tensor bmm(const Tensor& input, const Tensor& mat2);
// beta * input + alpha * product; input broadcasts. Under autocast input is cast down too.
Tensor addmm(const Tensor& input, const Tensor& mat1, const Tensor& mat2, double beta = 1, double alpha = 1);
Tensor addmv(const Tensor& input, const Tensor& mat, const Tensor& vec, double beta = 1, double alpha = 1);
Tensor addr(const Tensor& input, const Tensor& vec1, const Tensor& vec2, double beta = 1, double alpha = 1);
/// The products of the batch are added up.
Tensor addbmm(const Tensor& input, const Tensor& batch1, const Tensor& batch2, double beta = 1, double alpha = 1);
Tensor baddbmm(const Tensor& input, const Tensor& batch1, const Tensor& batch2, double beta = 1, double alpha = 1);

/// relu(addmm), or gelu with use_gelu (by tanh, as in PyTorch). Listed under the CPU's rules only.
Tensor addmm_activation(const Tensor& input, const Tensor& mat1, const Tensor& mat2, double beta = 1, double alpha = 1,
                        bool use_gelu = false);

/// The product of all matrices, in the order that takes the fewest multiplications.
Tensor chain_matmul(const Tensors& matrices);
/// The same as torch.linalg.multi_dot: the first and the last may be vectors.
Tensor multi_dot(const Tensors& tensors);
/// Contracts dims_a of a with dims_b of b; with a number: the last ones of a with the first ones of b.
Tensor tensordot(const Tensor& a, const Tensor& b, const Shape& dims_a, const Shape& dims_b);
Tensor tensordot(const Tensor& a, const Tensor& b, std::int64_t dims = 2);
/// out[..., o] = sum over i, j of input1[..., i] weight[o, i, j] input2[..., j] + bias[o]
Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias = {});
/// Sums of products by index letters, as torch.einsum: "bij,bjk->bik", "i,i", "...ij->...ji", repeated letters of one
/// operand take its diagonal.
Tensor einsum(std::string_view equation, const Tensors& operands);

}  // namespace amp
