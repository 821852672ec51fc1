// The one exception libamp throws, and the check that throws it.
#pragma once
#include <stdexcept>
#include <string>
#include <string_view>

namespace amp {

/// What kind of mistake an Error reports; mirrors the exception classes PyTorch raises in the same place.
enum class ErrorCode {
  runtime,          ///< RuntimeError: shapes, dtypes, state that do not fit
  type,             ///< TypeError: a value of the wrong kind
  value,            ///< ValueError: a value out of range
  index,            ///< IndexError: an index or dimension out of range
  not_implemented,  ///< NotImplementedError: the op has no body for this dtype or device
  assertion,        ///< AssertionError: a call in the wrong order (GradScaler)
  io,               ///< a file that is missing, truncated or not of the expected format
  out_of_memory,    ///< an allocation failed
};

/// Thrown by every libamp call that cannot do what was asked. The message has the form
/// "[op] what was wrong: got X, need Y". The library's state is as before the call.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ErrorCode code() const noexcept { return code_; }  ///< the kind of mistake

 private:
  ErrorCode code_;
};

/// Throws Error("[where] message").
[[noreturn]] void fail(ErrorCode code, std::string_view where, std::string_view message);

}  // namespace amp
