// safetensors files: tensors by name, as PyTorch's users exchange weights. Named after the Python package, whose files
// are read and whose writer's bytes are written: weights go both ways.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "libamp/core/tensor.h"
#include "libamp/io/input_file.h"
#include "libamp/io/safetensors_header.h"

namespace amp::io {

/// Tensors by name, as Module::state_dict() gives them.
using NamedTensors = std::map<std::string, Tensor>;

/// An open file whose tensors are read when they are asked for.
///
///     const io::safe_open file("model.safetensors");
///     for (const std::string& name : file.keys()) use(name, file.get_tensor(name));
///
/// The file is read, not mapped: if somebody cuts it short meanwhile, that is an error and not a signal.
/// Errors are Error(io) with the file's name: missing, not a regular file, and all that parse_safetensors_header
/// refuses. Nothing is allocated on the word of a header that the file's length does not bear out. [any thread]
class safe_open {
 public:
  explicit safe_open(const std::string& path);

  /// Names in alphabetical order.
  [[nodiscard]] std::vector<std::string> keys() const;
  [[nodiscard]] bool contains(const std::string& name) const { return header_.tensors.contains(name); }
  /// dtype and sizes, without reading the data. Error(value) for an unknown name.
  [[nodiscard]] const TensorInfo& info(const std::string& name) const;
  [[nodiscard]] const Metadata& metadata() const { return header_.metadata; }
  /// A new tensor on the CPU. Error(value) for an unknown name, Error(not_implemented) for a dtype libamp lacks,
  /// Error(io) if the data cannot be read, or are BOOL and hold something else than 0 and 1.
  [[nodiscard]] Tensor get_tensor(const std::string& name) const;

 private:
  InputFile file_;
  std::uint64_t data_begin_ = 0;
  SafetensorsHeader header_;
};

/// All tensors of a file. Errors as safe_open.
NamedTensors load_file(const std::string& path);

/// Writes tensors of any dtype, strides and device. Tensors that share memory are written once each. The same tensors
/// give the same bytes: widest elements first, then by name, each aligned to its elements, the header to 8 bytes.
/// The file is replaced as a whole or not at all (see AtomicFile). Error(value) for an undefined tensor and names that
/// cannot be written, Error(io) if the file cannot.
void save_file(const NamedTensors& tensors, const std::string& path, const Metadata& metadata = {});

}  // namespace amp::io
