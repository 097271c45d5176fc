#include "inference/predict.hpp"

#include "core/fail.hpp"
#include "data/image_adapter.hpp"
#include "data/table_dataset.hpp"
#include "training/sampling/sampling.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>

namespace troupe::inference {

namespace {

/// Batch buffers: one batch is computed while the others are filled.
constexpr std::int64_t most_slots = 4;
constexpr std::size_t top5 = 5;

/// Returns the class of a sample; empty if it has none.
std::optional<std::int32_t> label_of(const data::Dataset& dataset, std::int64_t sample) {
  std::optional<std::int32_t> label;
  if (const auto* const images = dynamic_cast<const data::ImageDataset*>(&dataset))
    label = images->label(sample);
  else if (const auto* const table = dynamic_cast<const data::TableDataset*>(&dataset);
           table && !table->class_names().empty())
    label = static_cast<std::int32_t>(table->targets(sample)[0]);
  return label && *label >= 0 ? label : std::nullopt;
}

/// Reads each sample separately. An unreadable one becomes padding, and its error is kept. Training
/// handles such files differently: its batches must be the same for any number of workers, so an
/// unreadable sample is replaced and counted (data/file_notes.hpp).
class TolerantAdapter final : public data::Adapter {
public:
  explicit TolerantAdapter(data::AdapterPtr of) : Adapter{of->fields()}, of_{std::move(of)} {}

  const data::Dataset& dataset() const override { return of_->dataset(); }
  std::string_view sample_name() const override { return of_->sample_name(); }
  Status fill(std::span<const std::int64_t> samples, std::int64_t epoch,
              data::Fields to) const override;

  /// Returns the sample's error, and forgets it.
  std::optional<Error> take_error(std::int64_t sample) const;

private:
  Status fill_one(std::int64_t sample, std::int64_t epoch, data::Fields to) const;

  data::AdapterPtr of_;
  mutable std::mutex mutex_;
  mutable std::map<std::int64_t, Error> errors_; ///< by sample
};

Status TolerantAdapter::fill(std::span<const std::int64_t> samples, std::int64_t epoch,
                             data::Fields to) const {
  std::vector<std::span<std::byte>> one(to.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    for (std::size_t field = 0; field < to.size(); ++field) {
      const auto bytes = fields()[field].bytes();
      one[field] = to[field].subspan(i * bytes, bytes);
    }
    if (auto filled = fill_one(samples[i], epoch, one); !filled)
      return filled;
  }
  return {};
}

Status TolerantAdapter::fill_one(std::int64_t sample, std::int64_t epoch, data::Fields to) const {
  auto filled = of_->fill({&sample, 1}, epoch, to);
  if (filled)
    return filled;
  {
    const std::lock_guard lock{mutex_};
    errors_.insert_or_assign(sample, std::move(filled).error());
  }
  constexpr std::int64_t padding = -1;
  return of_->fill({&padding, 1}, epoch, to);
}

std::optional<Error> TolerantAdapter::take_error(std::int64_t sample) const {
  const std::lock_guard lock{mutex_};
  auto taken = errors_.extract(sample);
  return taken ? std::optional{std::move(taken.mapped())} : std::nullopt;
}

/// The first failure of filling batches, on any stream.
class FirstFailure {
public:
  void set(Error error) {
    const std::lock_guard lock{mutex_};
    if (!error_)
      error_ = std::move(error);
  }
  Status status() {
    const std::lock_guard lock{mutex_};
    return error_ ? Status{failure(*error_)} : Status{};
  }

private:
  std::mutex mutex_;
  std::optional<Error> error_;
};

class PredictionRun {
public:
  PredictionRun(Predictor& predictor, const data::AdapterPtr& adapter, std::int64_t top,
                const OnPrediction& each)
      : predictor_{predictor}, adapter_{adapter}, dataset_{adapter->dataset()},
        top_{static_cast<std::size_t>(std::min(top, predictor.outputs()))}, each_{each},
        steps_{(dataset_.size() + predictor.batch() - 1) / predictor.batch()},
        order_(static_cast<std::size_t>(predictor.outputs())) {
    score_.samples = dataset_.size();
  }

  PredictionRun(const PredictionRun&) = delete;
  PredictionRun& operator=(const PredictionRun&) = delete;
  ~PredictionRun() { predictor_.drain(); }

  Result<Score> run();

private:
  Status open();
  void fill(std::int64_t step);
  Status ask(std::int64_t step) {
    return predictor_.ask(batches_[static_cast<std::size_t>(step % producer_->slots())],
                          answers_[static_cast<std::size_t>(step % 2)]);
  }
  Status take(std::int64_t step);
  Status take_sample(std::int64_t sample, std::span<const float> outputs);
  /// Returns the indices of the largest outputs, largest first; equal outputs are ordered by index.
  std::span<const std::int32_t> rank(std::span<const float> outputs);

