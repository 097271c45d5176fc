/// Included only by logits_amx.cpp: the memory of a head's packed rows, weights and logits, and
/// their products.
#pragma once

#include "cpu/kernels/detail/packing.hpp"
#include "cpu/kernels/detail/tile_products.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

/// Rows and columns in whole blocks of tiles, and sizes of their packed forms.
struct Sizes {
  std::size_t rows, width;

  Sizes(std::size_t count, std::size_t columns)
      : rows{whole(count, tile_block)}, width{whole(columns, tile_block)} {}
  explicit Sizes(const LossRows& of) : Sizes{of.count, of.width} {}

  std::size_t turned_group() const { return padded(width / 2); }
  std::size_t paired_group() const { return padded(rows / 2); }
  std::size_t turned() const { return rows / group * turned_group(); }
  std::size_t paired() const { return width / group * paired_group(); }
  std::size_t dx_group() const { return padded(rows); }
  std::size_t dx() const { return width / group * dx_group(); }
};

/// x as the right matrix of two products: transposed, (rows / 16, width / 2, 16) pairs of columns,
/// and (width / 16, rows / 2, 16) pairs of rows.
struct PackedRows {
  const Pair *turned, *paired;

  explicit PackedRows(const LossRows& rows)
      : turned{reinterpret_cast<const Pair*>(rows.packed)}, paired{turned + Sizes{rows}.turned()} {}
};

/// Sizes of a block's memory.
struct Block {
  Sizes sizes;
  std::size_t classes; ///< in whole blocks of tiles

  Block(const Sizes& of, std::size_t count) : sizes{of}, classes{whole(count, tile_block)} {}

  std::size_t group_of_classes() const { return padded(classes); }
  /// The weight as a left matrix: (width / 32, classes, 16) pairs of columns.
  std::size_t weight() const { return sizes.width / tile_block * group_of_classes(); }
  /// The weight as a right matrix: (width / 16, classes / 2, 16) pairs of classes.
  std::size_t paired_group() const { return padded(classes / 2); }
  std::size_t paired_weight() const { return sizes.width / group * paired_group(); }
  /// Two groups of rows or columns: logits, or a part of the weight's gradient.
  std::size_t strip() const { return 2 * group_of_classes(); }
  /// Gradients as left matrices: (rows / 32, classes, 16) pairs of rows.
  std::size_t of_rows() const { return sizes.rows / tile_block * group_of_classes(); }
  /// Gradients as (classes / 32, rows, 16) pairs of classes.
  std::size_t group_of_rows() const { return padded(sizes.rows); }
  std::size_t of_classes() const { return classes / tile_block * group_of_rows(); }
};

/// Two rows of a matrix of floats; columns past the end, and missing rows, read as 0.
struct TwoRows {
  const float *low, *high;
  std::size_t there, columns;

  Vector load(bool second, std::size_t c) const {
    return there > second ? load_some(second ? high : low, c, columns) : Vector{};
  }
};

/// Operands of a block, in scratch memory.
class LogitWork {
public:
  LogitWork(const LossRows& rows, const LogitBlock& block, float* scratch)
      : rows_{rows}, n_{rows}, x_{rows}, block_{block}, b_{n_, block.count} {
    Memory memory{scratch};
    weight_ = memory.pairs(b_.weight());
    paired_weight_ = memory.pairs(b_.paired_weight());
    strip_ = memory.floats(b_.strip());
    of_rows_ = memory.pairs(b_.of_rows());
    of_classes_ = memory.pairs(b_.of_classes());
  }

  /// `both`: also packs it as a right matrix.
  void pack_weight(bool both) {
    for (std::size_t k = 0; k < b_.classes; k += 2) {
      const float* const low = block_.weight + k * rows_.width;
      const TwoRows from{low, low + rows_.width, k < block_.count ? block_.count - k : 0,
                         rows_.width};
      for (std::size_t c = 0; c < n_.width; c += group) {
        const auto first = from.load(false, c), second = from.load(true, c);
        auto* const to =
            reinterpret_cast<Bf16*>(weight_ + c / tile_block * b_.group_of_classes() + k * group) +
            c % tile_block;
        store_vector(to, first);
        store_vector(to + tile_block, second);
        if (both)
          store_pairs(paired_weight_ + c / group * b_.paired_group() + k / 2 * group, first,
                      second);
      }
    }
  }

  /// Calls visit(first row of 16, logits) with logits (classes, 16), for each group of rows.
  template <class Visit>
  void for_logits(Visit visit) {
    for (std::size_t row = 0; row < n_.rows; row += tile_block) {
      multiply_by_tiles({weight_, b_.group_of_classes(),
                         x_.turned + row / group * n_.turned_group(), n_.turned_group(), strip_,
                         b_.group_of_classes()},
                        b_.classes, n_.width / 2, tile_block);
      visit(row, strip_);
      visit(row + group, strip_ + b_.group_of_classes());
    }
  }

  /// Casts the gradients of 32 rows' logits, from `row` on, into both packed forms. for_logits()
  /// leaves them in the strip.
  void narrow(std::size_t row) {
    const float *const first = strip_, *const second = strip_ + b_.group_of_classes();
    auto* const to = reinterpret_cast<Bf16*>(of_rows_ + row / tile_block * b_.group_of_classes());
    for (std::size_t k = 0; k < b_.classes; ++k) {
      store_vector(to + k * tile_block, load_vector(first + k * group));
      store_vector(to + k * tile_block + group, load_vector(second + k * group));
    }
    for (std::size_t k = 0; k < b_.classes; k += tile_block) {
      Pair* const pairs = of_classes_ + k / tile_block * b_.group_of_rows() + row * group;
      turn_pairs(first + k * group, pairs);
      turn_pairs(second + k * group, pairs + group * group);
    }
  }

  void multiply_dx(float* dx, bool add) {
    const Product<Pair> product{of_classes_, b_.group_of_rows(), paired_weight_, b_.paired_group(),
                                dx,          n_.dx_group()};
    if (add)
      multiply_by_tiles<true>(product, n_.rows, b_.classes / 2, n_.width);
    else
      multiply_by_tiles(product, n_.rows, b_.classes / 2, n_.width);
  }

  void multiply_dweight(float* dweight, bool add) {
    for (std::size_t c = 0; c < n_.width; c += tile_block) {
      multiply_by_tiles({of_rows_, b_.group_of_classes(), x_.paired + c / group * n_.paired_group(),
                         n_.paired_group(), strip_, b_.group_of_classes()},
                        b_.classes, n_.rows / 2, tile_block);
      for (std::size_t half = 0; half < 2; ++half)
        for (std::size_t k = 0; k < block_.count; ++k)
          write(dweight + k * rows_.width, c + half * group,
                load_vector(strip_ + half * b_.group_of_classes() + k * group), add);
    }
  }

private:
  void write(float* row, std::size_t c, Vector values, bool add) const {
    store_some(row, c, rows_.width, add ? load_some(row, c, rows_.width) + values : values);
  }

  LossRows rows_;
  Sizes n_;
  PackedRows x_;
  LogitBlock block_;
  Block b_;
  Pair *weight_, *paired_weight_, *of_rows_, *of_classes_;
  float* strip_;
};

} // namespace

} // namespace troupe::cpu::TROUPE_VARIANT
