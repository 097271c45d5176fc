/// A custom data set: its traits and keys, and how it is opened.
#pragma once

#include "core/config/data_sets.hpp"
#include "core/config/schema.hpp"
#include "core/config/validate.hpp"
#include "core/error.hpp"
#include "core/graph/tensor.hpp"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace troupe {

namespace data {
class Adapter;
enum class Split : std::uint8_t;
} // namespace data

struct CustomDataSet {
  DataSetTraits traits;
  std::string_view help = {}; ///< description, follows the name
  /// Its keys (custom_key.hpp), bound to the section; null: it has none.
  std::vector<ConfigKey> (*keys)(DataConfig& data) = nullptr;
  /// For SampleKind::tensor: the shape of one sample.
  Shape (*sample)(const DataConfig& data) = nullptr;
  /// Opens it, with data.limit for the training samples. Adapters are declared in data/adapter.hpp;
  /// data/custom_images.hpp makes one for images. Errors: Errc::data, naming the file.
  Result<std::shared_ptr<const data::Adapter>> (*open)(const Config& config,
                                                       data::Split split) = nullptr;
};

/// Returns the custom data set that data.dataset names; null if it is built in.
const CustomDataSet* custom_data_set(const DataConfig& data);

/// Returns the keys of all custom data sets, each once. The help of a key names the data sets that
/// have it.
std::vector<ConfigKey> custom_data_keys(DataConfig& data);

/// Reports keys that differ from their default although data.dataset does not name a data set that
/// has them.
ConfigConflicts unused_custom_keys(const DataConfig& data);

} // namespace troupe
