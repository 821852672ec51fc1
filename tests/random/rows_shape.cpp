// Rows of the catalogue that move elements: views, joins, reading and writing by index.
#include "libamp/ops/ops.h"
#include "tests/random/rows.h"

namespace amp::fuzz {
namespace {

using In = const Tensors&;
using Dtype = std::optional<DType>;
using Wants = std::vector<Want>;

bool has_dim(const Shape& first, Choice&, Wants&) { return !first.empty(); }
bool has_two_dims(const Shape& first, Choice&, Wants&) { return first.size() >= 2; }
bool has_room(const Shape& first, Choice&, Wants&) { return first.size() < 5; }

void add_views(Rows& rows) {
  const auto push = [&rows](const char* op, auto need, auto run) {
    rows.push_back({op, Data::real, need, run, Exact::bits, Result::first});
  };
  push("view", has_dim, [](In in, Choice&, Dtype) { return reshape(in[0], {-1}); });
  push("view", has_two_dims, [](In in, Choice&, Dtype) { return flatten(in[0], 0, 1); });
  push("view", has_room, [](In in, Choice& c, Dtype) { return unsqueeze(in[0], c.below(in[0].dim() + 1)); });
  push("permute", has_two_dims, [](In in, Choice& c, Dtype) {
    const int d = pick_dim(in[0].sizes(), c);
    return transpose(in[0], d, c.below(in[0].dim()));
  });
  push("permute", has_two_dims, [](In in, Choice&, Dtype) {
    Shape order;
    for (int d = in[0].dim() - 1; d >= 0; --d) order.push_back(d);
    return permute(in[0], order);
  });
  push("expand", has_room, [](In in, Choice&, Dtype) {
    Shape sizes = in[0].sizes();
    sizes.insert(0, 2);
    return expand(in[0], sizes);
  });
  push("narrow", has_dim, [](In in, Choice& c, Dtype) {
    const int d = pick_dim(in[0].sizes(), c);
    const auto start = c.below(in[0].size(d));
    return narrow(in[0], d, start, 1 + c.below(in[0].size(d) - start));
  });
  push("narrow", has_two_dims, [](In in, Choice& c, Dtype) {
    const int d = pick_dim(in[0].sizes(), c);
    return select(in[0], d, c.below(in[0].size(d)));
  });
  push("clone", has_dim, [](In in, Choice&, Dtype) { return contiguous(transpose(in[0], 0, -1)); });
  push("clone", nullptr, [](In in, Choice&, Dtype) { return clone(in[0]); });
  push("triu", has_two_dims, [](In in, Choice& c, Dtype) { return triu(in[0], c.below(3) - 1); });
  push("tril", has_two_dims, [](In in, Choice& c, Dtype) { return tril(in[0], c.below(3) - 1); });
}

void add_joins(Rows& rows) {
  const auto resized = [](const Shape& first, Choice& c, Wants& others) {
    if (first.empty()) return false;
    Shape sizes = first;
    const int d = pick_dim(first, c);
    sizes[d] = 1 + c.below(3);
    others = {{sizes, Data::real}, {first, Data::real}};
    return true;
  };
  rows.push_back({"cat", Data::real, resized,
                  [](In in, Choice& c, Dtype) {
                    const int d = pick_dim(in[0].sizes(), c);
                    return cat({in[0], in[1], in[2]}, d);
                  },
                  Exact::bits});
  rows.push_back({"stack", Data::real,
                  [](const Shape& first, Choice&, Wants& others) {
                    others = {{first, Data::real}};
                    return first.size() < 5;
                  },
                  [](In in, Choice& c, Dtype) {
                    return stack({in[0], in[1]}, c.below(in[0].dim() + 1));
                  },
                  Exact::bits});
}

/// index [sizes with dim changed] below first[dim], and as many values.
bool scattered(const Shape& first, Choice& c, Wants& others) {
  if (first.empty()) return false;
  const int d = pick_dim(first, c);
  Shape sizes = first;
  sizes[d] = 1 + c.below(first[d]);
  others = {{sizes, Data::real}, {sizes, Data::index, first[d]}};
  return true;
}
/// index [n] below first[dim], and a source of n slices.
bool sliced(const Shape& first, Choice& c, Wants& others) {
  if (first.empty()) return false;
  const int d = pick_dim(first, c);
  Shape sizes = first;
  sizes[d] = 3;
  others = {{sizes, Data::real}, {{3}, Data::index, first[d]}};
  return true;
}
bool indexed(const Shape& first, Choice& c, Wants& others) {
  if (first.empty()) return false;
  const int d = pick_dim(first, c);
  others = {{{4}, Data::index, first[d]}};
  return true;
}
bool leading(const Shape& first, Choice&, Wants& others) {
  if (first.size() < 2) return false;
  others = {{{2, 3}, Data::index, first[0]}, {{3}, Data::index, first[1]}};
  return true;
}

void add_indexing(Rows& rows) {
  const auto push = [&rows](const char* op, auto need, auto run, Mixed mixed) {
    rows.push_back({op, Data::real, need, run, Exact::bits, Result::first, mixed});
  };
  push(
      "gather", scattered, [](In in, Choice& c, Dtype) { return gather(in[0], pick_dim(in[0].sizes(), c), in[2]); },
      Mixed::unknown);
  push(
      "index_select", indexed,
      [](In in, Choice& c, Dtype) { return index_select(in[0], pick_dim(in[0].sizes(), c), in[1]); }, Mixed::promotes);
  push(
      "index", leading,
      [](In in, Choice&, Dtype) {
        return index(in[0], {in[1], in[2]});
      },
      Mixed::promotes);
  push(
      "scatter", scattered,
      [](In in, Choice& c, Dtype) {
        // One index twice would make the result depend on who writes last.
        return scatter(in[0], pick_dim(in[0].sizes(), c), in[2], in[1] * 0.0);
      },
      Mixed::unknown);
  rows.push_back({"scatter_add", Data::real, scattered,
                  [](In in, Choice& c, Dtype) { return scatter_add(in[0], pick_dim(in[0].sizes(), c), in[2], in[1]); },
                  Exact::inside, Result::first, Mixed::unknown});
  rows.push_back({"index_add", Data::real, sliced,
                  [](In in, Choice& c, Dtype) { return index_add(in[0], pick_dim(in[0].sizes(), c), in[2], in[1]); },
                  Exact::inside, Result::first, Mixed::unknown});
  rows.push_back({"index_put", Data::real,
                  [](const Shape& first, Choice&, Wants& others) {
                    if (first.empty()) return false;
                    Shape sizes = first;
                    sizes[0] = 4;
                    others = {{sizes, Data::real}, {{4}, Data::index, first[0]}};
                    return true;
                  },
                  [](In in, Choice&, Dtype) { return index_put(in[0], {in[2]}, in[1], true); }, Exact::inside,
                  Result::first, Mixed::unknown});
  rows.push_back({"index_copy", Data::real,
                  [](const Shape& first, Choice& c, Wants& others) {
                    if (first.empty()) return false;
                    const int d = pick_dim(first, c);
                    Shape sizes = first;
                    sizes[d] = 1;
                    others = {{{1}, Data::index, first[d]}, {sizes, Data::real}};
                    return true;
                  },
                  [](In in, Choice& c, Dtype) { return index_copy(in[0], pick_dim(in[0].sizes(), c), in[1], in[2]); },
                  Exact::bits, Result::first, Mixed::unknown});
  rows.push_back({"embedding", Data::real,
                  [](const Shape& first, Choice&, Wants& others) {
                    others = {{{2, 3}, Data::index, first.empty() ? 1 : first[0]}};
                    return first.size() == 2;
                  },
                  [](In in, Choice&, Dtype) { return embedding(in[0], in[1]); }, Exact::bits, Result::first});
}

}  // namespace

void add_shape_rows(Rows& rows) {
  add_views(rows);
  add_joins(rows);
  add_indexing(rows);
}

}  // namespace amp::fuzz
