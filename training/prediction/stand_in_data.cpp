#include "training/prediction/stand_in_data.hpp"

#include "core/config/custom_data_set.hpp"
#include "core/config/data_sets.hpp"
#include "core/device/dropout_math.hpp"
#include "core/fail.hpp"
#include "data/adapter.hpp"
#include "data/tokenizer/open.hpp"
#include "data/tokens/token_dataset.hpp"
#include "nn/models/input.hpp"

#include <utility>

namespace troupe::training {

namespace {

constexpr std::int64_t image_steps = 2; ///< per epoch; labels of synthetic images take memory
constexpr std::int64_t other_steps = 1000;

class SizedDataset final : public data::Dataset {
public:
  explicit SizedDataset(std::int64_t size) : size_{size} {}

  std::string_view name() const override { return "stand-in"; }
  const std::vector<std::string>& class_names() const override { return no_classes_; }
  std::int64_t size() const override { return size_; }

private:
  void add_content(Sha256&) const override {}

  std::int64_t size_;
  std::vector<std::string> no_classes_;
};

class SizedAdapter final : public data::Adapter {
public:
  SizedAdapter(std::vector<data::Field> fields, std::int64_t samples)
      : Adapter{std::move(fields)}, dataset_{samples} {}

  const data::Dataset& dataset() const override { return dataset_; }
  std::string_view sample_name() const override { return "samples"; }
  Status fill(std::span<const std::int64_t>, std::int64_t, data::Fields) const override {
    return fail(Errc::internal, "a stand-in for a data set has no samples to read");
  }

private:
  SizedDataset dataset_;
};

data::Field target_of(const nn::InputSpec& input, const ModelConfig& model) {
  if (input.target_kind == nn::TargetKind::values)
    return {input.target, DType::f32, {model.num_classes}};
  return {input.target, DType::i32, input.vocabulary > 0 ? input.sample : Shape{}};
}

std::vector<data::Field> fields_of(const Config& config, data::Split split) {
  const auto input = nn::input_spec(config);
  const bool tokens = input.vocabulary > 0;
  std::vector<data::Field> fields = {{input.name, tokens ? DType::i32 : DType::f32, input.sample},
                                     target_of(input, config.model)};
  if (tokens && split == data::Split::train && config.model.dropout > 0)
    fields.push_back({dropout_keys_name, DType::i32, {dropout_key_words}});
  return fields;
}

/// A missing tokenizer is not an error: model.vocabulary gives its size.
Status check_tokenizer(const Config& config) {
  const auto tokenizer =
      data::open_tokenizer(config.data.tokenizer.path, config.data.tokenizer.split);
  return tokenizer ? data::check_vocabulary((*tokenizer)->vocabulary_size(), config) : Status{};
}

Result<data::AdapterPtr> open_stand_in(const Config& config, data::Split split) {
  if (traits_of_data(config.data).sample == SampleKind::tokens)
    TROUPE_TRY(check_tokenizer(config));
  return std::make_shared<const SizedAdapter>(fields_of(config, split),
                                              other_steps * config.data.batch_size);
}

} // namespace

Config without_data(Config config) {
  auto& data = config.data;
  data.limit.reset();
  if (traits_of_data(data).sample == SampleKind::image) {
    data.dataset = "synthetic";
    data.residency = Residency::host;
    data.limit = image_steps * data.batch_size;
    return config;
  }
  const auto* const own = custom_data_set(data);
  auto stand_in = own ? *own : CustomDataSet{.traits = traits_of_data(data)};
  stand_in.open = open_stand_in;
  data.custom_sets = CustomRows{std::vector{stand_in}};
  return config;
}

} // namespace troupe::training
