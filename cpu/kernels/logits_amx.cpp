// Logits of a language model's head in bf16, for processors that multiply tiles of bf16 pairs. A
// block's logits are made for 32 rows at a time, turned, (classes, rows), so that a register has
// one class of 16 rows and nothing is added up across it. They are made twice: once for the sums
// of their exponentials, and once more for their gradients, which is less work than writing them
// to memory and reading them (Wijmans et al. 2024, "Cut Your Losses in Large-Vocabulary Language
// Models").
#include "detail/exponential.hpp"
#include "detail/packing.hpp"
#include "detail/tile_products.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

/// Rows and columns in whole blocks of tiles, and where what is packed of them begins.
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

/// x as the right matrix of two products: turned, (rows / 16, width / 2, 16) pairs of columns, and
/// (width / 16, rows / 2, 16) pairs of rows.
struct PackedRows {
  const Pair *turned, *paired;

  explicit PackedRows(const LossRows& rows)
      : turned{reinterpret_cast<const Pair*>(rows.packed)}, paired{turned + Sizes{rows}.turned()} {}
};

/// A block's memory.
struct Block {
  Sizes sizes;
  std::size_t classes; ///< in whole blocks of tiles

  Block(const Sizes& of, std::size_t count) : sizes{of}, classes{whole(count, tile_block)} {}

  std::size_t group_of_classes() const { return padded(classes); }
  /// The weight as a left matrix: (width / 32, classes, 16) pairs of columns.
  std::size_t weight() const { return sizes.width / tile_block * group_of_classes(); }
  /// And as a right one: (width / 16, classes / 2, 16) pairs of classes.
  std::size_t paired_group() const { return padded(classes / 2); }
  std::size_t paired_weight() const { return sizes.width / group * paired_group(); }
  /// Two groups of rows or columns: logits, or a part of the weight's gradient.
  std::size_t strip() const { return 2 * group_of_classes(); }
  /// Gradients as left matrices: (rows / 32, classes, 16) pairs of rows.
  std::size_t of_rows() const { return sizes.rows / tile_block * group_of_classes(); }
  /// And (classes / 32, rows, 16) pairs of classes.
  std::size_t group_of_rows() const { return padded(sizes.rows); }
  std::size_t of_classes() const { return classes / tile_block * group_of_rows(); }
};

std::size_t packed_floats(std::size_t rows, std::size_t width) {
  const Sizes n{rows, width};
  return n.turned() + n.paired();
}

std::size_t dx_floats(std::size_t rows, std::size_t width) {
  return Sizes{rows, width}.dx();
}

std::size_t scratch_floats(std::size_t rows, std::size_t width) {
  const Block most{Sizes{rows, width}, LogitKernels::most_classes};
  return most.weight() + most.paired_weight() + most.strip() + most.of_rows() + most.of_classes();
}

void pack(const LossRows& rows, const Bf16* x, float* packed, std::size_t begin, std::size_t end) {
  const Sizes n{rows};
  auto* const turned = reinterpret_cast<Pair*>(packed);
  const BfRows from{x, rows.width, rows.count, rows.width};
  const std::size_t last = whole(end, tile_block);
  for (std::size_t row = begin; row < last; row += group)
    for (std::size_t c = 0; c < n.width; c += tile_block)
      pack_turned_square(from, row, c, turned + row / group * n.turned_group() + c / 2 * group);
  Pair* const paired = turned + n.turned();
  for (std::size_t c = 0; c < n.width; c += tile_block)
    for (std::size_t row = begin; row < last; row += 2)
      pack_paired_rows(from, row, c, paired + c / group * n.paired_group() + row / 2 * group,
                       n.paired_group());
}

/// Two rows of a matrix of floats, which may end, or not be there.
struct TwoRows {
  const float *low, *high;
  std::size_t there, columns;

  Vector load(bool second, std::size_t c) const {
    return there > second ? load_some(second ? high : low, c, columns) : Vector{};
  }
};

/// What a block works with, in scratch memory.
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

  /// `both`: also as a right matrix.
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

  /// visit(first row of 16, its logits: (classes, 16)) for each group of rows.
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

  /// The gradients of 32 rows' logits, from `row` on, which for_logits() has left, to both forms.
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

