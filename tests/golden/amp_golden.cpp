// amp_golden --dir DIR [--device cpu|cuda] [--only ops|gradscaler|casts|curves] [--data FASHION_DIR]
// Runs every case of the golden files in DIR, prints a line for each that fails, and closes with "N passed, N failed".
// Exit codes: 0 all passed, 1 one failed or nothing was there to run, 2 usage.
#include <sys/stat.h>

#include <cstdio>
#include <string>

#include "libamp/base/error.h"
#include "libamp/core/device.h"
#include "tests/golden/golden.h"

namespace amp::golden {
namespace {

struct Kind {
  const char* name;
  const char* file;
  void (*run)(const Request&, Score&);
};
constexpr Kind kKinds[] = {
    {"casts", "casts.json", run_casts},
    {"gradscaler", "gradscaler.json", run_gradscaler},
    {"ops", "ops.jsonl", run_ops},
    {"curves", "curves.json", run_curves},
};

int usage(const std::string& what) {
  std::fprintf(stderr,
               "amp_golden: %s\nusage: amp_golden --dir DIR [--device cpu|cuda] [--only ops|gradscaler|casts|curves] "
               "[--data FASHION_DIR]\n",
               what.c_str());
  return 2;
}

bool exists(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0;
}

// One kind of file: its cases, or a line that says why there are none.
void run_kind(const Kind& kind, const Request& request, bool asked_for, Score& score) {
  if (!exists(request.dir + "/" + kind.file)) {
    std::printf("%s/%s: missing\n", request.dir.c_str(), kind.file);
    if (asked_for) score.fail(kind.name, kind.file, "the file is missing");
    return;
  }
  const int passed = score.passed(), failed = score.failed();
  try {
    kind.run(request, score);
  } catch (const std::exception& e) {
    score.fail(kind.name, kind.file, e.what());
  }
  std::printf("%s: %d passed, %d failed\n", kind.file, score.passed() - passed, score.failed() - failed);
}

int run(int argc, char** argv) {
  Request request;
  std::string only;
  request.data = "/usr/share/datasets/fashion-mnist";
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option != "--dir" && option != "--device" && option != "--only" && option != "--data")
      return usage("unknown argument '" + option + "'");
    if (i + 1 == argc) return usage(option + " needs a value");
    const std::string value = argv[++i];
    if (option == "--dir")
      request.dir = value;
    else if (option == "--data")
      request.data = value;
    else if (option == "--only")
      only = value;
    else
      request.device = device(value).type;
  }
  if (request.dir.empty()) return usage("--dir is missing");
  require_available(request.device, "amp_golden");
  Score score;
  bool known = only.empty();
  for (const Kind& kind : kKinds) {
    if (!only.empty() && only != kind.name) continue;
    known = true;
    run_kind(kind, request, !only.empty(), score);
  }
  if (!known) return usage("--only " + only + ": no such kind");
  std::printf("%d passed, %d failed\n", score.passed(), score.failed());
  return score.failed() == 0 && score.passed() > 0 ? 0 : 1;
}

}  // namespace

void Score::fail(std::string_view kind, std::string_view which, std::string_view why) {
  ++failed_;
  std::printf("FAIL %.*s %.*s: %.*s\n", static_cast<int>(kind.size()), kind.data(), static_cast<int>(which.size()),
              which.data(), static_cast<int>(why.size()), why.data());
}

}  // namespace amp::golden

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  try {
    return amp::golden::run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "amp_golden: %s\n", e.what());
    return 1;
  }
}
