/// Converts samples of a data set to a model's input: fields, each one row of a named tensor of the
/// batch. Adapters exist for augmented images, table rows and windows of tokens.
#pragma once

#include "core/config/forward.hpp"
#include "core/error.hpp"
#include "core/graph/tensor.hpp"
#include "data/dataset.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::data {

class FileNotes;
class ImageAdapter;

struct Field {
  std::string name; ///< name of the graph's input or target
  DType dtype = DType::f32;
  Shape shape; ///< shape of one sample; a scalar has no dimensions

  std::size_t bytes() const { return static_cast<std::size_t>(shape.elements()) * size_of(dtype); }
};

/// Memory of a batch's fields: one buffer per field, with room for all samples that are written.
using Fields = std::span<const std::span<std::byte>>;

/// Immutable, so any thread may fill any batch. Results depend only on the arguments.
class Adapter {
public:
  Adapter(const Adapter&) = delete;
  Adapter& operator=(const Adapter&) = delete;
  virtual ~Adapter() = default;

  virtual const Dataset& dataset() const = 0;
  const std::vector<Field>& fields() const { return fields_; }
  /// Unit of throughput: "images", "rows" or "sequences".
  virtual std::string_view sample_name() const = 0;

  /// Writes the samples one after another to `to`, which has room for all of them in each field. A
  /// sample below 0 is padding, which losses ignore. Blocks while it reads files: call it on a host
  /// stream or a thread, not in a message handler. Errors: those of reading the samples.
  virtual Status fill(std::span<const std::int64_t> samples, std::int64_t epoch,
                      Fields to) const = 0;

  /// Returns the image adapter, for devices that augment images themselves; null if the samples are
  /// not images.
  virtual const ImageAdapter* images() const { return nullptr; }
  /// Returns the files that data.skip_unreadable skipped; null if this adapter never skips a file.
  virtual std::shared_ptr<FileNotes> unreadable() const { return nullptr; }
  /// Returns the damaged files that were read nevertheless; null if this adapter never reads one.
  virtual std::shared_ptr<FileNotes> damaged() const { return nullptr; }

protected:
  explicit Adapter(std::vector<Field> fields) : fields_{std::move(fields)} {}

private:
  std::vector<Field> fields_;
};
using AdapterPtr = std::shared_ptr<const Adapter>;

/// Opens the data set that the config names, with the adapter that fits the model. data.limit
/// applies to Split::train. Errors (exit code 2): those of open_images, open_csv, open_text and
/// custom data sets.
Result<AdapterPtr> open_adapter(const Config& config, Split split);

} // namespace troupe::data
