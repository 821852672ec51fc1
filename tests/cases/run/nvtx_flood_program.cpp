// Floods the recorder: `nvtx_flood THREADS RANGES`, each thread starts and ends that many process ranges of domains of
// its own. Prints by how many bytes the resident memory of the process grew, at most.
#include <nvtx3/nvToolsExt.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

/// A line of /proc/self/status, in bytes.
long status_bytes(const char* key) {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  if (file == nullptr) return -1;
  char line[256];
  long kib = -1;
  while (std::fgets(line, sizeof line, file) != nullptr)
    if (std::strncmp(line, key, std::strlen(key)) == 0) kib = std::strtol(line + std::strlen(key), nullptr, 10);
  std::fclose(file);
  return kib * 1024;
}

void flood(int ranges) {
  for (int i = 0; i < ranges; ++i) nvtxRangeEnd(nvtxRangeStartA("launch"));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int threads = std::atoi(argv[1]), ranges = std::atoi(argv[2]);
  nvtxMarkA("the recorder is there");
  const long before = status_bytes("VmRSS:");
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) running.emplace_back(flood, ranges);
  for (std::thread& thread : running) thread.join();
  std::printf("%ld\n", status_bytes("VmHWM:") - before);
  return 0;
}
