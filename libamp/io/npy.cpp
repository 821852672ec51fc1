// Magic, version, length of the header, the header as a Python dict, the data.
#include "libamp/io/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>
#include <optional>

#include "libamp/core/grad_mode.h"
#include "libamp/io/atomic_file.h"
#include "libamp/io/input_file.h"
#include "libamp/io/safetensors_header.h"

namespace amp::io {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
// NumPy's own headers have some hundred bytes.
constexpr std::uint64_t kMaxHeader = 1 << 20;

struct Code {
  std::string_view code;
  DType dtype;
};
constexpr Code kCodes[] = {{"f2", DType::float16}, {"f4", DType::float32}, {"f8", DType::float64},
                           {"i1", DType::int8},    {"i2", DType::int16},   {"i4", DType::int32},
                           {"i8", DType::int64},   {"u1", DType::uint8},   {"b1", DType::bool_}};

/// Reads the few forms of Python that a header can have.
class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  NpyHeader read() {
    NpyHeader header;
    bool seen[3] = {};
    need('{');
    while (!take('}')) {
      const std::string_view key = string();
      need(':');
      static constexpr std::string_view kKeys[] = {"descr", "fortran_order", "shape"};
      const auto at = std::find(std::begin(kKeys), std::end(kKeys), key) - std::begin(kKeys);
      if (at == 3) refuse(fmt::format("its header has an entry {}", in_quotes(key)));
      if (seen[at]) refuse(fmt::format("its header has {} twice", in_quotes(key)));
      seen[at] = true;
      if (at == 0)
        read_descr(header);
      else if (at == 1)
        header.fortran_order = boolean();
      else
        header.sizes = tuple();
      if (take('}')) break;
      need(',');
    }
    skip_space();
    if (!text_.empty()) refuse("its header goes on after its }");
    for (const bool there : seen)
      if (!there) refuse("its header lacks one of 'descr', 'fortran_order' and 'shape'");
    return header;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const { fail(ErrorCode::io, "read_npy", file_ + ": " + why); }

  void skip_space() { text_.remove_prefix(std::min(text_.find_first_not_of(" \t\n"), text_.size())); }
  bool take(char c) {
    skip_space();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void need(char c) {
    if (!take(c)) refuse(fmt::format("its header has {} where there should be '{}'", in_quotes(text_.substr(0, 8)), c));
  }
  std::string_view string() {
    skip_space();
    const char quote = !text_.empty() && text_.front() == '"' ? '"' : '\'';
    need(quote);
    const std::size_t end = text_.find(quote);
    if (end == std::string_view::npos) refuse("its header ends inside a text");
    const std::string_view value = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    return value;
  }
  bool boolean() {
    skip_space();
    for (const std::string_view word : {"True", "False"})
      if (text_.starts_with(word)) {
        text_.remove_prefix(word.size());
        return word == "True";
      }
    refuse("its fortran_order is neither True nor False");
  }
  Shape tuple() {
    Shape sizes;
    need('(');
    while (!take(')')) {
      skip_space();
      std::int64_t size = 0;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0)
        refuse(fmt::format("its shape has {}, need a size", in_quotes(text_.substr(0, 24))));
      if (sizes.size() == kMaxDims) refuse(fmt::format("has more than {} dims: libamp takes no more", kMaxDims));
      sizes.push_back(size);
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      if (take(')')) break;
      need(',');
    }
    return sizes;
  }
  void read_descr(NpyHeader& header) {
    skip_space();
    if (text_.starts_with('[')) unsupported("records");
    const std::string_view descr = string();
    if (descr.find('O') != std::string_view::npos)
      unsupported("Python objects, which only running what the file says could read");
    const std::string_view code = descr.substr(std::min<std::size_t>(1, descr.size()));
    const auto* found =
        std::find_if(std::begin(kCodes), std::end(kCodes), [&](const Code& entry) { return entry.code == code; });
    const char order = descr.empty() ? '\0' : descr[0];
    if (found == std::end(kCodes) || std::string_view("<>|=").find(order) == std::string_view::npos)
      unsupported(fmt::format("elements of type {}", in_quotes(descr)));
    header.dtype = found->dtype;
    header.big_endian = order == '>';
  }
  [[noreturn]] void unsupported(const std::string& what) const {
    fail(ErrorCode::not_implemented, "read_npy",
         fmt::format("{}: holds {}: need one of f2 f4 f8 i1 i2 i4 i8 u1 b1", file_, what));
  }

