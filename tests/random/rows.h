// What the rows of the catalogue share: shapes of operands that follow from those of the first.
#pragma once
#include "tests/random/program.h"

namespace amp::fuzz {

using Rows = std::vector<Row>;
void add_pointwise_rows(Rows& rows);  // rows_pointwise.cpp
void add_reduce_rows(Rows& rows);     // rows_reduce.cpp
void add_shape_rows(Rows& rows);      // rows_shape.cpp
void add_product_rows(Rows& rows);    // rows_product.cpp
void add_layer_rows(Rows& rows);      // rows_layer.cpp
void add_loss_rows(Rows& rows);       // rows_loss.cpp

/// A dim of a tensor with these sizes; the first draw of `choice`, so that `need` and `run` agree on it.
inline int pick_dim(const Shape& sizes, Choice& choice) { return static_cast<int>(choice.below(sizes.size())); }

/// Sizes that broadcast to `sizes`: the same, without leading dims, or with ones.
inline Shape pick_broadcast(const Shape& sizes, Choice& choice) {
  Shape other = sizes;
  switch (choice.below(5)) {
    case 0:
      while (other.size() > 1) other.erase(0);
      break;
    case 1:
      if (!other.empty()) other[static_cast<int>(choice.below(other.size()))] = 1;
      break;
    case 2:
      if (!other.empty()) other.erase(0);
      break;
    default:
      break;
  }
  return other;
}

}  // namespace amp::fuzz
