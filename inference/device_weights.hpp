/// A saved model's parameters in a device's memory, for all executables with the same layout.
#pragma once

#include "core/device/executable.hpp"
#include "inference/model_weights.hpp"

#include <vector>

namespace troupe::inference {

class DeviceWeights {
public:
  /// Reads the weights, one tensor at a time, and rounds them to `stored`. Statistics that the
  /// weights lack are zero. Blocks. Errors: those of ModelWeights::read; out_of_memory.
  static Result<DeviceWeights> load(Device& device, Stream& stream, const StorageLayout& layout,
                                    const ModelWeights& weights, DType stored);

  /// Binds the parameters to an executable. They must outlive it. Blocks.
  Status bind(Executable& executable, Stream& stream) const;
  UnitId units() const { return static_cast<UnitId>(parameters_.size()); }

private:
  std::vector<BufferPtr> parameters_; ///< by unit
  BufferPtr statistics_;
};

} // namespace troupe::inference
