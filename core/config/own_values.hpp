/// Names of custom_values.hpp before 0.2, for programs that use them. Removed in 0.3.
#pragma once

#include "core/config/custom_values.hpp"

namespace troupe {

using OwnValue = CustomValue;
using OwnValues = CustomValues;

template <class Row>
using OwnRows = CustomRows<Row>;

} // namespace troupe