  Predictor& predictor_;
  data::AdapterPtr adapter_;
  const data::Dataset& dataset_;
  std::shared_ptr<const TolerantAdapter> tolerant_; ///< null if the whole data set is in memory
  std::size_t top_;
  const OnPrediction& each_;
  std::int64_t steps_;
  FirstFailure failure_;
  std::shared_ptr<training::BatchProducer> producer_;
  std::vector<training::MicroBatch> batches_; ///< by slot
  std::array<Answer, 2> answers_;
  std::vector<std::int32_t> order_;
  Score score_;
};

/// A data set of images of one size is in memory: all its samples can be read, and a device may
/// copy the whole set.
Status PredictionRun::open() {
  if (!data::may_augment_on_device(*adapter_)) {
    tolerant_ = std::make_shared<const TolerantAdapter>(adapter_);
    adapter_ = tolerant_;
  }
  TROUPE_TRY(producer_, predictor_.make_producer(adapter_, std::min(steps_, most_slots)));
  batches_.resize(static_cast<std::size_t>(producer_->slots()));
  return {};
}

void PredictionRun::fill(std::int64_t step) {
  if (step >= steps_)
    return;
  const auto slot = static_cast<std::int32_t>(step % producer_->slots());
  batches_[static_cast<std::size_t>(slot)] =
      producer_->fill(slot, {0, step}, {}, [this](Error error) { failure_.set(std::move(error)); });
}

Result<Score> PredictionRun::run() {
  if (steps_ == 0)
    return score_;
  TROUPE_TRY(open());
  for (std::int64_t step = 0; step < producer_->slots(); ++step)
    fill(step);
  TROUPE_TRY(ask(0));
  for (std::int64_t step = 0; step < steps_; ++step) {
    const auto finished = predictor_.finish();
    TROUPE_TRY(failure_.status());
    TROUPE_TRY(finished);
    fill(step + producer_->slots());
    if (step + 1 < steps_)
      TROUPE_TRY(ask(step + 1));
    TROUPE_TRY(take(step));
  }
  return score_;
}

Status PredictionRun::take(std::int64_t step) {
  const auto& answer = answers_[static_cast<std::size_t>(step % 2)];
  if (const auto counted = std::llround(answer.sums["loss.counted"]); counted > 0) {
    score_.counted += counted;
    score_.loss_sum += static_cast<double>(answer.sums["loss"]) * static_cast<double>(counted);
    if (const auto correct = answer.sums.find("correct"))
      score_.correct = score_.correct.value_or(0) + std::llround(*correct);
  }
  const auto outputs = static_cast<std::size_t>(predictor_.outputs());
  const auto first = step * predictor_.batch();
  const auto count = std::min(predictor_.batch(), dataset_.size() - first);
  for (std::int64_t i = 0; i < count; ++i)
    TROUPE_TRY(take_sample(first + i, std::span{answer.logits}.subspan(
                                          static_cast<std::size_t>(i) * outputs, outputs)));
  return {};
}

Status PredictionRun::take_sample(std::int64_t sample, std::span<const float> outputs) {
  if (tolerant_)
    if (auto error = tolerant_->take_error(sample)) {
      ++score_.unreadable;
      return each_({.sample = sample, .outputs = {}, .ranked = {}, .error = std::move(error)});
    }
  const auto ranked = rank(outputs);
  const bool can_miss = outputs.size() > top5; // else any label is among the first five
  if (const auto label = label_of(dataset_, sample); label && can_miss)
    score_.correct_top5 = score_.correct_top5.value_or(0) +
                          (std::ranges::count(ranked.first(top5), *label) > 0 ? 1 : 0);
  return each_({.sample = sample, .outputs = outputs, .ranked = ranked.first(top_)});
}

std::span<const std::int32_t> PredictionRun::rank(std::span<const float> outputs) {
  std::iota(order_.begin(), order_.end(), 0);
  const auto wanted = static_cast<std::ptrdiff_t>(std::min(std::max(top_, top5), order_.size()));
  std::partial_sort(order_.begin(), order_.begin() + wanted, order_.end(),
                    [&](std::int32_t a, std::int32_t b) {
                      return training::is_likelier(outputs[static_cast<std::size_t>(a)], a,
                                                   outputs[static_cast<std::size_t>(b)], b);
                    });
  return std::span{order_}.first(static_cast<std::size_t>(wanted));
}

} // namespace

Result<Score> predict(Predictor& predictor, const data::AdapterPtr& adapter, std::int64_t top,
                      const OnPrediction& each) {
  return PredictionRun{predictor, adapter, top, each}.run();
}

} // namespace troupe::inference
