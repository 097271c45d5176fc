#include "nn/models/shared_keys.hpp"

namespace troupe::nn {

ModelKey width_key(ModelConfig& model) {
  return {.key = {"model.width",
                  &model.width,
                  {.min = 1, .max = 65536},
                  "Channels of the first stage, of which the others have 2, 4 and 8 times "
                  "as many; not given: 64, for resnet20, 32 and 56: 16. Of language models, what "
                  "their blocks read and write"},
          .elsewhere = "the layers of {} have widths of their own"};
}

ModelKey bias_key(ModelConfig& model) {
  return {.key = {"model.bias",
                  &model.bias,
                  {},
                  "Whether layers add a bias to the product with their weight"},
          .elsewhere = "the head of {} keeps its bias"};
}

} // namespace troupe::nn
