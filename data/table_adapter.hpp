/// Rows of a table as a model takes them.
#pragma once

#include "data/adapter.hpp"
#include "data/table_dataset.hpp"

namespace troupe::data {

/// Fields: features f32 (F); then targets f32 (K), whose padding is NaN, or labels i32 where the
/// target is a class, whose padding is -1.
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
