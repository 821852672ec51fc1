// The cast cache: within the outermost region, a float32 leaf that requires a gradient is cast once per dtype, and all
// its uses share that one cast and its node on the tape. Process-wide, as in PyTorch 2.x.
// Deviation: the key is (tensor, dtype). PyTorch keys by tensor alone, so a bfloat16 region inside a float16 one can be
// handed the float16 copy.
#pragma once
#include "libamp/core/tensor.h"

namespace amp::cast_cache {

/// May a cast of this tensor to `target` be cached, given the fast dtype of its device in this thread?
bool is_cacheable(const Tensor& source, DType target, DType fast);
/// The cached cast, or an undefined tensor. In checked mode (see set_checked) a cast that is older than the source's
/// last in-place change is an error; otherwise it is returned stale, as PyTorch does. [any thread]
Tensor find(const Tensor& source, DType target);
void insert(const Tensor& source, DType target, const Tensor& cast);
void clear();
/// Casts of this tensor are not cached from now on: its memory is rewritten behind autocast's back, as that of the
/// static tensors of a captured graph. Undone by remove_static. [any thread]
void add_static(const Tensor& tensor);
void remove_static(const Tensor& tensor);
/// Entries and bytes held now.
struct Size {
  std::size_t entries = 0, bytes = 0;
};
Size size();
/// Turns the version check on or off for the whole process; off by default.
void set_checked(bool on);

}  // namespace amp::cast_cache
