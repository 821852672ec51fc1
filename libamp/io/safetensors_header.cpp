// The one place that reads and writes JSON in libamp. The text comes from anybody, so nothing is built from it but what
// was asked for: a handler takes the parser's tokens one by one and stops it at the first that does not belong.
#include "libamp/io/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

namespace amp::io {
namespace {

struct FormatType {
  std::string_view name;
  std::uint64_t bits;
  std::optional<DType> dtype;
};
// In the order in which the format's own library writes tensors.
constexpr FormatType kTypes[] = {
    {"U64", 64, {}},
    {"I64", 64, DType::int64},
    {"F64", 64, DType::float64},
    {"C64", 64, {}},
    {"F32", 32, DType::float32},
    {"U32", 32, {}},
    {"I32", 32, DType::int32},
    {"BF16", 16, DType::bfloat16},
    {"F16", 16, DType::float16},
    {"U16", 16, {}},
    {"I16", 16, DType::int16},
    {"F8_E8M0", 8, {}},
    {"F8_E4M3", 8, DType::float8_e4m3fn},
    {"F8_E5M2", 8, DType::float8_e5m2},
    {"I8", 8, DType::int8},
    {"U8", 8, DType::uint8},
    {"F6_E3M2", 6, {}},
    {"F6_E2M3", 6, {}},
    {"F4", 4, {}},
    {"BOOL", 8, DType::bool_},
};

const FormatType* find_type(std::string_view name) {
  const auto* found = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& t) { return t.name == name; });
  return found == std::end(kTypes) ? nullptr : found;
}

const FormatType& type_of(DType dtype) {
  return *std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& t) { return t.dtype == dtype; });
}

constexpr std::string_view kMetadataKey = "__metadata__";
constexpr auto kMaxInt = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

// Takes the tokens of the header. Each method returns whether the parser should go on; `fault` says why not.
class Reader {
 public:
  SafetensorsHeader header;
  std::string fault;

  bool start_object(std::size_t) {
    if (place_ == Place::start) return go(Place::names);
    if (place_ == Place::entry) return go(entry_is_metadata_ ? Place::metadata : Place::fields);
    return unexpected("an object");
  }

  bool key(std::string& key) {
    if (place_ == Place::names) return start_entry(key);
    if (place_ == Place::metadata) {
      text_key_ = key;
      if (header.metadata.contains(key)) return stop(fmt::format("__metadata__ names {} twice", in_quotes(key)));
      return go(Place::text);
    }
    field_ = key;
    if (!fields_.insert(key).second) return in_tensor(fmt::format("has {} twice", in_quotes(key)));
    if (key == "dtype") return go(Place::dtype);
    if (key == "shape") return go(Place::shape);
    if (key == "data_offsets") return go(Place::offsets);
    return in_tensor(fmt::format("has a field {}, need dtype, shape and data_offsets", in_quotes(key)));
  }

  bool end_object() {
    if (place_ == Place::names) return go(Place::end);
    if (place_ == Place::fields) {
      for (const char* need : {"dtype", "shape", "data_offsets"})
        if (!fields_.contains(need)) return in_tensor(fmt::format("has no {}", need));
    }
    return go(Place::names);
  }

  bool start_array(std::size_t) {
    if (place_ == Place::shape && !in_array_) return in_array_ = true;
    if (place_ == Place::offsets && !in_array_) return in_array_ = true;
    return unexpected("a list");
  }

  bool end_array() {
    in_array_ = false;
    if (place_ == Place::offsets) {
      if (offsets_.size() != 2)
        return in_tensor(fmt::format("has {} data_offsets, need begin and end", offsets_.size()));
      info_->begin = offsets_[0];
      info_->end = offsets_[1];
    }
    return go(Place::fields);
  }

  bool number_unsigned(std::uint64_t value) {
    if (!in_array_) return unexpected("a number");
    if (value > kMaxInt) return in_tensor(fmt::format("has {} in its {}, more than 63 bits", value, field_));
    if (place_ == Place::offsets) {
      if (offsets_.size() == 2) return in_tensor("has more than two data_offsets");
      offsets_.push_back(value);
      return true;
    }
    if (info_->sizes.size() == kMaxDims)
      return in_tensor(fmt::format("has more than {} dims: libamp takes no more", kMaxDims));
    info_->sizes.push_back(static_cast<std::int64_t>(value));
    return true;
  }

