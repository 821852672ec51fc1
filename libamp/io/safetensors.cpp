// A file: 8 bytes length of the header, the header in JSON, the data. All little-endian, as this machine.
#include "libamp/io/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "libamp/core/grad_mode.h"
#include "libamp/io/atomic_file.h"

static_assert(std::endian::native == std::endian::little, "safetensors are little-endian");

namespace amp::io {
namespace {

constexpr const char* kWhere = "safetensors";
constexpr std::uint64_t kLengthBytes = 8;

}  // namespace

safe_open::safe_open(const std::string& path) : file_(kWhere, path) {
  const std::uint64_t size = file_.size();
  if (size < kLengthBytes)
    file_.refuse(
        fmt::format("is no safetensors file: got {} bytes, need {} for the header's length", size, kLengthBytes));
  std::uint64_t length = 0;
  file_.read(&length, kLengthBytes, 0);
  if (length > kMaxSafetensorsHeader)
    file_.refuse(
        fmt::format("is no safetensors file: its header has {} bytes, need at most {}", length, kMaxSafetensorsHeader));
  if (length > size - kLengthBytes)
    file_.refuse(fmt::format("is truncated: its header has {} bytes, and {} are there", length, size - kLengthBytes));
  std::string json(length, '\0');
  file_.read(json.data(), length, kLengthBytes);
  data_begin_ = kLengthBytes + length;
  header_ = parse_safetensors_header(json, size - data_begin_, path);
}

std::vector<std::string> safe_open::keys() const {
  std::vector<std::string> names;
  names.reserve(header_.tensors.size());
  for (const auto& [name, info] : header_.tensors) names.push_back(name);
  return names;
}

const TensorInfo& safe_open::info(const std::string& name) const {
  const auto found = header_.tensors.find(name);
  if (found == header_.tensors.end())
    fail(ErrorCode::value, kWhere, fmt::format("{}: holds no tensor {}", file_.path(), in_quotes(name)));
  return found->second;
}

Tensor safe_open::get_tensor(const std::string& name) const {
  const TensorInfo& entry = info(name);
  if (!entry.dtype)
    fail(
        ErrorCode::not_implemented, kWhere,
        fmt::format("{}: tensor {} has dtype {}, which libamp lacks", file_.path(), in_quotes(name), entry.dtype_name));
  Tensor tensor = empty(entry.sizes, *entry.dtype);
  const std::uint64_t bytes = entry.end - entry.begin;
  file_.read(tensor.raw(), bytes, data_begin_ + entry.begin);
  if (*entry.dtype == DType::bool_) {
    // Another value in a bool would be undefined behaviour wherever it is read.
    const auto* values = static_cast<const std::uint8_t*>(tensor.raw());
    const auto* wrong = std::find_if(values, values + bytes, [](std::uint8_t value) { return value > 1; });
    if (wrong != values + bytes)
      file_.refuse(fmt::format("tensor {}: element {} of type BOOL is {}, need 0 or 1", in_quotes(name), wrong - values,
                               unsigned{*wrong}));
  }
  return tensor;
}

NamedTensors load_file(const std::string& path) {
  const safe_open file(path);
  NamedTensors tensors;
  for (const std::string& name : file.keys()) tensors[name] = file.get_tensor(name);
  return tensors;
}

void save_file(const NamedTensors& tensors, const std::string& path, const Metadata& metadata) {
  std::vector<const NamedTensors::value_type*> order;
  order.reserve(tensors.size());
  for (const auto& entry : tensors) {
    const auto& [name, tensor] = entry;
    if (name == "__metadata__") fail(ErrorCode::value, kWhere, "no tensor can be named __metadata__");
    if (!tensor.defined()) fail(ErrorCode::value, kWhere, fmt::format("{} is none, need a tensor", in_quotes(name)));
    order.push_back(&entry);
  }
  // The map has put them in order of their names.
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return safetensors_rank(a->second.dtype()) < safetensors_rank(b->second.dtype());
  });
  std::vector<std::pair<std::string, TensorInfo>> entries;
  entries.reserve(order.size());
  std::uint64_t at = 0;
  for (const auto* entry : order) {
    const auto& [name, tensor] = *entry;
    const std::uint64_t bytes = static_cast<std::uint64_t>(tensor.numel()) * size_of(tensor.dtype());
    entries.emplace_back(name, TensorInfo{std::string(safetensors_name(tensor.dtype())), tensor.dtype(), tensor.sizes(),
                                          at, at + bytes});
    at += bytes;
  }
  const std::string json = make_safetensors_header(entries, metadata);
  const std::uint64_t length = json.size();
  AtomicFile file(kWhere, path);
  file.write(&length, sizeof length);
  file.write(json.data(), json.size());
  const no_grad quiet;
  for (const auto* entry : order) {
    const Tensor data = entry->second.detach().to(kCPU).contiguous();
    file.write(data.raw(), static_cast<std::size_t>(data.numel()) * size_of(data.dtype()));
  }
  file.commit();
}

}  // namespace amp::io
