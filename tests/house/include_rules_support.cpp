// The rules about includes: layers point down, headers from outside stay in their places.
#include <set>

#include "tests/house/house_support.h"

namespace house {
namespace {

struct Layer {
  std::string_view path;
  std::string_view family;
  int rank;
};
constexpr Layer kLayers[] = {
#define HOUSE_LAYER(path, family, rank) {path, family, rank},
#include "tests/house/house.def"
};

struct Pair {
  std::string_view first;
  std::string_view second;
};
constexpr Pair kBridges[] = {
#define HOUSE_BRIDGE(family, path) {family, path},
#include "tests/house/house.def"
};
constexpr Pair kIncludedOnlyBy[] = {
#define HOUSE_INCLUDED_ONLY_BY(path, includer) {path, includer},
#include "tests/house/house.def"
};
constexpr Pair kVendors[] = {
#define HOUSE_VENDOR(header, path) {header, path},
#include "tests/house/house.def"
};

const Layer* find_layer(std::string_view path) {
  const Layer* best = nullptr;
  for (const Layer& layer : kLayers) {
    if (path.starts_with(layer.path) && (best == nullptr || layer.path.size() > best->path.size())) {
      best = &layer;
    }
  }
  return best;
}

/// True if one of the pairs' firsts fits `key` and none of those has a second that fits `path`.
template <std::size_t Size>
bool is_reserved_for_others(const Pair (&pairs)[Size], std::string_view key, std::string_view path) {
  bool listed = false;
  for (const Pair& pair : pairs) {
    if (key.starts_with(pair.first)) {
      listed = true;
      if (path.starts_with(pair.second)) {
        return false;
      }
    }
  }
  return listed;
}

std::string why_upward(const Layer& from, std::string_view from_path, std::string_view target) {
  const Layer* to = find_layer(target);
  if (to == nullptr || to == &from) {
    return {};
  }
  if (from.family != "outside" && is_reserved_for_others(kIncludedOnlyBy, target, from_path)) {
    return std::string(to->path) + " is not for " + std::string(from.path);
  }
  if (from.family != to->family) {
    for (const Pair& bridge : kBridges) {
      if (bridge.first == from.family && target.starts_with(bridge.second)) {
        return {};
      }
    }
    return std::string(from.path) + " may not know " + std::string(to->path);
  }
  if (to->rank >= from.rank) {
    return std::string(to->path) + " is not below " + std::string(from.path);
  }
  return {};
}

}  // namespace

Violations find_upward_includes(const Tree& tree) {
  Violations found;
  for (const File& file : tree) {
    const Layer* from = find_layer(file.path);
    if (!is_cpp(file.path)) {
      continue;
    }
    if (from == nullptr) {
      found.push_back({file.path, 0, "belongs to no layer of tests/house/house.def"});
      continue;
    }
    for (const Include& include : find_includes(file)) {
      if (auto why = why_upward(*from, file.path, include.target); !why.empty()) {
        found.push_back({file.path, include.line, "includes \"" + include.target + "\": " + why});
      }
    }
  }
  return found;
}

Violations find_misplaced_vendor_headers(const Tree& tree) {
  Violations found;
  for (const File& file : tree) {
    if (!is_cpp(file.path) || file.path.starts_with("tests/") || file.path.starts_with("bench/")) {
      continue;
    }
    for (const Include& include : find_includes(file)) {
      if (is_reserved_for_others(kVendors, include.target, file.path)) {
        found.push_back({file.path, include.line, "includes <" + include.target + ">, which has its own place"});
      }
    }
  }
  return found;
}

Violations find_unrooted_includes(const Tree& tree) {
  std::set<std::string, std::less<>> paths;
  for (const File& file : tree) {
    paths.insert(file.path);
  }
  Violations found;
  for (const File& file : tree) {
    if (!is_cpp(file.path)) {
      continue;
    }
    for (const Include& include : find_includes(file)) {
      if (include.quoted && !paths.contains(include.target)) {
        found.push_back({file.path, include.line,
                         "includes \"" + include.target + "\", which is no file seen from the repository's root"});
      }
    }
  }
  return found;
}

Violations find_json_in_headers(const Tree& tree) {
  Violations found;
  for (const File& file : tree) {
    if (!is_header(file.path) || file.path.starts_with("tests/") || file.path.starts_with("bench/")) {
      continue;
    }
    for (const Include& include : find_includes(file)) {
      if (include.target == "nlohmann/json.hpp" || include.target == "CLI/CLI.hpp" || include.target == "regex") {
        found.push_back(
            {file.path, include.line, "a header includes <" + include.target + ">, which is slow to compile"});
      }
    }
  }
  return found;
}

}  // namespace house
