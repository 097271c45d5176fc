#include "nn/models/shared_keys.hpp"

namespace troupe::nn {

ModelKey width_key(ModelConfig& model) {
  return {.key = {"model.width",
                  &model.width,
                  {.min = 1, .max = 65536},
                  "Channels of the first stage; the later stages have 2, 4 and 8 times as many; "
                  "null: 64, or 16 for resnet20, 32 and 56. In language models, the width of the "
                  "embeddings and of the blocks"},
          .elsewhere = "the layers of {} have different widths"};
}

ModelKey bias_key(ModelConfig& model) {
  return {.key = {"model.bias",
                  &model.bias,
                  {},
                  "Whether layers add a bias to the product with their weight"},
          .elsewhere = "the head of {} always has a bias"};
}

} // namespace troupe::nn
