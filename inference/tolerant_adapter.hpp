/// A data set of which some samples may be unreadable, where each is asked for once and somebody
/// waits for an answer to each. What a run does with such files is another subject: its batches
/// have to be the same for any number of workers, and what is missing in one is replaced and
/// counted (data/unreadable.hpp).
#pragma once

#include "data/adapter.hpp"

#include <map>
#include <mutex>
#include <optional>

namespace troupe::inference {

/// Takes each sample alone: one that cannot be read is padding, and its error is kept.
class TolerantAdapter final : public data::Adapter {
public:
  explicit TolerantAdapter(data::AdapterPtr of) : Adapter{of->fields()}, of_{std::move(of)} {}

  const data::Dataset& dataset() const override { return of_->dataset(); }
  std::string_view sample_name() const override { return of_->sample_name(); }
  Status fill(std::span<const std::int64_t> samples, std::int64_t epoch,
              data::Fields to) const override;

  /// What was wrong with the sample, once: it is forgotten then.
  std::optional<Error> take_error(std::int64_t sample) const;

private:
  Status fill_one(std::int64_t sample, std::int64_t epoch, data::Fields to) const;

  data::AdapterPtr of_;
  mutable std::mutex mutex_;
  mutable std::map<std::int64_t, Error> errors_; ///< by sample
};

} // namespace troupe::inference
