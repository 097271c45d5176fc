/// Keys that several families share.
#pragma once

#include "nn/models/family.hpp"

namespace troupe::nn {

ModelKey width_key(ModelConfig& model);
ModelKey bias_key(ModelConfig& model);

} // namespace troupe::nn
