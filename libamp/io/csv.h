// Tables of numbers in text files: one row a line, values parted by commas.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libamp/core/tensor.h"

namespace amp::io {

struct CsvOptions {  ///< how a CSV file is written
  char delimiter = ',';
  /// Is the first line names? Left out: if one of its fields is not a number.
  std::optional<bool> header = {};
  /// Of the values: float32 or float64.
  DType dtype = DType::float32;
};

struct Csv {                         ///< a table of numbers
  std::vector<std::string> columns;  ///< empty without a header
  Tensor values;                     ///< [rows, columns]
  /// Place of a column by name. Throws Error(value) naming the columns there are.
  [[nodiscard]] std::int64_t column(std::string_view name) const;
};

/// Reads numbers as C writes them in any locale, also inf and nan, with spaces around them, in double quotes or not.
/// Lines end with LF or CRLF; empty lines at the end are left out, and a byte order mark before the first.
/// Throws Error(io) naming file, line and column: no rows, an empty field or one that is not a number or does not fit
/// float64, a row with another number of fields than the first.
Csv read_csv(const std::string& path, const CsvOptions& options = {});
/// The same over the text of a file. file: the name for errors.
Csv parse_csv(std::string_view text, const std::string& file, const CsvOptions& options = {});

}  // namespace amp::io
