// One pass over the text; the values of a row are appended as they come.
#include "libamp/io/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "libamp/io/input_file.h"
#include "libamp/io/safetensors_header.h"

namespace amp::io {
namespace {

// The whole text is held while it is read.
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 33;

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

/// Without spaces and a pair of double quotes around it.
std::string_view bare(std::string_view field) {
  field = trimmed(field);
  if (field.size() >= 2 && field.front() == '"' && field.back() == '"')
    field = trimmed(field.substr(1, field.size() - 2));
  return field;
}

bool to_number(std::string_view field, double& value) {
  field = bare(field);
  if (field.starts_with('+')) field.remove_prefix(1);
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  return error == std::errc() && end == field.data() + field.size() && !field.empty();
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& file, const CsvOptions& options)
      : text_(text), file_(file), options_(options) {
    if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);
    while (!text_.empty() && (text_.back() == '\n' || text_.back() == '\r')) text_.remove_suffix(1);
  }

  Csv parse() {
    Csv csv;
    std::vector<double> values;
    std::vector<std::string_view> fields;
    std::size_t columns = 0, rows = 0;
    while (next_line(fields)) {
      if (columns == 0) {
        columns = fields.size();
        if (is_header(fields)) {
          for (const std::string_view field : fields) csv.columns.emplace_back(bare(field));
          continue;
        }
      }
      if (fields.size() != columns)
        refuse(fmt::format("line {} has {} fields, need {} as before it", line_, fields.size(), columns));
      for (std::size_t c = 0; c < columns; ++c) {
        double value = 0;
        if (!to_number(fields[c], value) || !fits(value))
          refuse(fmt::format("line {}, column {}: {} is not a number, or does not fit {}", line_, c + 1,
                             in_quotes(fields[c]), amp::name(options_.dtype)));
        values.push_back(value);
      }
      ++rows;
    }
    if (rows == 0) refuse("holds no rows");
    csv.values = to_tensor(values, {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)});
    return csv;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const { fail(ErrorCode::io, "read_csv", file_ + ": " + why); }

  bool next_line(std::vector<std::string_view>& fields) {
    if (text_.empty()) return false;
    ++line_;
    const std::size_t end = std::min(text_.find('\n'), text_.size());
    std::string_view line = text_.substr(0, end);
    text_.remove_prefix(std::min(end + 1, text_.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    fields.clear();
    bool quoted = false;
    std::size_t begin = 0;
    for (std::size_t at = 0; at < line.size(); ++at) {
      if (line[at] == '"') quoted = !quoted;
      if (quoted || line[at] != options_.delimiter) continue;
      fields.push_back(line.substr(begin, at - begin));
      begin = at + 1;
    }
    if (quoted) refuse(fmt::format("line {} ends inside quotes", line_));
    fields.push_back(line.substr(begin));
    return true;
  }

  [[nodiscard]] bool is_header(const std::vector<std::string_view>& fields) const {
    if (options_.header) return *options_.header;
    double ignored = 0;
    return !std::all_of(fields.begin(), fields.end(), [&](std::string_view f) { return to_number(f, ignored); });
  }

  [[nodiscard]] bool fits(double value) const {
    return options_.dtype == DType::float64 || !std::isfinite(value) ||
           std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max());
  }

  [[nodiscard]] Tensor to_tensor(const std::vector<double>& values, const Shape& sizes) const {
    Tensor tensor = empty(sizes, options_.dtype);
    if (options_.dtype == DType::float64)
      std::copy(values.begin(), values.end(), tensor.data<double>());
    else
      std::transform(values.begin(), values.end(), tensor.data<float>(),
                     [](double value) { return static_cast<float>(value); });
    return tensor;
  }

  std::string_view text_;
  const std::string& file_;
  const CsvOptions& options_;
  std::size_t line_ = 0;
};

}  // namespace

std::int64_t Csv::column(std::string_view name) const {
  const auto found = std::find(columns.begin(), columns.end(), name);
  if (found != columns.end()) return found - columns.begin();
  std::string there;
  for (const std::string& column : columns) there += (there.empty() ? "" : ", ") + in_quotes(column);
  fail(ErrorCode::value, "Csv::column",
       fmt::format("got {}, need one of: {}", in_quotes(name), there.empty() ? "(no header)" : there));
}

Csv parse_csv(std::string_view text, const std::string& file, const CsvOptions& options) {
  if (options.dtype != DType::float32 && options.dtype != DType::float64)
    fail(ErrorCode::type, "read_csv",
         fmt::format("dtype must be float32 or float64: got {}", amp::name(options.dtype)));
  return Parser(text, file, options).parse();
}

Csv read_csv(const std::string& path, const CsvOptions& options) {
  return parse_csv(read_whole_file("read_csv", path, kMaxBytes), path, options);
}

}  // namespace amp::io