  bool string(std::string& value) {
    if (place_ == Place::text) {
      header.metadata[text_key_] = std::move(value);
      return go(Place::metadata);
    }
    if (place_ != Place::dtype) return unexpected("a text");
    const FormatType* type = find_type(value);
    if (type == nullptr)
      return in_tensor(fmt::format("has dtype {}, which the format does not know", in_quotes(value)));
    info_->dtype_name = type->name;
    info_->dtype = type->dtype;
    return go(Place::fields);
  }

  bool number_integer(std::int64_t value) { return unexpected(fmt::format("the negative number {}", value)); }
  bool number_float(double, const std::string& text) { return unexpected("the number " + in_quotes(text)); }
  bool null() { return unexpected("null"); }
  bool boolean(bool) { return unexpected("true or false"); }
  template <typename Binary>
  bool binary(Binary&) {
    return unexpected("binary data");
  }
  template <typename Exception>
  bool parse_error(std::size_t position, const std::string&, const Exception& e) {
    // The parser's message ends with what it read last, which can be anything.
    std::string_view why = e.what();
    why = why.substr(0, why.find("; last read"));
    if (const std::size_t at = why.rfind(" - "); at != std::string_view::npos) why = why.substr(at + 3);
    return stop(fmt::format("its header is not JSON in UTF-8: byte {}: {}", position, in_quotes(why)));
  }

 private:
  enum class Place { start, names, entry, metadata, text, fields, dtype, shape, offsets, end };

  bool go(Place place) {
    place_ = place;
    return true;
  }
  bool stop(std::string why) {
    fault = std::move(why);
    return false;
  }
  bool in_tensor(const std::string& why) { return stop(fmt::format("tensor {} {}", in_quotes(name_), why)); }
  bool unexpected(const std::string& what) {
    if (place_ == Place::start || place_ == Place::end)
      return stop(fmt::format("its header is {}, need an object", what));
    if (place_ == Place::text)
      return stop(fmt::format("__metadata__: {} is {}, need a text", in_quotes(text_key_), what));
    if (place_ == Place::entry) return stop(fmt::format("entry {} is {}, need an object", in_quotes(name_), what));
    const char* need = place_ == Place::dtype ? "a text" : "a list of numbers from 0 up";
    return in_tensor(fmt::format("has {} in its {}, need {}", what, field_, need));
  }
  bool start_entry(const std::string& key) {
    entry_is_metadata_ = key == kMetadataKey;
    name_ = key;
    if (entry_is_metadata_) {
      if (had_metadata_) return stop("it has __metadata__ twice");
      had_metadata_ = true;
      return go(Place::entry);
    }
    const auto [at, fresh] = header.tensors.try_emplace(key);
    if (!fresh) return in_tensor("is there twice");
    info_ = &at->second;
    fields_.clear();
    offsets_.clear();
    return go(Place::entry);
  }

  Place place_ = Place::start;
  bool in_array_ = false, entry_is_metadata_ = false, had_metadata_ = false;
  std::string name_, text_key_, field_;
  std::set<std::string> fields_;
  std::vector<std::uint64_t> offsets_;
  TensorInfo* info_ = nullptr;
};

/// Bytes of a tensor, or what is wrong with it.
std::string check_bytes(const TensorInfo& info, std::uint64_t data_bytes) {
  if (info.begin > info.end) return fmt::format("ends at byte {}, before its begin {}", info.end, info.begin);
  if (info.end > data_bytes)
    return fmt::format("ends at byte {} of the data, of which there are {}", info.end, data_bytes);
  // Sizes of 0 count as 1 here, so that no product of some of the sizes overflows either.
  std::uint64_t bits = find_type(info.dtype_name)->bits;
  bool empty = false;
  for (const std::int64_t size : info.sizes) {
    empty = empty || size == 0;
    const auto factor = static_cast<std::uint64_t>(size == 0 ? 1 : size);
    if (__builtin_mul_overflow(bits, factor, &bits))
      return fmt::format("has the sizes {}, more than there can be", to_string(info.sizes));
  }
  if (empty) bits = 0;
  if (bits % 8 != 0) return fmt::format("is {}{}, no whole bytes", info.dtype_name, to_string(info.sizes));
  if (bits / 8 != info.end - info.begin)
    return fmt::format("has {} bytes, need {} for {}{}", info.end - info.begin, bits / 8, info.dtype_name,
                       to_string(info.sizes));
  return {};
}

