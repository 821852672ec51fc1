// ampprof doctor: what can be recorded on this machine, and what not and why. Each line is one check; a missing GPU is
// no fault. Exit 1 only if nothing can be recorded at all.
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "profiler/cli/command.h"
#include "profiler/report/write_reports.h"

namespace ampprof::cli {
namespace {

namespace fs = std::filesystem;

enum class Health { works, limited, absent, broken };

void say(Health health, std::string_view what, std::string_view detail) {
  const char* word = health == Health::works     ? "yes"
                     : health == Health::limited ? "partly"
                     : health == Health::absent  ? "no"
                                                 : "BROKEN";
  fmt::print("{:<7} {:<22} {}\n", word, what, detail);
}

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string find_recorder() {
  std::error_code code;
  const fs::path here = fs::read_symlink("/proc/self/exe", code).parent_path();
  for (const char* place : {"../lib", "../lib/ampprof", "../lib64", "../lib64/ampprof"}) {
    const fs::path path = here / place / "libampprof_recorder.so";
    if (fs::exists(path, code)) return fs::canonical(path, code).string();
  }
  return {};
}

/// Loads the recorder in a child, so that whatever it does to a process it does not do to this one.
bool check_recorder(const std::string& recorder) {
  if (recorder.empty()) {
    say(Health::broken, "recorder", "libampprof_recorder.so is not in ../lib of the directory ampprof is in");
    return false;
  }
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    void* library = dlopen(recorder.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) _exit(10);
    _exit(dlsym(library, "InitializeInjectionNvtx2") == nullptr ? 11 : 0);
  }
  int status = -1;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) status = -1;
  const int code = status == -1 ? -1 : WEXITSTATUS(status);
  if (code == 0) {
    say(Health::works, "recorder", recorder + " loads and can be injected");
    return true;
  }
  say(Health::broken, "recorder",
      recorder + (code == 10   ? " cannot be loaded"
                  : code == 11 ? " has no NVTX entry point"
                               : " ends the process that loads it"));
  return false;
}

void check_nvtx(bool recorder_works) {
  if (const char* other = std::getenv("NVTX_INJECTION64_PATH"); other != nullptr && *other != '\0')
    say(Health::limited, "NVTX events",
        fmt::format("NVTX_INJECTION64_PATH is set to {}: ampprof run leaves it alone and records no events", other));
  else if (recorder_works)
    say(Health::works, "NVTX events",
        "ops, casts, scaler, tensors and memory of libamp, ranges of any program; needs no GPU");
  else
    say(Health::absent, "NVTX events", "not without the recorder");
}

bool check_output() {
  std::error_code code;
  const fs::path here = fs::current_path(code);
  const bool writable = !code && access(here.c_str(), W_OK | X_OK) == 0;
  say(writable ? Health::works : Health::limited, "output directory",
      writable ? here.string() + " can be written" : "the current directory cannot be written: use -o");
  const auto space = fs::space(here, code);
  if (!code && space.available < (64u << 20))
    say(Health::limited, "disk space", fmt::format("{} MiB free: a capture needs 1 to 100 MiB", space.available >> 20));
  return writable;
}

struct Library {
  void* handle = nullptr;
  std::string name;
};

Library open_first(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (void* handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL)) return {handle, name};
  return {};
}

/// GPU count and names through the driver itself, so that no toolkit is needed.
int check_gpu() {
  const Library cuda = open_first({"libcuda.so.1"});
  if (cuda.handle == nullptr) {
    say(Health::absent, "GPU driver", "libcuda.so.1 is not installed: CPU runs only");
    return 0;
  }
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(cuda.handle, "cuInit"));
  const auto get_count = reinterpret_cast<int (*)(int*)>(dlsym(cuda.handle, "cuDeviceGetCount"));
  const auto get_name = reinterpret_cast<int (*)(char*, int, int)>(dlsym(cuda.handle, "cuDeviceGetName"));
  const auto get_version = reinterpret_cast<int (*)(int*)>(dlsym(cuda.handle, "cuDriverGetVersion"));
  int count = 0, version = 0;
  const int started = init != nullptr ? init(0) : -1;
  if (get_version != nullptr) get_version(&version);
  if (started != 0 || get_count == nullptr || get_count(&count) != 0 || count == 0) {
    say(Health::absent, "GPU driver",
        fmt::format("installed (CUDA {}.{}), but finds no GPU (error {})", version / 1000, version % 1000 / 10,
                    started));
    return 0;
  }
  std::string names;
  for (int i = 0; i < count && get_name != nullptr; ++i) {
    char name[256] = {};
    if (get_name(name, sizeof name, i) == 0) names += (names.empty() ? "" : ", ") + std::string(name);
  }
  say(Health::works, "GPU driver", fmt::format("CUDA {}.{}: {}", version / 1000, version % 1000 / 10, names));
  return count;
}

