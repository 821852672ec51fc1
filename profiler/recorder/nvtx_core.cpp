// The callbacks of NVTX's core functions, and how they get into an NVTX instance's tables.
#include <cstring>

#include "profiler/recorder/nvtx_record.h"

namespace ampprof::recorder {
namespace {

using capture::RecordKind;

// Push and pop answer as they do with no tool: the program sees no difference.
constexpr int kNotTracked = NVTX_NO_PUSH_POP_TRACKING;

template <Call call>
void with_attributes(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) noexcept {
  guarded(kind_of(call), [&](Recorder& r) { record_attributes(r, call, domain_id(domain), attributes); });
}
template <Call call, class Text>
void with_message(Text text) noexcept {
  guarded(kind_of(call), [&](Recorder& r) { record_message(r, call, 0, text); });
}
template <class Record>
nvtxRangeId_t start_range(Record&& record) noexcept {
  return guarded(RecordKind::RangeStartRecord, nvtxRangeId_t{0}, [&](Recorder& r) -> nvtxRangeId_t {
    const std::uint64_t range = r.next_range.fetch_add(1, std::memory_order_relaxed);
    record(r, range);
    return range;
  });
}
void pop(std::uint32_t domain) noexcept {
  guarded(RecordKind::RangePopRecord, [&](Recorder& r) { record_pop(r, domain); });
}
void end_range(nvtxRangeId_t range) noexcept {
  guarded(RecordKind::RangeEndRecord, [&](Recorder& r) { record_end(r, range); });
}
std::uint64_t register_text(std::string_view text) noexcept {
  return guarded(RecordKind::StringRecord, std::uint64_t{0}, [&](Recorder& r) { return r.writer.add_string(text); });
}
void name_category(std::uint32_t domain, std::uint32_t category, std::string_view text) noexcept {
  guarded(RecordKind::CategoryRecord, [&](Recorder& r) {
    capture::CategoryRecord record;
    record.category = category;
    record.domain = domain;
    r.writer.keep(record, text);
  });
}
void name_thread(std::uint32_t tid, std::string_view text) noexcept {
  guarded(RecordKind::ThreadRecord, [&](Recorder& r) {
    capture::ThreadRecord record;
    record.tid = tid;
    r.writer.keep(record, text);
  });
}

// Core: the default domain.
void mark_ex(const nvtxEventAttributes_t* a) noexcept { with_attributes<Call::mark>(nullptr, a); }
void mark_a(const char* text) noexcept { with_message<Call::mark>(bounded(text)); }
void mark_w(const wchar_t* text) noexcept { with_message<Call::mark>(NarrowText(text)); }
nvtxRangeId_t start_ex(const nvtxEventAttributes_t* a) noexcept {
  return start_range([&](Recorder& r, std::uint64_t range) { record_attributes(r, Call::start, 0, a, range); });
}
nvtxRangeId_t start_a(const char* text) noexcept {
  return start_range(
      [&](Recorder& r, std::uint64_t range) { record_message(r, Call::start, 0, bounded(text), range); });
}
nvtxRangeId_t start_w(const wchar_t* text) noexcept {
  return start_range(
      [&](Recorder& r, std::uint64_t range) { record_message(r, Call::start, 0, NarrowText(text), range); });
}
void end(nvtxRangeId_t range) noexcept { end_range(range); }
int push_ex(const nvtxEventAttributes_t* a) noexcept {
  with_attributes<Call::push>(nullptr, a);
  return kNotTracked;
}
int push_a(const char* text) noexcept {
  with_message<Call::push>(bounded(text));
  return kNotTracked;
}
int push_w(const wchar_t* text) noexcept {
  with_message<Call::push>(NarrowText(text));
  return kNotTracked;
}
int pop_default() noexcept {
  pop(0);
  return kNotTracked;
}
void category_a(std::uint32_t category, const char* text) noexcept { name_category(0, category, bounded(text)); }
void category_w(std::uint32_t category, const wchar_t* text) noexcept { name_category(0, category, NarrowText(text)); }
void thread_a(std::uint32_t tid, const char* text) noexcept { name_thread(tid, bounded(text)); }
void thread_w(std::uint32_t tid, const wchar_t* text) noexcept { name_thread(tid, NarrowText(text)); }

// Core2: domains.
nvtxRangeId_t domain_start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* a) noexcept {
  return start_range(
      [&](Recorder& r, std::uint64_t range) { record_attributes(r, Call::start, domain_id(domain), a, range); });
}
void domain_end(nvtxDomainHandle_t, nvtxRangeId_t range) noexcept { end_range(range); }
int domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* a) noexcept {
  with_attributes<Call::push>(domain, a);
  return kNotTracked;
}
int domain_pop(nvtxDomainHandle_t domain) noexcept {
  pop(domain_id(domain));
  return kNotTracked;
}
void domain_category_a(nvtxDomainHandle_t domain, std::uint32_t category, const char* text) noexcept {
  name_category(domain_id(domain), category, bounded(text));
}
void domain_category_w(nvtxDomainHandle_t domain, std::uint32_t category, const wchar_t* text) noexcept {
  name_category(domain_id(domain), category, NarrowText(text));
}
nvtxStringHandle_t register_string_a(nvtxDomainHandle_t, const char* text) noexcept {
  return string_handle(register_text(bounded(text)));
}
nvtxStringHandle_t register_string_w(nvtxDomainHandle_t, const wchar_t* text) noexcept {
  return string_handle(register_text(NarrowText(text)));
}
nvtxDomainHandle_t create_domain_a(const char* text) noexcept { return domain_handle(register_text(bounded(text))); }
nvtxDomainHandle_t create_domain_w(const wchar_t* text) noexcept {
  return domain_handle(register_text(NarrowText(text)));
}
void destroy_domain(nvtxDomainHandle_t) noexcept {}
void initialize(const void*) noexcept {}

