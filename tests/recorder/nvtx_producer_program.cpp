// A program that speaks NVTX as libamp and others do, with no libamp in it: what the recorder is tested with. Each
// argument is one thing to do, in order:
//   steps:N        N training steps in domain amp: a step mark, an op with a cast inside, a scaler action, statistics
//   plain          ranges, marks, registered and wide strings, categories and names in domains of its own
//   hostile        names that are not text: NUL-free garbage, quotes, a very long one
//   flood:N        N marks as fast as they go          threads:N  N threads of 3 steps each
//   fork           a child that does 2 steps and exits; then goes on    fork-idle  a child that only exits
//   close-all      closes every descriptor above 2      small-files:N  limits files to N bytes (RLIMIT_FSIZE)
//   pause:MS       sleeps                               say:TEXT  prints TEXT
//   end:HOW        return exit _exit abort kill term exception
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "libamp/base/event.h"

namespace {

nvtxDomainHandle_t amp_domain() {
  static const nvtxDomainHandle_t domain = nvtxDomainCreateA(amp::kNvtxDomain);
  return domain;
}

nvtxStringHandle_t registered(const char* text) { return nvtxDomainRegisterStringA(amp_domain(), text); }
std::uint64_t as_field(nvtxStringHandle_t string) { return reinterpret_cast<std::uintptr_t>(string); }

template <class Event>
void send(const Event& event, const void* bytes, std::size_t size, const char* message) {
  nvtxPayloadData_t payload{amp::schema_id(Event::kId), size, bytes};
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = message;
  attributes.payloadType = NVTX_PAYLOAD_TYPE_EXT;
  attributes.reserved0 = 1;
  attributes.payload.ullValue = NVTX_POINTER_AS_PAYLOAD_ULLVALUE(&payload);
  if (event.kTransport == amp::Transport::range)
    nvtxDomainRangePushEx(amp_domain(), &attributes);
  else
    nvtxDomainMarkEx(amp_domain(), &attributes);
}
template <class Event>
void send(const Event& event, const char* message) {
  send(event, &event, sizeof event, message);
}
void pop() { nvtxDomainRangePop(amp_domain()); }

void statistics(std::uint32_t step) {
  amp::TensorStatEvent event;
  event.step = step;
  event.tensor_name = as_field(registered("0.weight"));
  event.count = 12;
  event.exponent_first = -3;
  event.exponent_bins = 4;
  std::vector<std::byte> bytes(sizeof event + 4 * 8);
  std::memcpy(bytes.data(), &event, sizeof event);
  const std::uint64_t counts[4] = {1, 0, 11, 0};  // zeros at the end must come back
  std::memcpy(bytes.data() + sizeof event, counts, sizeof counts);
  send(event, bytes.data(), bytes.size(), "statistics");
}

void step(std::uint32_t number) {
  amp::StepEvent begin;
  begin.step = number;
  send(begin, "step");
  amp::OpEvent op;
  op.step = number;
  op.op = 7;
  op.op_name = as_field(registered("matmul"));
  op.module_path = as_field(registered("encoder.0"));
  op.input_count = 2;
  op.dims[0] = 64;
  op.dims[3] = 32;
  send(op, "matmul fp32->fp16");
  amp::CastEvent cast;
  cast.step = number;
  cast.to = 2;
  cast.cause_name = op.op_name;
  cast.elements = 2048;
  send(cast, "cast fp32->fp16");
  pop();
  pop();
  amp::ScalerEvent scaler;
  scaler.step = number;
  scaler.scale_before = scaler.scale_after = 65536;
  send(scaler, "scaler");
  statistics(number);
  amp::StepEvent end = begin;
  end.end = 1;
  send(end, "step");
}

void steps(std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) step(i);
}

void plain() {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("loader");
  nvtxDomainNameCategoryA(domain, 3, "input");
  nvtxNameOsThreadA(static_cast<std::uint32_t>(getpid()), "main thread");
  nvtxRangePushA("epoch");
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.category = 3;
  attributes.colorType = NVTX_COLOR_ARGB;
  attributes.color = 0xff00ff00;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = nvtxDomainRegisterStringA(domain, "read batch");
  nvtxDomainRangePushEx(domain, &attributes);
  nvtxMarkW(L"wide \u00fc \u20ac \U0001f600");
  nvtxDomainRangePop(domain);
  const nvtxRangeId_t range = nvtxRangeStartA("overlap");
  nvtxRangePop();
  nvtxRangeEnd(range);
  nvtxDomainMarkEx(domain, nullptr);
}

void hostile() {
  nvtxRangePushA("\xc0\x9f\x01\"\\");
  nvtxRangePop();
  nvtxMarkA("</script>");
  nvtxMarkA("");
  nvtxMarkA(std::string(100'000, 'x').c_str());
  nvtxEventAttributes_t attributes{};  // no version, no size, no message
  nvtxMarkEx(&attributes);
  nvtxRangePop();  // of nothing
  nvtxPayloadData_t payload{amp::schema_id(amp::EventId::OpEvent), SIZE_MAX, "x"};
  nvtxMarkPayload(amp_domain(), &payload, 1);
}

int child(bool idle) {
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    if (!idle) steps(2);
    std::exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

void end(const std::string& how) {
  std::fflush(nullptr);
  if (how == "exit") std::exit(3);
  if (how == "_exit") _exit(4);
  if (how == "abort") std::abort();
  if (how == "kill") kill(getpid(), SIGKILL);
  if (how == "term") kill(getpid(), SIGTERM);
  if (how == "exception") throw std::runtime_error("on purpose");
}

void act(const std::string& word) {
  const std::size_t colon = word.find(':');
  const std::string verb = word.substr(0, colon);
  const std::string argument = colon == std::string::npos ? "" : word.substr(colon + 1);
  const auto number = static_cast<std::uint32_t>(std::strtoul(argument.c_str(), nullptr, 10));
  if (verb == "steps") return steps(number);
  if (verb == "plain") return plain();
  if (verb == "hostile") return hostile();
  if (verb == "say") return static_cast<void>(std::printf("%s\n", argument.c_str()));
  if (verb == "pause") return static_cast<void>(usleep(number * 1000));
  if (verb == "fork") return static_cast<void>(child(false));
  if (verb == "fork-idle") return static_cast<void>(child(true));
  if (verb == "end") return end(argument);
  if (verb == "flood") {
    for (std::uint32_t i = 0; i < number; ++i) nvtxMarkA("flood");
    return;
  }
  if (verb == "threads") {
    std::vector<std::thread> threads;
    for (std::uint32_t i = 0; i < number; ++i) threads.emplace_back(steps, 3u);
    for (auto& thread : threads) thread.join();
    return;
  }
  if (verb == "close-all") {
    for (int fd = 3; fd < 1024; ++fd) close(fd);
    return;
  }
  if (verb == "small-files") {
    const rlimit limit{number, number};
    setrlimit(RLIMIT_FSIZE, &limit);
    return;
  }
  std::fprintf(stderr, "nvtx_producer: unknown word %s\n", word.c_str());
  std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) act(argv[i]);
  std::printf("done\n");
  return 0;
}
