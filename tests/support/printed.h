// Catches what a piece of code prints on standard error: for tests of warnings.
#pragma once
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>

namespace amp::testing {

/// What f prints on standard error.
inline std::string printed(const std::function<void()>& f) {
  std::fflush(stderr);
  std::FILE* file = std::tmpfile();
  const int before = dup(2);
  dup2(fileno(file), 2);
  f();
  std::fflush(stderr);
  dup2(before, 2);
  close(before);
  std::string text(static_cast<std::size_t>(lseek(fileno(file), 0, SEEK_END)), '\0');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

}  // namespace amp::testing
