#include "data/detail/table_values.hpp"

#include "core/config/config.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"

#include <cmath>
#include <limits>

namespace troupe::data {

namespace {

std::string place(const std::filesystem::path& file, std::size_t line, const std::string& column) {
  return fmt::format("{}:{}: column \"{}\"", escaped(file.string()), line, echoed(column));
}

} // namespace

Status TableValues::add_features(const std::filesystem::path& file, std::size_t line,
                                 std::span<const double> numbers) {
  for (std::size_t i = 0; i < table_.features.size(); ++i) {
    values_.push_back(standardization_.apply(numbers[i], i));
    if (!std::isfinite(values_.back()))
      return fail(Errc::data, "{}: {} is too large for a 32-bit float{}",
                  place(file, line, table_.features[i]), numbers[i],
                  standardization_.mean.empty() ? "; set data.table.standardize: true"
                                                : ", even after standardization");
  }
  return {};
}

Status TableValues::add_targets(const std::filesystem::path& file, std::size_t line,
                                std::span<const double> numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    values_.push_back(static_cast<float>(numbers[i]));
    if (!std::isfinite(values_.back()))
      return fail(Errc::data, "{}: {} is too large for a 32-bit float; scale the column down",
                  place(file, line, table_.targets[i]), numbers[i]);
  }
  return {};
}

Status TableValues::add(const std::filesystem::path& file, const CsvColumns& rows,
                        std::size_t count, std::span<const std::int32_t> labels) {
  const auto features = table_.features.size();
  const auto width = rows.numbers.size() / rows.lines.size();
  for (std::size_t row = 0; row < count; ++row) {
    const auto numbers = std::span{rows.numbers}.subspan(row * width, width);
    TROUPE_TRY(add_features(file, rows.lines[row], numbers.first(features)));
    TROUPE_TRY(add_targets(file, rows.lines[row], numbers.subspan(features)));
    if (!labels.empty())
      values_.push_back(static_cast<float>(labels[row]));
  }
  return {};
}

Status TableValues::add_unlabeled(const std::filesystem::path& file, const CsvColumns& rows,
                                  bool classes) {
  const auto features = table_.features.size();
  const auto unknown = classes ? -1.0f : std::numeric_limits<float>::quiet_NaN();
  for (std::size_t row = 0; row < rows.lines.size(); ++row) {
    TROUPE_TRY(add_features(file, rows.lines[row],
                            std::span{rows.numbers}.subspan(row * features, features)));
    values_.insert(values_.end(), table_.targets.size(), unknown);
  }
  return {};
}

} // namespace troupe::data
