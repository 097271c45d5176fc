#include "data/check.hpp"

#include "core/config/config.hpp"
#include "core/fail.hpp"
#include "core/threads.hpp"
#include "data/image_adapter.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace troupe::data {

namespace {

/// A sample that was read successfully.
struct Seen {
  std::int32_t label = -1; ///< below 0: no class
  std::optional<Extent> extent = {};
  std::string damage = {};
};

/// Reads one sample; not thread-safe.
using SampleReader = std::function<Result<Seen>(std::int64_t)>;

SampleReader read_pixels(const ImageDataset& images) {
  return [&images,
          pixels = std::vector<std::uint8_t>{}](std::int64_t sample) mutable -> Result<Seen> {
    TROUPE_TRY(auto image, images.read(sample, pixels));
    return Seen{images.label(sample), Extent{image.height, image.width}, std::move(image.damage)};
  };
}

/// Reads samples that are not images, in the form of a model's input.
SampleReader read_fields(const Adapter& adapter) {
  std::vector<std::vector<std::byte>> memory;
  for (const auto& field : adapter.fields())
    memory.emplace_back(field.bytes());
  return [&adapter, memory = std::move(memory)](std::int64_t sample) mutable -> Result<Seen> {
    const std::vector<std::span<std::byte>> fields{memory.begin(), memory.end()};
    TROUPE_TRY(adapter.fill({&sample, 1}, 0, fields));
    Seen seen;
    for (std::size_t i = 0; i < memory.size(); ++i)
      if (adapter.fields()[i].name == "labels")
        std::memcpy(&seen.label, memory[i].data(), sizeof seen.label);
    return seen;
  };
}

/// Collects the results of all threads.
class Findings {
public:
  explicit Findings(SplitCheck& check) : check_{check} {}

  void add(std::int64_t sample, const Result<Seen>& seen) {
    const std::lock_guard lock{mutex_};
    if (!seen) {
      unreadable_.emplace(sample, seen.error().message);
      return;
    }
    if (!seen->damage.empty())
      damaged_.emplace(sample, seen->damage);
    if (const auto label = static_cast<std::size_t>(seen->label);
        seen->label >= 0 && label < check_.per_class.size())
      ++check_.per_class[label];
    if (const auto& extent = seen->extent) {
      auto& least = check_.least ? *check_.least : check_.least.emplace(*extent);
      auto& largest = check_.largest ? *check_.largest : check_.largest.emplace(*extent);
      least = {std::min(least.height, extent->height), std::min(least.width, extent->width)};
      largest = {std::max(largest.height, extent->height), std::max(largest.width, extent->width)};
    }
  }

  /// Writes the messages to the check. Call it after all samples are read.
  void finish() {
    for (auto& [sample, message] : unreadable_)
      check_.unreadable.push_back(std::move(message));
    for (auto& [sample, message] : damaged_)
      check_.damaged.push_back(std::move(message));
  }

private:
  SplitCheck& check_;
  std::mutex mutex_;
  std::map<std::int64_t, std::string> unreadable_, damaged_; ///< in the data set's order
};

} // namespace

Result<SplitCheck> check_split(const Config& config, Split split) {
  TROUPE_TRY(const auto adapter, open_adapter(config, split));
  const auto& dataset = adapter->dataset();
  SplitCheck check{.split = split,
                   .sample_name = std::string{adapter->sample_name()},
                   .samples = dataset.size(),
                   .class_names = dataset.class_names()};
  check.left_out = dataset.left_out();
  if (const auto* const images = adapter->images()) {
    check.source = images->source()->info().source;
    check.normalization = images->augment().options().normalization;
  }
  check.per_class.resize(check.class_names.size());
  Findings findings{check};
  std::atomic<std::int64_t> next = 0;
  TROUPE_TRY(expect_threads(static_cast<int>(config.data.loader_threads)));
  {
    std::vector<std::jthread> threads;
    for (std::int64_t i = 0; i < config.data.loader_threads; ++i)
      threads.emplace_back([&] {
        const auto* const images = adapter->images();
        const auto read = images ? read_pixels(*images->source()) : read_fields(*adapter);
        for (std::int64_t sample; (sample = next++) < check.samples;)
          findings.add(sample, read(sample));
      });
  }
  findings.finish();
  return check;
}

} // namespace troupe::data