  std::string_view text_;
  const std::string& file_;
};

/// Bytes of all elements; none if there cannot be so many.
std::optional<std::uint64_t> bytes_of(const NpyHeader& header) {
  std::int64_t bytes = static_cast<std::int64_t>(size_of(header.dtype));
  bool empty = false;
  for (const std::int64_t size : header.sizes) {
    empty = empty || size == 0;
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(size, 1), &bytes)) return {};
  }
  return empty ? 0 : static_cast<std::uint64_t>(bytes);
}

void swap_bytes(std::byte* data, std::uint64_t bytes, std::size_t width) {
  for (std::uint64_t at = 0; at < bytes; at += width) std::reverse(data + at, data + at + width);
}

}  // namespace

NpyHeader parse_npy_header(std::string_view text, const std::string& file) { return Reader(text, file).read(); }

Tensor read_npy(const std::string& path) {
  const InputFile file("read_npy", path);
  unsigned char head[12] = {};
  file.read(head, std::min<std::uint64_t>(file.size(), sizeof head), 0);
  if (file.size() < 10 || std::memcmp(head, kMagic.data(), kMagic.size()) != 0)
    file.refuse("is not a .npy file: it does not begin as one");
  if (head[6] < 1 || head[6] > 3) file.refuse(fmt::format("has version {}.{}, need 1, 2 or 3", head[6], head[7]));
  const bool wide = head[6] > 1;
  const std::uint64_t begin = wide ? 12 : 10;
  if (file.size() < begin) file.refuse("is truncated: it ends in its header");
  std::uint64_t length = head[8] | head[9] << 8;
  if (wide) length |= std::uint64_t{head[10]} << 16 | std::uint64_t{head[11]} << 24;
  if (length > kMaxHeader) file.refuse(fmt::format("has a header of {} bytes, need at most {}", length, kMaxHeader));
  if (length > file.size() - begin)
    file.refuse(fmt::format("is truncated: its header has {} bytes, and {} are there", length, file.size() - begin));
  std::string text(length, '\0');
  file.read(text.data(), length, begin);
  const NpyHeader header = parse_npy_header(text, path);
  const std::uint64_t there = file.size() - begin - length;
  const auto bytes = bytes_of(header);
  if (bytes != there)
    file.refuse(fmt::format("holds {} bytes of data, need {} for {}{}", there,
                            bytes ? fmt::format("{}", *bytes) : "more than there can be", name(header.dtype),
                            to_string(header.sizes)));
  Shape sizes = header.sizes;
  if (header.fortran_order) std::reverse(sizes.begin(), sizes.end());
  Tensor tensor = empty(sizes, header.dtype);
  file.read(tensor.raw(), there, begin + length);
  auto* data = tensor.data<std::byte>();
  if (header.big_endian) swap_bytes(data, there, size_of(header.dtype));
  if (header.dtype == DType::bool_ && std::any_of(data, data + there, [](std::byte b) { return b > std::byte{1}; }))
    file.refuse("holds bools that are neither 0 nor 1");
  if (!header.fortran_order || sizes.size() < 2) return tensor;
  const no_grad quiet;
  Shape reversed;
  for (int d = sizes.size() - 1; d >= 0; --d) reversed.push_back(d);
  return tensor.permute(reversed).contiguous();
}

void write_npy(const std::string& path, const Tensor& tensor) {
  const auto* code = std::find_if(std::begin(kCodes), std::end(kCodes),
                                  [&](const Code& entry) { return entry.dtype == tensor.dtype(); });
  if (code == std::end(kCodes))
    fail(ErrorCode::not_implemented, "write_npy", "NumPy lacks this type: got " + describe(tensor));
  std::string sizes;
  for (const std::int64_t size : tensor.sizes()) sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", size);
  if (tensor.dim() == 1) sizes += ',';
  std::string text = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                 size_of(tensor.dtype()) == 1 ? '|' : '<', code->code, sizes);
  // NumPy aligns the data to 64 bytes; the header closes with a line feed.
  constexpr std::size_t kBegin = 10;
  text.append(63 - (kBegin + text.size()) % 64, ' ');
  text += '\n';
  const no_grad quiet;
  const Tensor data = tensor.detach().to(kCPU).contiguous();
  AtomicFile file("write_npy", path);
  const unsigned char head[] = {1, 0, static_cast<unsigned char>(text.size() & 255),
                                static_cast<unsigned char>(text.size() >> 8)};
  file.write(kMagic.data(), kMagic.size());
  file.write(head, sizeof head);
  file.write(text.data(), text.size());
  file.write(data.raw(), static_cast<std::size_t>(data.numel()) * size_of(data.dtype()));
  file.commit();
}

}  // namespace amp::io
