/// Names of custom_data_set.hpp before 0.2, for programs that use them. Removed in 0.3.
#pragma once

#include "core/config/custom_data_set.hpp"

namespace troupe {

using OwnDataSet = CustomDataSet;

} // namespace troupe
