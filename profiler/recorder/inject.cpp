// What the outside finds in this library: the three entry points that NVTX and the CUDA driver look up by name.
#include "profiler/recorder/nvtx_record.h"

#define AMPPROF_ENTRY extern "C" __attribute__((visibility("default")))

namespace {

using namespace ampprof;

// Once a process: a second NVTX instance or CUDA after NVTX add nothing new.
void note_source(capture::Source source, capture::SourceState state, const char* reason) noexcept {
  static std::atomic<unsigned> noted{0};
  const unsigned bit = 1u << static_cast<unsigned>(source);
  if ((noted.fetch_or(bit) & bit) != 0) return;
  if (recorder::Recorder* recorder = recorder::active()) {
    capture::SourceRecord record;
    record.source = static_cast<std::uint32_t>(source);
    record.state = static_cast<std::uint32_t>(state);
    recorder->writer.keep(record, reason);
  }
}

}  // namespace

/// NVTX calls this once for each library in the process that uses NVTX. 1: attached.
AMPPROF_ENTRY int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) noexcept {
  if (!recorder::start()) return 0;
  if (!recorder::attach_core(get_export_table)) {
    note_source(capture::Source::nvtx, capture::SourceState::failed, "the program's NVTX has no callback table");
    return 0;
  }
  note_source(capture::Source::nvtx, capture::SourceState::recording, "");
  return 1;
}

/// The same for each extension of NVTX the library uses.
AMPPROF_ENTRY int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t* module) noexcept {
  return recorder::start() && recorder::attach_payload(module) ? 1 : 0;
}

/// The CUDA driver calls this (CUDA_INJECTION64_PATH) when the program initialises it. 1: goes on.
AMPPROF_ENTRY int InitializeInjection() noexcept {
  if (recorder::start())
    note_source(capture::Source::cupti, capture::SourceState::not_in_this_version,
                "this version does not record GPU kernels");
  return 1;
}
