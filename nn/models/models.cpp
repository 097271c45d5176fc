#include "models.hpp"

#include "families.hpp"
#include "troupe/core/fail.hpp"
#include "troupe/core/nearest.hpp"

#include <fmt/ranges.h>

#include <map>
#include <variant>

namespace troupe::nn {

namespace {

struct MlpSpec {
  bool hidden;
};

using Spec = std::variant<ResNetSpec, CifarResNetSpec, MlpSpec>;

const std::map<std::string, Spec>& specs() {
  static const std::map<std::string, Spec> all = {
      {"resnet18", ResNetSpec{BlockKind::basic, {2, 2, 2, 2}}},
      {"resnet34", ResNetSpec{BlockKind::basic, {3, 4, 6, 3}}},
      {"resnet50", ResNetSpec{BlockKind::bottleneck, {3, 4, 6, 3}}},
      {"resnet101", ResNetSpec{BlockKind::bottleneck, {3, 4, 23, 3}}},
      {"resnet152", ResNetSpec{BlockKind::bottleneck, {3, 8, 36, 3}}},
      {"resnet20", CifarResNetSpec{3}},
      {"resnet32", CifarResNetSpec{5}},
      {"resnet56", CifarResNetSpec{9}},
      {"mlp", MlpSpec{true}},
      {"linear", MlpSpec{false}},
  };
  return all;
}

std::string suggestion(const std::string& name, const std::vector<std::string>& known) {
  const auto near = nearest(name, known);
  return near.empty() ? fmt::format("known are {}", fmt::join(known, ", "))
                      : fmt::format("did you mean {}?", near);
}

Status check(const ModelConfig& model, const ModelOptions& options) {
  if (!specs().contains(model.name))
    return fail(Errc::invalid_input, "there is no model \"{}\": {}", model.name,
                suggestion(model.name, model_names()));
  const std::vector<std::string> stems = {"imagenet", "cifar"};
  if (model.stem != stems[0] && model.stem != stems[1])
    return fail(Errc::invalid_input, "there is no stem \"{}\": {}", model.stem,
                suggestion(model.stem, stems));
  const std::vector<std::string> losses = {"cross_entropy", "mean_squared_error"};
  if (model.loss != losses[0] && model.loss != losses[1])
    return fail(Errc::invalid_input, "there is no loss \"{}\": {}", model.loss,
                suggestion(model.loss, losses));
  if (options.batch < 1 || options.image_size < 1 || model.in_channels < 1 ||
      model.num_classes < 1 || model.width.value_or(1) < 1)
    return fail(Errc::invalid_input, "{} needs a batch, an image, channels and classes",
                model.name);
  return {};
}

struct AddFeatures {
  GraphBuilder& builder;
  TensorId images;
  const ModelConfig& model;
  bool training;

  TensorId operator()(ResNetSpec spec) const {
    spec.width = model.width.value_or(spec.width);
    return add_resnet(builder, images, spec, model.stem == "imagenet", training);
  }
  TensorId operator()(CifarResNetSpec spec) const {
    spec.width = model.width.value_or(spec.width);
    return add_cifar_resnet(builder, images, spec, training);
  }
  TensorId operator()(const MlpSpec& spec) const {
    return add_mlp(builder, images, spec.hidden ? model.hidden : std::vector<std::int64_t>{});
  }
};

} // namespace

const std::vector<std::string>& model_names() {
  static const auto names = [] {
    std::vector<std::string> found;
    for (const auto& [name, spec] : specs())
      found.push_back(name);
    return found;
  }();
  return names;
}

Result<Graph> build_model(const ModelConfig& model, const ModelOptions& options) {
  TROUPE_TRY(check(model, options));
  GraphBuilder builder;
  // Inputs come before the first unit is begun: they belong to it.
  const auto images = builder.input(
      "images", {options.batch, options.image_size, options.image_size, model.in_channels});
  const auto labels = builder.target("labels", {options.batch}, DType::i32);
  const auto features =
      std::visit(AddFeatures{builder, images, model, options.training}, specs().at(model.name));
  const auto logits = builder.linear("fc", features, model.num_classes, "logits");
  if (model.loss == "mean_squared_error")
    builder.mean_squared_error("loss", logits, labels);
  else
    builder.softmax_cross_entropy("loss", logits, labels, options.label_smoothing);
  builder.count_correct("correct", logits, labels);
  return std::move(builder).finish();
}

} // namespace troupe::nn
