/// Mode of a graph or of a pass over a micro-batch.
#pragma once

#include <cstdint>

namespace troupe::nn {

enum class PassMode : std::uint8_t {
  training,  ///< forward and backward; batch norm uses the batch's statistics
  evaluation ///< only forward; batch norm uses the running statistics
};

} // namespace troupe::nn
