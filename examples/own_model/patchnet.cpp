// A custom model: `patchnet`, a residual network over patches. The image is cut into patches, as in
// Trockman and Kolter, "Patches Are All You Need?", TMLR 2023; then come blocks that look at
// neighbours and mix channels, in the order of Liu et al., "A ConvNet for the 2020s", CVPR 2022,
// with whole convolutions in place of depthwise ones.
#include <troupe/app/program.hpp>
#include <troupe/core/config/custom_key.hpp>

#include <fmt/format.h>

namespace {

using namespace troupe;

const CustomKey<std::int64_t> patch = {
    "patch", 4, {.min = 1, .max = 64}, "Height and width of a patch"};
const CustomKey<std::int64_t> channels = {
    "channels", 48, {.min = 1, .max = 4096}, "Channels between the blocks"};
const CustomKey<std::int64_t> depth = {"depth", 4, {.min = 1, .max = 256}, "Blocks"};
const CustomKey<std::string> activation = {
    "activation", "gelu", {.choices = {"gelu", "relu"}}, "What is between a block's convolutions"};

std::vector<nn::ModelKey> keys(ModelConfig& model) {
  return {{.key = custom_key(model, patch)},
          {.key = custom_key(model, channels)},
          {.key = custom_key(model, depth)},
          {.key = custom_key(model, activation)}};
}

ConfigConflicts conflicts(const ModelConfig& model, const nn::InputSpec& input) {
  const auto size = custom_value(model, patch), pixels = input.sample[0];
  if (pixels % size == 0)
    return {};
  return {{{"model.patch", "data.image_size"},
           fmt::format("images of {0} x {0} do not divide into patches of {1} x {1}", pixels, size),
           "a divisor of data.image_size"}};
}

/// x + project(activation(expand(normalize(x)))); all of it is one unit, which is gathered and
/// recomputed as a whole.
TensorId add_block(const nn::FeatureArguments& to, const std::string& name, TensorId x) {
  auto& b = to.builder;
  const auto width = custom_value(to.model, channels);
  b.begin_unit(name);
  auto y = b.layer_norm(name + ".norm", x);
  y = b.conv2d(name + ".expand", y, 2 * width, {.kernel = 3, .stride = 1, .padding = 1});
  const auto act = name + ".act";
  y = custom_value(to.model, activation) == "gelu" ? b.gelu(act, y) : b.relu(act, y);
  y = b.conv2d(name + ".project", y, width, {.kernel = 1, .stride = 1, .padding = 0});
  return b.add(name + ".add", x, y);
}

/// All but the classifier, which every model has.
TensorId add_features(const nn::FeatureArguments& to) {
  auto& b = to.builder;
  const auto size = custom_value(to.model, patch);
  b.begin_unit("stem");
  auto x = b.conv2d("patches", to.input, custom_value(to.model, channels),
                    {.kernel = size, .stride = size, .padding = 0});
  for (std::int64_t i = 0; i < custom_value(to.model, depth); ++i)
    x = add_block(to, fmt::format("blocks.{}", i), x);
  b.begin_unit("head");
  return b.flatten("flatten", b.global_avg_pool("pool", b.layer_norm("norm", x)));
}

const nn::Family patchnet = {.names = {"patchnet"},
                             .help = "residual blocks over patches",
                             .images_only = true,
                             .keys = keys,
                             .conflicts = conflicts,
                             .add_features = add_features};

} // namespace

int main(int argc, char** argv) {
  return troupe::app::run_program(argc, argv, {.families = {patchnet}});
}
