/// Converts rows of a table to a model's input.
#pragma once

#include "data/adapter.hpp"
#include "data/table_dataset.hpp"

namespace troupe::data {

/// Fields: features f32 (F), then the target. Numeric targets are f32 (K) with NaN as padding; a
/// class is labels i32 with -1 as padding.
class TableAdapter final : public Adapter {
public:
  explicit TableAdapter(TablePtr table);

  const Dataset& dataset() const override { return *table_; }
  std::string_view sample_name() const override { return "rows"; }
  Status fill(std::span<const std::int64_t> samples, std::int64_t epoch, Fields to) const override;

private:
  void write_target(std::int64_t row, std::byte* to) const;

  TablePtr table_;
};

} // namespace troupe::data
