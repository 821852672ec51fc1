// The named matrix products: arguments in, op calls out.
#include "libamp/ops/product.h"

#include "libamp/dispatch/run_op.h"

namespace amp {
namespace {

Tensor add_product(OpId op, const Tensor& input, const Tensor& a, const Tensor& b, double beta, double alpha) {
  return run_op1({op, {input, a, b}, {{"beta", beta}, {"alpha", alpha}}, {}});
}

}  // namespace

Tensor mm(const Tensor& input, const Tensor& mat2) { return run_op1({OpId::mm, {input, mat2}, {}, {}}); }
Tensor mv(const Tensor& input, const Tensor& vec) { return run_op1({OpId::mv, {input, vec}, {}, {}}); }
Tensor bmm(const Tensor& input, const Tensor& mat2) { return run_op1({OpId::bmm, {input, mat2}, {}, {}}); }

Tensor addmm(const Tensor& input, const Tensor& mat1, const Tensor& mat2, double beta, double alpha) {
  return add_product(OpId::addmm, input, mat1, mat2, beta, alpha);
}
Tensor addmv(const Tensor& input, const Tensor& mat, const Tensor& vec, double beta, double alpha) {
  return add_product(OpId::addmv, input, mat, vec, beta, alpha);
}
Tensor addr(const Tensor& input, const Tensor& vec1, const Tensor& vec2, double beta, double alpha) {
  return add_product(OpId::addr, input, vec1, vec2, beta, alpha);
}
Tensor addbmm(const Tensor& input, const Tensor& batch1, const Tensor& batch2, double beta, double alpha) {
  return add_product(OpId::addbmm, input, batch1, batch2, beta, alpha);
}
Tensor baddbmm(const Tensor& input, const Tensor& batch1, const Tensor& batch2, double beta, double alpha) {
  return add_product(OpId::baddbmm, input, batch1, batch2, beta, alpha);
}

Tensor addmm_activation(const Tensor& input, const Tensor& mat1, const Tensor& mat2, double beta, double alpha,
                        bool use_gelu) {
  return run_op1(
      {OpId::addmm_activation, {input, mat1, mat2}, {{"beta", beta}, {"alpha", alpha}, {"use_gelu", use_gelu}}, {}});
}

Tensor chain_matmul(const Tensors& matrices) { return run_op1({OpId::chain_matmul, matrices, {}, {}}); }
Tensor multi_dot(const Tensors& tensors) { return run_op1({OpId::linalg_multi_dot, tensors, {}, {}}); }

Tensor tensordot(const Tensor& a, const Tensor& b, const Shape& dims_a, const Shape& dims_b) {
  return run_op1({OpId::tensordot, {a, b}, {{"dims_a", dims_a}, {"dims_b", dims_b}}, {}});
}
Tensor tensordot(const Tensor& a, const Tensor& b, std::int64_t dims) {
  Shape dims_a, dims_b;
  for (std::int64_t d = 0; d < dims; ++d) {
    dims_a.push_back(a.dim() - dims + d);
    dims_b.push_back(d);
  }
  return tensordot(a, b, dims_a, dims_b);
}
Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias) {
  return run_op1({OpId::bilinear, {input1, input2, weight, bias}, {}, {}});
}
Tensor einsum(std::string_view equation, const Tensors& operands) {
  return run_op1({OpId::einsum, operands, {{"equation", std::string(equation)}}, {}});
}

}  // namespace amp
