/// The table of data.dataset: what is known of each kind of data set before its files are read.
/// Keys, checks, adapters, models' inputs and predictions read it. A new one is a row.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

enum class SampleKind : std::uint8_t { image, table_row };

struct DataSetFacts {
  std::string_view name; ///< the config's word
  SampleKind sample = SampleKind::image;
  bool same_size = true; ///< of all its images
  /// Where the content is fixed; else 0.
  std::int64_t classes = 0, channels = 0;
};

inline constexpr std::array data_sets = {
    DataSetFacts{.name = "cifar10", .classes = 10, .channels = 3},
    DataSetFacts{.name = "mnist", .classes = 10, .channels = 1},
    DataSetFacts{.name = "fashion_mnist", .classes = 10, .channels = 1},
    DataSetFacts{.name = "image_folder", .same_size = false},
    DataSetFacts{.name = "synthetic"},
    DataSetFacts{.name = "csv", .sample = SampleKind::table_row, .same_size = false},
};

/// Of a name that is not in the table, as checked configs have none: of images of one size.
constexpr DataSetFacts facts_of_data(std::string_view dataset) {
  const auto* const row = std::ranges::find(data_sets, dataset, &DataSetFacts::name);
  return row == data_sets.end() ? DataSetFacts{.name = dataset} : *row;
}

inline std::vector<std::string> data_set_names() {
  std::vector<std::string> names;
  for (const auto& row : data_sets)
    names.emplace_back(row.name);
  return names;
}

} // namespace troupe
