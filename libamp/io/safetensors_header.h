// The head of a safetensors file: which tensors it holds and where. Pure functions over bytes; reading and writing of
// files is in safetensors.h. Format: https://huggingface.co/docs/safetensors, "Format".
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libamp/base/words.h"
#include "libamp/core/shape.h"

namespace amp::io {

/// The `__metadata__` of a file: free text by name.
using Metadata = std::map<std::string, std::string>;

/// One tensor of a file.
struct TensorInfo {
  std::string dtype_name;      ///< the format's word, such as "F32"
  std::optional<DType> dtype;  ///< none for those of the format's types that libamp lacks, such as "U32"
  Shape sizes;
  std::uint64_t begin = 0, end = 0;  ///< bytes from the end of the header
};

struct SafetensorsHeader {
  std::map<std::string, TensorInfo> tensors;
  Metadata metadata;
};

/// The longest header that is read or written, in bytes; a limit of the format.
inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;

/// Reads the JSON text of a header of a file with `data_bytes` bytes after it. file: the name that errors give.
/// Throws Error(io) naming the file, the tensor and the fault: not JSON, not UTF-8, a name or field twice, fields
/// missing or unknown, sizes that are no sizes, a byte count that is not that of dtype and sizes, ranges that overlap,
/// leave holes or end elsewhere than the file.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes, const std::string& file);

/// The JSON text for tensors at these places in order, padded with spaces to 8 bytes. Throws Error(value) for names or
/// metadata that are not UTF-8, and for more than kMaxSafetensorsHeader bytes.
std::string make_safetensors_header(const std::vector<std::pair<std::string, TensorInfo>>& tensors,
                                    const Metadata& metadata);

/// The format's word for a dtype; all of libamp's have one.
std::string_view safetensors_name(DType dtype);
/// Place of a dtype in the order that tensors are written in: widest elements first, which keeps all of them aligned.
int safetensors_rank(DType dtype);

/// `text` in quotes for a message: shortened, and without control characters.
std::string in_quotes(std::string_view text);

}  // namespace amp::io
