/// The table of data.dataset: traits of each kind of data set that are known before its files are
/// read. Keys, checks, adapters, models' inputs and predictions use it. A new data set is one row.
#pragma once

#include "core/config/forward.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

enum class SampleKind : std::uint8_t {
  image,
  table_row, ///< of the columns that the config names
  tokens,    ///< a window of a text's tokens
  tensor,    ///< f32, of the shape that a custom data set returns (custom_data_set.hpp)
};

struct DataSetTraits {
  std::string_view name; ///< the config's word
  SampleKind sample = SampleKind::image;
  bool same_size = true; ///< all its images have one size
  bool files = true;     ///< reads files below data.root
  /// 0 if they depend on the content.
  std::int64_t classes = 0, channels = 0;
};

/// data.tokenizer: each byte is a token, and one more marks the end of a document.
inline constexpr std::string_view byte_tokenizer = "bytes";
inline constexpr std::int64_t byte_vocabulary = 257;

inline constexpr std::array data_sets = {
    DataSetTraits{.name = "cifar10", .classes = 10, .channels = 3},
    DataSetTraits{.name = "mnist", .classes = 10, .channels = 1},
    DataSetTraits{.name = "fashion_mnist", .classes = 10, .channels = 1},
    DataSetTraits{.name = "image_folder", .same_size = false},
    DataSetTraits{.name = "synthetic", .files = false},
    DataSetTraits{.name = "csv", .sample = SampleKind::table_row, .same_size = false},
    DataSetTraits{.name = "text", .sample = SampleKind::tokens},
};

/// Returns the traits of the data set that data.dataset names. An unknown name, which checked
/// configs do not have, gives those of images of one size.
DataSetTraits traits_of_data(const DataConfig& data);

/// Tokens in a training step of the whole job; 0: the data set has none.
std::int64_t tokens_per_step(const DataConfig& data);

/// Valid values of data.dataset: the table's names and those of custom data sets.
std::vector<std::string> data_set_names(const DataConfig& data);

} // namespace troupe
