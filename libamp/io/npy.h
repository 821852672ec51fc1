// NumPy's .npy files: one array each. Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "libamp/core/tensor.h"

namespace amp::io {

/// What the head of a .npy file says.
struct NpyHeader {
  DType dtype = DType::float32;
  bool big_endian = false;
  bool fortran_order = false;
  Shape sizes;
};

/// Reads the text of a header: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }. file: for errors.
/// Throws Error(io) naming the file and the fault, and Error(not_implemented) for element types that libamp lacks:
/// objects, texts, records, complex numbers, and unsigned integers of more than a byte.
NpyHeader parse_npy_header(std::string_view text, const std::string& file);

/// Reads a file of version 1, 2 or 3, in C or Fortran order and either byte order, of elements f2 f4 f8 i1 i2 i4 i8 u1
/// b1. Throws Error(io), also for a file that is shorter or longer than its header says.
Tensor read_npy(const std::string& path);

/// Writes a tensor as version 1, in C order. The file is replaced as a whole or not at all. Throws
/// Error(not_implemented) for bfloat16 and float8, which NumPy lacks, and Error(io).
void write_npy(const std::string& path, const Tensor& tensor);

}  // namespace amp::io
