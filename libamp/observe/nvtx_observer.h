// Sends libamp's events to a profiling tool: NVTX domain "amp", each event as an extended payload of its registered
// schema, ops and casts as ranges named (`matmul fp32->fp16`) and coloured by dtype. The recorder of ampprof stores the
// payloads; Nsight shows the same.
#pragma once
#include <memory>

#include "libamp/core/observer.h"

namespace amp {

class NvtxObserver final : public Observer {
 public:
  /// Null where no tool has injected itself into this process.
  static std::unique_ptr<NvtxObserver> create();

  AMP_OBSERVER_FUNCTIONS(AMP_OBSERVER_OVERRIDE)

 private:
  struct Look;  // how a tool shows an event: name and colour
  explicit NvtxObserver(void* domain) : domain_(domain) {}

  /// The tool's handle of one of our string ids.
  std::uint64_t handle(StringId id) const;
  /// The tool's handle of a text made for the key, by `make`, once a thread.
  template <class Make>
  std::uint64_t made_handle(std::uint64_t key, Make&& make) const;
  Look look_of_op(const OpEvent& event) const;
  Look look_of_cast(const CastEvent& event) const;
  template <class Event>
  void push(Event event, const Look& look) const;
  template <class Event>
  void send_mark(Event event) const;

  void* domain_;  // nvtxDomainHandle_t
};

/// Registers the schema of every event of events.def with the tool, in an NVTX domain. Called once, by create().
void register_nvtx_schemas(void* domain);

}  // namespace amp
