/// From the samples of a data set to what a model takes: fields, each a row of one named tensor of
/// the batch. Augmented images are one kind of adapter, rows of a table another.
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
class UnreadableFiles;

struct Field {
  std::string name; ///< of the graph's input or target
  DType dtype = DType::f32;
  Shape shape; ///< of one sample; a scalar has no dimensions

  std::size_t bytes() const { return static_cast<std::size_t>(shape.elements()) * size_of(dtype); }
};

/// Memory of a batch's fields, each for as many samples as are written.
using Fields = std::span<const std::span<std::byte>>;

/// Immutable, so any thread may fill any batch; results depend on nothing but the arguments.
class Adapter {
public:
  Adapter(const Adapter&) = delete;
  Adapter& operator=(const Adapter&) = delete;
  virtual ~Adapter() = default;

  virtual const Dataset& dataset() const = 0;
  const std::vector<Field>& fields() const { return fields_; }
  /// What a sample is, for speed: "images", "rows", "sequences".
  virtual std::string_view sample_name() const = 0;

  /// Writes the samples to `to`, which has memory for as many of each field, one after the other. A
  /// sample below 0 is padding, which losses ignore. Blocks while it reads files: for a host stream
  /// or a thread, not for a handler. Errors: those of reading the samples.
  virtual Status fill(std::span<const std::int64_t> samples, std::int64_t epoch,
                      Fields to) const = 0;

  /// For devices that augment images themselves; null: it has none.
  virtual const ImageAdapter* images() const { return nullptr; }
  /// Files that were skipped, with data.skip_unreadable; null: none ever is.
  virtual std::shared_ptr<UnreadableFiles> unreadable() const { return nullptr; }
  /// Damaged files that were read all the same; null: none ever is.
  virtual std::shared_ptr<FileNotes> damaged() const { return nullptr; }

protected:
  explicit Adapter(std::vector<Field> fields) : fields_{std::move(fields)} {}

private:
  std::vector<Field> fields_;
};
using AdapterPtr = std::shared_ptr<const Adapter>;

/// Opens the data set that the config names, with what makes it fit the model. data.limit applies
/// to Split::train. Errors (exit code 2): those of open_images, open_csv, open_text, and of own
/// data sets.
Result<AdapterPtr> open_adapter(const Config& config, Split split);

} // namespace troupe::data
