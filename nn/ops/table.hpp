/// Records by op.
#pragma once

#include "nn/ops/record.hpp"

namespace troupe::nn {

const OpRecord& record_of(Op op);

} // namespace troupe::nn
