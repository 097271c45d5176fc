/// A data set that is not of this tree: what its program says of it, and how it is opened.
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
  std::string_view help = {}; ///< what it is, after its name
  /// Its keys (custom_key.hpp), bound to the section; null: it has none.
  std::vector<ConfigKey> (*keys)(DataConfig& data) = nullptr;
  /// Of SampleKind::tensor: the shape of one sample.
  Shape (*sample)(const DataConfig& data) = nullptr;
  /// Opens it, with data.limit for the training samples. An adapter is in data/adapter.hpp; for
  /// images data/custom_images.hpp makes it. Errors: Errc::data, naming the file.
  Result<std::shared_ptr<const data::Adapter>> (*open)(const Config& config,
                                                       data::Split split) = nullptr;
};

/// The one that data.dataset names; null: that is one of this tree.
const CustomDataSet* custom_data_set(const DataConfig& data);

/// The keys of all own data sets, each once, with the names of those that have it in their help.
std::vector<ConfigKey> custom_data_keys(DataConfig& data);

/// Keys with another value than their default, of data sets that data.dataset does not name.
ConfigConflicts unused_custom_keys(const DataConfig& data);

} // namespace troupe
