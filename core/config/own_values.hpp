/// What sections of a config hold for models and data sets that are not of this tree.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace troupe {

using OwnValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                              std::vector<double>, std::vector<std::string>>;

/// Values of own keys (own_key.hpp), by their names within the section.
using OwnValues = std::map<std::string, OwnValue>;

/// Descriptions that a config carries to whoever reads it. They are the program's and no values of
/// a file's: all compare equal, and none is printed.
template <class Row>
class OwnRows {
public:
  OwnRows() = default;
  explicit OwnRows(std::vector<Row> rows)
      : rows_{std::make_shared<const std::vector<Row>>(std::move(rows))} {}

  std::span<const Row> rows() const {
    return rows_ ? std::span<const Row>{*rows_} : std::span<const Row>{};
  }

  friend bool operator==(const OwnRows&, const OwnRows&) { return true; }

private:
  std::shared_ptr<const std::vector<Row>> rows_;
};

} // namespace troupe
