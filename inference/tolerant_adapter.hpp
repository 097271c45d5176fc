/// A data set with unreadable samples, for predictions: each sample is requested once, and each
/// gets a result or an error. Training handles such files differently: its batches must be the same
/// for any number of workers, so an unreadable sample is replaced and counted
/// (data/file_notes.hpp).
#pragma once

#include "data/adapter.hpp"

#include <map>
#include <mutex>
#include <optional>

namespace troupe::inference {

/// Reads each sample separately. An unreadable one becomes padding, and its error is kept.
class TolerantAdapter final : public data::Adapter {
public:
  explicit TolerantAdapter(data::AdapterPtr of) : Adapter{of->fields()}, of_{std::move(of)} {}

  const data::Dataset& dataset() const override { return of_->dataset(); }
  std::string_view sample_name() const override { return of_->sample_name(); }
  Status fill(std::span<const std::int64_t> samples, std::int64_t epoch,
              data::Fields to) const override;

  /// Returns the sample's error, and forgets it.
  std::optional<Error> take_error(std::int64_t sample) const;

private:
  Status fill_one(std::int64_t sample, std::int64_t epoch, data::Fields to) const;

  data::AdapterPtr of_;
  mutable std::mutex mutex_;
  mutable std::map<std::int64_t, Error> errors_; ///< by sample
};

} // namespace troupe::inference