/// Every byte of the data must belong to exactly one tensor.
std::string check_cover(const SafetensorsHeader& header, std::uint64_t data_bytes) {
  std::vector<const std::pair<const std::string, TensorInfo>*> order;
  order.reserve(header.tensors.size());
  for (const auto& entry : header.tensors) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
  });
  std::uint64_t at = 0;
  for (const auto* entry : order) {
    const auto& [name, info] = *entry;
    if (info.begin < at)
      return fmt::format("tensor {} begins at byte {}, inside another that ends at {}", in_quotes(name), info.begin,
                         at);
    if (info.begin > at)
      return fmt::format("bytes {} to {} of the data belong to no tensor, before {}", at, info.begin, in_quotes(name));
    at = info.end;
  }
  if (at != data_bytes) return fmt::format("goes on for {} bytes after its last tensor", data_bytes - at);
  return {};
}

}  // namespace

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  std::string result = "'";
  for (const char c : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f)
      result += fmt::format("\\x{:02x}", byte);
    else
      result += c;
  }
  return result + (text.size() > kLongest ? "...'" : "'");
}

SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes, const std::string& file) {
  const auto refuse = [&](const std::string& why) { fail(ErrorCode::io, "safetensors", file + ": " + why); };
  // The parser would skip a byte order mark; the format has none.
  if (json.empty() || json.front() != '{') refuse("is not a safetensors file: its header does not begin with {");
  Reader reader;
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &reader)) refuse(reader.fault);
  for (const auto& [name, info] : reader.header.tensors)
    if (const std::string why = check_bytes(info, data_bytes); !why.empty())
      refuse(fmt::format("tensor {} {}", in_quotes(name), why));
  if (const std::string why = check_cover(reader.header, data_bytes); !why.empty()) refuse(why);
  return std::move(reader.header);
}

std::string make_safetensors_header(const std::vector<std::pair<std::string, TensorInfo>>& tensors,
                                    const Metadata& metadata) {
  const auto text = [](const std::string& value) {
    try {
      return nlohmann::json(value).dump();
    } catch (const nlohmann::json::exception&) {
      fail(ErrorCode::value, "safetensors", fmt::format("names and metadata must be UTF-8: got {}", in_quotes(value)));
    }
  };
  std::string json = "{";
  const auto comma = [&] { return json.size() > 1 ? "," : ""; };
  if (!metadata.empty()) {
    std::string inner;
    for (const auto& [key, value] : metadata) inner += (inner.empty() ? "" : ",") + text(key) + ":" + text(value);
    json += fmt::format("\"{}\":{{{}}}", kMetadataKey, inner);
  }
  for (const auto& [name, info] : tensors) {
    std::string sizes;
    for (const std::int64_t size : info.sizes) sizes += fmt::format("{}{}", sizes.empty() ? "" : ",", size);
    json += fmt::format("{}{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}", comma(), text(name),
                        info.dtype_name, sizes, info.begin, info.end);
  }
  json += '}';
  json.append((8 - json.size() % 8) % 8, ' ');
  if (json.size() > kMaxSafetensorsHeader)
    fail(ErrorCode::value, "safetensors",
         fmt::format("the header would take {} bytes, need at most {}", json.size(), kMaxSafetensorsHeader));
  return json;
}

std::string_view safetensors_name(DType dtype) { return type_of(dtype).name; }
int safetensors_rank(DType dtype) { return static_cast<int>(&type_of(dtype) - kTypes); }

}  // namespace amp::io
