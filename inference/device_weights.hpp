/// A saved model's parameters in a device's memory, for executables that store them alike.
#pragma once

#include "core/device/executable.hpp"
#include "inference/model_weights.hpp"

#include <vector>

namespace troupe::inference {

class DeviceWeights {
public:
  /// Reads them, a tensor at a time, and rounds them to the type that they are stored in.
  /// Statistics that the weights do not have are zero. Blocks. Errors: of ModelWeights::read;
  /// out_of_memory.
  static Result<DeviceWeights> load(Device& device, Stream& stream, const StorageLayout& layout,
                                    const ModelWeights& weights, DType stored);

  /// Until the executable ends, or longer, this has to be there. Blocks.
  Status bind(Executable& executable, Stream& stream) const;
  UnitId units() const { return static_cast<UnitId>(parameters_.size()); }

private:
  std::vector<BufferPtr> parameters_; ///< by unit
  BufferPtr statistics_;
};

} // namespace troupe::inference
