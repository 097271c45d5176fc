#include "cpu/onednn/detail/column_sums.hpp"

namespace troupe::cpu {

void ColumnSums::begin(const Columns& columns, std::size_t workers) {
  channels_ = columns.channels();
  width_ = columns.width();
  // Kernels take four rows at a time: images that are not multiples of four rows stay separate.
  piece_ =
      columns.image_elements() % (4 * width_) == 0 ? columns.elements() : columns.image_elements();
  workers_.resize(workers);
  for (auto& own : workers_) {
    own.shift.resize(width_);
    own.block.assign(2 * width_, 0.0f);
    own.sums.assign(2 * channels_, 0.0);
    own.rows = own.block_rows = 0;
  }
}

void ColumnSums::fold(Worker& own) const {
  for (std::size_t half = 0; half < 2; ++half) {
    double* const sums = own.sums.data() + half * channels_;
    const float* const block = own.block.data() + half * width_;
    for (std::size_t i = 0; i < width_; i += channels_)
      for (std::size_t c = 0; c < channels_; ++c)
        sums[c] += static_cast<double>(block[i + c]);
  }
  std::fill(own.block.begin(), own.block.end(), 0.0f);
  own.block_rows = 0;
}

void ColumnSums::finish() {
  for (auto& own : workers_)
    fold(own);
}

double ColumnSums::total(std::size_t index) const {
  double sum = 0;
  for (const auto& own : workers_)
    sum += own.sums[index];
  return sum;
}

/// Combines the workers' moments, each about its own shift (Chan, Golub & LeVeque 1979).
ColumnSums::Moments ColumnSums::moments(std::size_t channel) const {
  double rows = 0, sum = 0;
  for (const auto& own : workers_) {
    const auto n = static_cast<double>(own.rows);
    rows += n;
    sum += own.sums[channel] + n * static_cast<double>(own.shift[channel]);
  }
  const double mean = sum / rows;
  double squares = 0;
  for (const auto& own : workers_) {
    const double distance = static_cast<double>(own.shift[channel]) - mean;
    squares += own.sums[channels_ + channel] + 2 * distance * own.sums[channel] +
               static_cast<double>(own.rows) * distance * distance;
  }
  return {mean, std::max(squares / rows, 0.0)};
}

} // namespace troupe::cpu
