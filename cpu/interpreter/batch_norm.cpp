#include "cpu/interpreter/ops.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace troupe::cpu {

namespace {

struct Statistics {
  Values mean, variance; ///< by channel; biased
  double rows = 0;       ///< that the statistics cover
};

double rows_of(const Values& x, std::size_t channels) {
  return static_cast<double>(x.size() / channels);
}

Statistics of_batch(const Values& x, std::size_t channels) {
  const double rows = rows_of(x, channels);
  Statistics s{Values(channels), Values(channels), rows};
  for (std::size_t i = 0; i < x.size(); ++i)
    s.mean[i % channels] += x[i] / rows;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double d = x[i] - s.mean[i % channels];
    s.variance[i % channels] += d * d / rows;
  }
  return s;
}

Statistics of_all_batches(const RankSums& sums) {
  Statistics s{Values(sums.channels()), Values(sums.channels()), sums.rows()};
  for (std::size_t c = 0; c < sums.channels(); ++c) {
    s.mean[c] = sums.mean(c);
    s.variance[c] = sums.variance(c);
  }
  return s;
}

/// Writes this rank's sums of v and of v * (x - mean).
Status give_sums(RankSums& sums, const Values& v, const Values& x, const Values& mean) {
  std::ranges::fill(sums.values(), 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto c = i % sums.channels();
    sums.first(c) += v[i];
    sums.second(c) += v[i] * (x[i] - mean[c]);
  }
  sums.rows() = rows_of(x, sums.channels());
  return {};
}

void update_running(const Operands& operands, const Statistics& s) {
  const double momentum = double{operands.attributes<BatchNormAttributes>().momentum};
  auto mean = operands.read(3), variance = operands.read(4);
  for (std::size_t c = 0; c < mean.size(); ++c) {
    mean[c] = (1 - momentum) * mean[c] + momentum * s.mean[c];
    variance[c] = (1 - momentum) * variance[c] + momentum * s.variance[c] * s.rows / (s.rows - 1);
  }
  operands.write_back(3, mean);
  operands.write_back(4, variance);
}

/// Writes y. Its inputs have the same indices in batch_norm and in normalize.
void write_normalized(const Operands& operands, const Values& mean, const Values& inv_std) {
  const auto& a = operands.attributes<BatchNormAttributes>();
  auto y = operands.read(0);
  const auto scale = operands.read(1), shift = operands.read(2);
  const auto residual = a.add ? operands.read(5) : Values{};
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto c = i % scale.size();
    y[i] = (y[i] - mean[c]) * inv_std[c] * scale[c] + shift[c];
    if (a.add)
      y[i] += residual[i];
    if (a.relu)
      y[i] = y[i] < 0 ? 0 : y[i]; // a NaN stays
  }
  operands.write(0, y);
  if (a.mask)
    operands.write_mask(3, y);
}

} // namespace

Status batch_norm(const Operands& operands) {
  const auto& a = operands.attributes<BatchNormAttributes>();
  const auto x = operands.read(0);
  const auto channels = operands.read(1).size();
  if (auto* const sums = operands.rank_sums().given)
    return give_sums(*sums, x, x, Values(channels));
  const auto* const all = operands.rank_sums().taken;
  const auto s = !a.training ? Statistics{operands.read(3), operands.read(4)}
                 : all       ? of_all_batches(*all)
                             : of_batch(x, channels);
  // Rounded as they are saved, so that normalize computes the same bits.
  Values mean(channels), inv_std(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    mean[c] = round_to(DType::f32, s.mean[c]);
    inv_std[c] = round_to(DType::f32, 1 / std::sqrt(s.variance[c] + double{a.eps}));
  }
  write_normalized(operands, mean, inv_std);
  if (a.training) {
    operands.write(1, mean);
    operands.write(2, inv_std);
    update_running(operands, s);
  }
  return {};
}

Status normalize(const Operands& operands) {
  write_normalized(operands, operands.read(3), operands.read(4));
  return {};
}

namespace {

/// Returns the gradient of batch norm's result, rounded as if it had been stored. The result may be
/// the input of a pooling, and its gradient may come in two parts.
Values gradient_of_result(const Operands& operands) {
  const auto& a = operands.attributes<BatchNormAttributes>();
  if (!a.pooled && !a.add_gradient)
    return operands.read(0);
  auto dy = operands.read(0);
  if (a.pooled)
    dy = max_pool_gradient(operands.input(1), operands.input(0), *a.pooled, dy, operands.read(7));
  else
    std::ranges::transform(dy, operands.read(operands.inputs() - 1), dy.begin(), std::plus{});
  for (auto& value : dy)
    value = round_to(operands.input(0).dtype, value);
  return dy;
}

/// Returns the gradient that passes the fused relu.
Values gradient_of_normalized(const Operands& operands, const Values& x) {
  auto dy = gradient_of_result(operands);
  const auto& a = operands.attributes<BatchNormAttributes>();
  if (!a.relu)
    return dy;
  // y, or its mask, or the factor and offset that give its sign.
  const auto y = a.mask ? operands.read_mask(5) : operands.read(5);
  const bool from_x = !a.add && operands.inputs() > 6;
  const auto offset = from_x ? operands.read(6) : Values{};
  for (std::size_t i = 0; i < dy.size(); ++i) {
    const bool positive =
        (offset.empty() ? y[i] : x[i] * y[i % offset.size()] + offset[i % offset.size()]) > 0;
    dy[i] = positive ? dy[i] : 0;
  }
  return dy;
}

} // namespace

// With h = (x - mean) * inv_std, M values per channel: dx = scale * inv_std * (dy - sum(dy) / M - h
// * sum(dy * h) / M). Ioffe & Szegedy 2015, section 3. M and the sums may cover all ranks, dscale
// and dshift cover this rank.
Status batch_norm_backward(const Operands& operands) {
  const auto x = operands.read(1), scale = operands.read(2), mean = operands.read(3),
             inv_std = operands.read(4);
  const auto dy = gradient_of_normalized(operands, x);
  if (auto* const sums = operands.rank_sums().given)
    return give_sums(*sums, dy, x, mean);
  const auto channels = scale.size();
  Values dscale(channels), dshift(channels), dx(x.size());
  const auto normalized = [&](std::size_t i) {
    return (x[i] - mean[i % channels]) * inv_std[i % channels];
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    dscale[i % channels] += dy[i] * normalized(i);
    dshift[i % channels] += dy[i];
  }
  const auto* const all = operands.rank_sums().taken;
  const double rows = all ? all->rows() : rows_of(x, channels);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto c = i % channels;
    const double sum = all ? all->first(c) : dshift[c];
    const double sum_h = all ? all->second(c) * inv_std[c] : dscale[c];
    dx[i] = scale[c] * inv_std[c] * (dy[i] - sum / rows - normalized(i) * sum_h / rows);
  }
  operands.write(0, dx);
  operands.write(1, dscale);
  operands.write(2, dshift);
  if (operands.attributes<BatchNormAttributes>().add)
    operands.write(3, dy);
  return {};
}

} // namespace troupe::cpu