/// Adds a block's logits of 16 rows to what there is of the classes before it.
void add_logits(const float* logits, std::size_t classes, std::size_t row, const LogitSums& sums) {
  float most[group], exponentials[group] = {}, all[group] = {};
  for (std::size_t j = 0; j < group; ++j)
    most[j] = sums.most[row + j];
  for (std::size_t k = 0; k < classes; ++k)
    for (std::size_t j = 0; j < group; ++j) {
      const float logit = logits[k * group + j];
      most[j] = logit > most[j] ? logit : most[j];
      all[j] += logit;
    }
  for (std::size_t k = 0; k < classes; ++k)
    for (std::size_t j = 0; j < group; ++j)
      exponentials[j] += exponential(logits[k * group + j] - most[j]);
  for (std::size_t j = 0; j < group; ++j) {
    auto& before = sums.exponentials[row + j];
    before = before * exponential(sums.most[row + j] - most[j]) + exponentials[j];
    sums.most[row + j] = most[j];
    sums.all[row + j] += all[j];
  }
}

/// Logits of 16 rows become their gradients.
void differentiate(float* logits, std::size_t classes, std::size_t there, std::size_t row,
                   const LogitGradients& g) {
  float total[group], factor[group];
  for (std::size_t j = 0; j < group; ++j) {
    total[j] = g.total[row + j];
    factor[j] = g.factor[row + j];
  }
  for (std::size_t k = 0; k < there; ++k)
    for (std::size_t j = 0; j < group; ++j) {
      float& logit = logits[k * group + j];
      const float gradient = (exponential(logit - total[j]) - g.spread) * factor[j];
      logit = factor[j] != 0.0f ? gradient : 0.0f;
    }
  for (std::size_t i = there * group; i < classes * group; ++i)
    logits[i] = 0.0f;
}

/// Calls visit(row, place among 16 rows' logits) for those rows from `first` on whose label is one
/// of the block's classes.
template <class Visit>
void for_labels(const LossRows& rows, const LogitBlock& block, const std::int32_t* labels,
                std::size_t first, Visit visit) {
  const std::size_t end = first + group < rows.count ? first + group : rows.count;
  for (std::size_t row = first; row < end; ++row) {
    const auto label = static_cast<std::size_t>(labels[row]) - block.first;
    if (labels[row] >= 0 && label < block.count)
      visit(row, label * group + row - first);
  }
}

void sums(const LossRows& rows, const LogitBlock& block, const std::int32_t* labels,
          const LogitSums& to, float* scratch) {
  const Tiles tiles;
  LogitWork work{rows, block, scratch};
  work.pack_weight(false);
  work.for_logits([&](std::size_t row, const float* logits) {
    add_logits(logits, block.count, row, to);
    for_labels(rows, block, labels, row,
               [&](std::size_t i, std::size_t at) { to.of_label[i] = logits[at]; });
  });
}

void gradients(const LossRows& rows, const LogitBlock& block, const std::int32_t* labels,
               const LogitGradients& g, float* scratch) {
  const Tiles tiles;
  const std::size_t classes = whole(block.count, tile_block);
  LogitWork work{rows, block, scratch};
  work.pack_weight(true);
  work.for_logits([&](std::size_t row, float* logits) {
    differentiate(logits, classes, block.count, row, g);
    for_labels(rows, block, labels, row,
               [&](std::size_t, std::size_t at) { logits[at] -= g.of_label; });
    if (row % tile_block == group)
      work.narrow(row - group);
  });
  work.multiply_dweight(g.dweight, g.add_dweight);
  work.multiply_dx(g.dx, g.add_dx);
}

void unpack(const LossRows& rows, const float* packed, std::size_t distance, std::size_t parts,
            Bf16* dx, std::size_t begin, std::size_t end) {
  const Sizes n{rows};
  for (std::size_t row = begin; row < end; ++row)
    for (std::size_t c = 0; c < n.width; c += group) {
      const float* const from = packed + c / group * n.dx_group() + row * group;
      Vector sum = load_vector(from);
      for (std::size_t part = 1; part < parts; ++part)
        sum += load_vector(from + part * distance);
      store_some(dx + row * rows.width, c, rows.width, sum);
    }
}

} // namespace

void set_logits_amx(Kernels& kernels) {
  kernels.logits = {packed_floats, dx_floats, scratch_floats, pack, sums, gradients, unpack};
}

} // namespace troupe::cpu::TROUPE_VARIANT
