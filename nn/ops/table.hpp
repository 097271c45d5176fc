/// The records, by op.
#pragma once

#include "record.hpp"

namespace troupe::nn {

const OpRecord& record_of(Op op);

} // namespace troupe::nn
