/// The interface that all data sets share. Each kind adds access to its samples: images
/// (image_dataset.hpp), rows of a table (table_dataset.hpp) or windows of tokens
/// (tokens/token_dataset.hpp). An adapter (adapter.hpp) converts them to a model's input.
#pragma once

#include "data/left_out.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {
class Sha256;
}

namespace troupe::data {

enum class Split : std::uint8_t { train, test };

std::string_view to_string(Split split);

/// Immutable once opened; all members are thread-safe.
class Dataset {
public:
  Dataset() = default;
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;
  virtual ~Dataset() = default;

  virtual std::string_view name() const = 0; ///< name in the config: "cifar10"
  /// Returns the class names by label; empty if samples have no class.
  virtual const std::vector<std::string>& class_names() const = 0;
  virtual std::int64_t size() const = 0;
  /// Returns the seconds that all threads together have spent on reading and decoding files of
  /// samples; 0 if samples are in memory.
  virtual double decode_seconds() const { return 0; }

  /// Returns counts of the files that are not samples and are not read.
  virtual LeftOut left_out() const { return {}; }

  /// Returns 32 hexadecimal digits that are equal for data sets with the same samples, on every
  /// machine and in every folder.
  std::string fingerprint() const;

private:
  virtual void add_content(Sha256& sha) const = 0;
};

} // namespace troupe::data
