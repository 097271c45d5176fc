/// Values in config sections for custom models and data sets.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace troupe {

using CustomValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                                 std::vector<double>, std::vector<std::string>>;

/// Values of custom keys (custom_key.hpp), by their names within the section.
using CustomValues = std::map<std::string, CustomValue>;

/// Plugin descriptions that travel with a config. They belong to the program and not to the file:
/// all compare equal, and none is printed.
template <class Row>
class CustomRows {
public:
  CustomRows() = default;
  explicit CustomRows(std::vector<Row> rows)
      : rows_{std::make_shared<const std::vector<Row>>(std::move(rows))} {}

  std::span<const Row> rows() const {
    return rows_ ? std::span<const Row>{*rows_} : std::span<const Row>{};
  }

  friend bool operator==(const CustomRows&, const CustomRows&) { return true; }

private:
  std::shared_ptr<const std::vector<Row>> rows_;
};

} // namespace troupe
