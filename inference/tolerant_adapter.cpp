#include "inference/tolerant_adapter.hpp"

#include <utility>

namespace troupe::inference {

Status TolerantAdapter::fill(std::span<const std::int64_t> samples, std::int64_t epoch,
                             data::Fields to) const {
  std::vector<std::span<std::byte>> one(to.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    for (std::size_t field = 0; field < to.size(); ++field) {
      const auto bytes = fields()[field].bytes();
      one[field] = to[field].subspan(i * bytes, bytes);
    }
    if (auto filled = fill_one(samples[i], epoch, one); !filled)
      return filled;
  }
  return {};
}

Status TolerantAdapter::fill_one(std::int64_t sample, std::int64_t epoch, data::Fields to) const {
  auto filled = of_->fill({&sample, 1}, epoch, to);
  if (filled)
    return filled;
  {
    const std::lock_guard lock{mutex_};
    errors_.insert_or_assign(sample, std::move(filled).error());
  }
  constexpr std::int64_t padding = -1;
  return of_->fill({&padding, 1}, epoch, to);
}

std::optional<Error> TolerantAdapter::take_error(std::int64_t sample) const {
  const std::lock_guard lock{mutex_};
  auto taken = errors_.extract(sample);
  return taken ? std::optional{std::move(taken.mapped())} : std::nullopt;
}

} // namespace troupe::inference
