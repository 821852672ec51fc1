// A digest of events, field by field with strings as text, that comes out the same inside the program that announced
// them and from the capture they were recorded to.
#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>

#include "libamp/base/event.h"

namespace amp::test {

class EventDigest {
 public:
  std::uint64_t events = 0;
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a

  void add(const void* data, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3u;
  }
  void add(std::string_view text) { add(text.data(), text.size()); }
};

#define AMP_DIGEST_PLAIN(name) digest.add(&event.name, sizeof event.name);
#define AMP_DIGEST_u8 AMP_DIGEST_PLAIN
#define AMP_DIGEST_u16 AMP_DIGEST_PLAIN
#define AMP_DIGEST_u32 AMP_DIGEST_PLAIN
#define AMP_DIGEST_u64 AMP_DIGEST_PLAIN
#define AMP_DIGEST_i32 AMP_DIGEST_PLAIN
#define AMP_DIGEST_f64 AMP_DIGEST_PLAIN
#define AMP_DIGEST_string(name) digest.add(string_of(event.name));
#define AMP_EVENT_BEGIN(Name, id, transport, text)                               \
  template <class StringOf>                                                      \
  void add_event(EventDigest& digest, const Name& event, StringOf&& string_of) { \
    ++digest.events;                                                             \
    static_cast<void>(string_of);
#define AMP_FIELD(type, name, text) AMP_DIGEST_##type(name)
#define AMP_ARRAY(type, name, length, text) AMP_DIGEST_PLAIN(name)
#define AMP_EVENT_END(Name) }
#include "libamp/base/events.def"
#undef AMP_DIGEST_PLAIN
#undef AMP_DIGEST_u8
#undef AMP_DIGEST_u16
#undef AMP_DIGEST_u32
#undef AMP_DIGEST_u64
#undef AMP_DIGEST_i32
#undef AMP_DIGEST_f64
#undef AMP_DIGEST_string

}  // namespace amp::test
