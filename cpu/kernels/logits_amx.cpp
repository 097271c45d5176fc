// Logits of a language model's head in bf16, for processors that multiply tiles of bf16 pairs. A
// block's logits are computed for 32 rows at a time, transposed, (classes, rows), so that a
// register has one class of 16 rows and needs no horizontal sums. They are computed twice: once for
// the sums of their exponentials, and once for their gradients, which is less work than writing
// them to memory and reading them (Wijmans et al. 2024, "Cut Your Losses in Large-Vocabulary
// Language Models").
#include "cpu/kernels/detail/exponential.hpp"
#include "cpu/kernels/detail/logit_work.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

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

/// Adds a block's logits of 16 rows to the sums of earlier classes.
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

/// Replaces the logits of 16 rows by their gradients.
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

/// Calls visit(row, index among 16 rows' logits) for the 16 rows from `first` on whose label is one
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
