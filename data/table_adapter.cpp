#include "data/table_adapter.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace troupe::data {

namespace {

std::vector<Field> fields_of(const TableDataset& table) {
  const auto& columns = table.columns();
  const auto target = columns.traits.class_names.empty()
                          ? Field{"targets", DType::f32, {std::ssize(columns.targets)}}
                          : Field{"labels", DType::i32, {}};
  return {{"features", DType::f32, {std::ssize(columns.features)}}, target};
}

} // namespace

TableAdapter::TableAdapter(TablePtr table) : Adapter{fields_of(*table)}, table_{std::move(table)} {}

Status TableAdapter::fill(std::span<const std::int64_t> samples, std::int64_t, Fields to) const {
  const auto input = fields()[0].bytes(), target = fields()[1].bytes();
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (samples[i] < 0)
      std::memset(to[0].data() + i * input, 0, input);
    else
      std::memcpy(to[0].data() + i * input, table_->features(samples[i]).data(), input);
    write_target(samples[i], to[1].data() + i * target);
  }
  return {};
}

void TableAdapter::write_target(std::int64_t row, std::byte* to) const {
  if (fields()[1].dtype == DType::i32) {
    const auto label = row < 0 ? -1 : static_cast<std::int32_t>(table_->targets(row)[0]);
    std::memcpy(to, &label, sizeof label);
  } else if (row < 0) {
    std::fill_n(reinterpret_cast<float*>(to), table_->columns().targets.size(),
                std::numeric_limits<float>::quiet_NaN());
  } else {
    std::memcpy(to, table_->targets(row).data(), fields()[1].bytes());
  }
}

} // namespace troupe::data
