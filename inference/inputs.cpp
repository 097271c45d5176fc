#include "inference/inputs.hpp"

#include "core/config/data_sets.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "data/image_adapter.hpp"
#include "data/image_files.hpp"
#include "data/table_adapter.hpp"

#include <algorithm>
#include <memory>
#include <optional>

namespace troupe::inference {

namespace {

namespace fs = std::filesystem;

using Paths = std::vector<fs::path>;

Status check_there(std::span<const fs::path> paths) {
  std::error_code ignored;
  for (const auto& path : paths)
    if (!fs::exists(path, ignored))
      return fail(Errc::data, "{}: there is no such file or folder", escaped(path.string()));
  return {};
}

Result<Inputs> open_images(const SavedModel& model, std::span<const fs::path> paths) {
  Paths files;
  std::vector<std::string> notes;
  for (const auto& path : paths) {
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) {
      files.push_back(path);
      continue;
    }
    TROUPE_TRY(auto below, data::image_files_below(path));
    std::ranges::move(below.files, std::back_inserter(files));
    if (const auto text = below.left_out.unread_text(); !text.empty())
      notes.push_back(fmt::format("{}: {}", escaped(path.string()), text));
  }
  const auto& config = model.config;
  data::ImageInfo info{.name = "files",
                       .source = {},
                       .class_names = model.card.class_names,
                       .channels = static_cast<int>(config.model.in_channels)};
  auto augment =
      data::augment_options(config.data, config.model, info, data::Split::test, config.run.seed);
  augment.normalization =
      data::normalization_of(model.card.input->mean, model.card.input->deviation);
  auto name = [shared = std::make_shared<const Paths>(files)](std::int64_t sample) {
    return (*shared)[static_cast<std::size_t>(sample)].string();
  };
  auto images = data::open_image_files(std::move(info), std::move(files));
  return Inputs{std::make_shared<const data::ImageAdapter>(std::move(images), augment),
                std::move(name), std::move(notes)};
}

/// Returns the traits that the weights file records; empty if it lacks the standardization.
std::optional<data::TableTraits> table_traits(const SavedModel& model) {
  const auto& input = model.card.input;
  if (!input)
    return std::nullopt;
  return data::TableTraits{{input->mean, input->deviation}, model.trained_class_names};
}

Result<Inputs> open_tables(const SavedModel& model, std::span<const fs::path> paths) {
  if (!model.card.input)
    return fail(Errc::invalid_input,
                "{} does not record the mean and deviation that standardize its features, so it "
                "can predict only a split of its data set (--split)",
                escaped(model.file.string()));
  std::vector<std::int64_t> rows;
  TROUPE_TRY(auto table, data::open_csv_rows(paths, model.config.data, model.config.model,
                                             *table_traits(model), rows));
  auto name = [files = Paths{paths.begin(), paths.end()}, rows](std::int64_t sample) {
    std::size_t file = 0;
    for (; sample >= rows[file]; ++file)
      sample -= rows[file];
    return fmt::format("{}:{}", files[file].string(), sample + 1);
  };
  return Inputs{std::make_shared<const data::TableAdapter>(std::move(table)), std::move(name)};
}

} // namespace

Result<Inputs> open_inputs(const SavedModel& model, std::span<const fs::path> paths) {
  TROUPE_TRY(check_there(paths));
  return traits_of_data(model.config.data).sample == SampleKind::image ? open_images(model, paths)
                                                                       : open_tables(model, paths);
}

namespace {

/// Whether a split of a table can be opened without its training rows.
bool describes_classes(const SavedModel& model) {
  return traits_of_data(model.config.data).sample == SampleKind::table_row &&
         (model.config.model.loss != LossKind::cross_entropy ||
          std::ssize(model.trained_class_names) == model.config.model.num_classes);
}

Inputs named(data::AdapterPtr adapter, data::Split split) {
  return {std::move(adapter), [split](std::int64_t sample) {
            return fmt::format("{}:{}", data::to_string(split), sample);
          }};
}

} // namespace

Result<Inputs> open_split(const SavedModel& model, data::Split split) {
  auto config = model.config;
  config.data.augment.clear();
  config.model.dropout = 0;            // batches without its keys
  config.data.skip_unreadable = false; // predict reports the error of each sample
  if (const auto traits = table_traits(model); traits && describes_classes(model)) {
    TROUPE_TRY(auto table, data::open_csv(config.data, config.model, split, traits));
    return named(std::make_shared<const data::TableAdapter>(std::move(table)), split);
  }
  TROUPE_TRY(auto adapter, data::open_adapter(config, split));
  return named(std::move(adapter), split);
}

} // namespace troupe::inference
