// Interned byte strings of a timeline. Names come from captures and are bytes, not text: they are made valid UTF-8
// where a report is written, not here, so that two names that differ stay two names.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace ampprof::timeline {

/// Handle of a string; 0 is "no string", whose text is empty.
struct StringId {
  std::uint32_t value = 0;
  friend bool operator==(StringId, StringId) = default;
};

class StringTable {
 public:
  StringId intern(std::string_view bytes) {
    if (bytes.empty()) return {};
    if (auto it = ids_.find(bytes); it != ids_.end()) return it->second;
    texts_.emplace_back(bytes);
    const StringId id{static_cast<std::uint32_t>(texts_.size())};
    ids_.emplace(texts_.back(), id);
    return id;
  }
  [[nodiscard]] std::string_view text(StringId id) const noexcept {
    return id.value == 0 || id.value > texts_.size() ? std::string_view() : std::string_view(texts_[id.value - 1]);
  }

 private:
  std::deque<std::string> texts_;  // a deque keeps the keys of ids_ in place
  std::unordered_map<std::string_view, StringId> ids_;
};

}  // namespace ampprof::timeline