void check_cupti(int gpus) {
  const Library cupti =
      open_first({"libcupti.so.13", "libcupti.so.12", "libcupti.so", "/usr/local/cuda/lib64/libcupti.so",
                  "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"});
  if (cupti.handle == nullptr) {
    say(Health::absent, "CUPTI", "no libcupti.so: GPU kernels cannot be recorded");
    return;
  }
  std::uint32_t version = 0;
  if (const auto get_version = reinterpret_cast<int (*)(std::uint32_t*)>(dlsym(cupti.handle, "cuptiGetVersion")))
    get_version(&version);
  say(Health::limited, "CUPTI",
      fmt::format("{} (API {}) is here; this version of ampprof does not record GPU kernels yet{}", cupti.name, version,
                  gpus == 0 ? ", and there is no GPU" : ""));
}

void check_counters(int gpus) {
  if (gpus == 0) {
    say(Health::absent, "GPU counters", "no GPU");
    return;
  }
  std::ifstream params("/proc/driver/nvidia/params");
  std::string line;
  bool restricted = false, known = false;
  while (std::getline(params, line)) {
    if (!line.starts_with("RmProfilingAdminOnly:")) continue;
    known = true;
    restricted = line.find('1') != std::string::npos;
  }
  if (!known)
    say(Health::limited, "GPU counters", "the driver does not say whether they are restricted");
  else if (restricted && geteuid() != 0)
    say(Health::absent, "GPU counters", "restricted to administrators (RmProfilingAdminOnly = 1)");
  else
    say(Health::limited, "GPU counters", "permitted; this version of ampprof does not read them yet");
}

void check_processor() {
  std::ifstream info("/proc/cpuinfo");
  std::string line, model, flags;
  while (std::getline(info, line)) {
    if (line.starts_with("model name") && model.empty()) model = line.substr(line.find(':') + 2);
    if (line.starts_with("flags") && flags.empty()) flags = line + " ";
  }
  std::string fast;
  for (const char* flag : {"f16c", "avx2", "avx512f", "avx512_bf16", "avx512_fp16", "amx_bf16"})
    if (flags.find(fmt::format(" {} ", flag)) != std::string::npos) fast += fmt::format(" {}", flag);
  say(Health::works, "processor",
      fmt::format("{}; conversions:{}", model.empty() ? "unknown" : model,
                  fast.empty() ? " portable code only" : fast));
}

int doctor() {
  fmt::print("ampprof {} on {}\n", AMPPROF_VERSION, first_line("/proc/sys/kernel/hostname"));
  const bool recorder_works = check_recorder(find_recorder());
  check_nvtx(recorder_works);
  check_output();
  check_processor();
  const int gpus = check_gpu();
  check_cupti(gpus);
  check_counters(gpus);
  const std::string page = report::find_page();
  say(page.empty() ? Health::absent : Health::works, "report page",
      page.empty() ? "page not built (AMP_VIEWER): report.html is left out, the other files are written" : page);
  if (recorder_works) return kExitFine;
  fmt::print("Nothing can be recorded here.\n");
  return kExitRequirementFailed;
}

}  // namespace

void add_doctor_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("doctor", "Say what can be recorded on this machine, and what not and why");
  command->callback([&exit_code] { exit_code = doctor(); });
}

}  // namespace ampprof::cli