struct Row {
  NvtxCallbackModule module;
  unsigned int id;
  NvtxFunctionPointer function;
};
// NVTX gives out its tables as pointers to untyped functions; the type is fixed by the id.
template <class F>
NvtxFunctionPointer untyped(F* function) {
  return reinterpret_cast<NvtxFunctionPointer>(function);
}
const Row kRows[] = {
    {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_MarkEx, untyped(mark_ex)},
    {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_MarkA, untyped(mark_a)},
    {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_MarkW, untyped(mark_w)},
    {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangeStartEx, untyped(start_ex)},
    {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangeStartA, untyped(start_a)},
    {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangeStartW, untyped(start_w)},
    {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangeEnd, untyped(end)},
    {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePushEx, untyped(push_ex)},
    {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePushA, untyped(push_a)},
    {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePushW, untyped(push_w)},
    {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePop, untyped(pop_default)},
    {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_NameCategoryA, untyped(category_a)},
    {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_NameCategoryW, untyped(category_w)},
    {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_NameOsThreadA, untyped(thread_a)},
    {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_NameOsThreadW, untyped(thread_w)},
    {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainMarkEx, untyped(with_attributes<Call::mark>)},
    {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRangeStartEx, untyped(domain_start)},
    {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRangeEnd, untyped(domain_end)},
    {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRangePushEx, untyped(domain_push)},
    {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRangePop, untyped(domain_pop)},
    {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainNameCategoryA, untyped(domain_category_a)},
    {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainNameCategoryW, untyped(domain_category_w)},
    {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRegisterStringA, untyped(register_string_a)},
    {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRegisterStringW, untyped(register_string_w)},
    {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainCreateA, untyped(create_domain_a)},
    {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainCreateW, untyped(create_domain_w)},
    {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainDestroy, untyped(destroy_domain)},
    {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_Initialize, untyped(initialize)},
};

}  // namespace

bool attach_core(NvtxGetExportTableFunc_t get_export_table) noexcept {
  if (get_export_table == nullptr) return false;
  const auto* table = static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  if (table == nullptr || table->struct_size < sizeof(NvtxExportTableCallbacks)) return false;
  for (const NvtxCallbackModule module : {NVTX_CB_MODULE_CORE, NVTX_CB_MODULE_CORE2}) {
    NvtxFunctionTable functions = nullptr;
    unsigned int size = 0;
    if (table->GetModuleFunctionTable(module, &functions, &size) == 0 || functions == nullptr) return false;
    // A program built with an older NVTX has shorter tables: what is not there cannot be called.
    for (const Row& row : kRows)
      if (row.module == module && row.id < size && functions[row.id] != nullptr) *functions[row.id] = row.function;
  }
  return true;
}

}  // namespace ampprof::recorder
