/// What every data set says of itself. Its samples are its kind's affair: images
/// (image_dataset.hpp), rows of a table (table_dataset.hpp) or windows of tokens
/// (tokens/token_dataset.hpp), which an adapter (adapter.hpp) turns into what a model takes.
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

/// Immutable once opened; all members may be called from several threads at once.
class Dataset {
public:
  Dataset() = default;
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;
  virtual ~Dataset() = default;

  virtual std::string_view name() const = 0; ///< as in the config: "cifar10"
  /// By label; empty where samples have no class.
  virtual const std::vector<std::string>& class_names() const = 0;
  virtual std::int64_t size() const = 0;
  /// That all threads have spent so far in reading and decoding files of samples; 0 where samples
  /// are in memory.
  virtual double decode_seconds() const { return 0; }

  /// Files beside the samples that are not read.
  virtual LeftOut left_out() const { return {}; }

  /// 32 hexadecimal digits that sets of the same samples share, on every machine and wherever the
  /// files lie.
  std::string fingerprint() const;

private:
  virtual void add_content(Sha256& sha) const = 0;
};

} // namespace troupe::data
