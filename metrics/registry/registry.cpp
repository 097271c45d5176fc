#include "registry.hpp"

#include "names.hpp"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <cmath>
#include <initializer_list>
#include <mutex>

namespace troupe::metrics {

namespace {

/// Seconds, from a step on a large GPU to one of a large model on few cores.
constexpr std::initializer_list<double> step_buckets = {
    0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15,
    0.2,   0.3,    0.5,   0.75, 1,    2.5,  5,    10,    30};
constexpr std::initializer_list<double> checkpoint_buckets = {0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,
                                                              2.5,  5,     10,   30,  60,   120};

/// The values for a name's labels, in their order.
prometheus::Labels labels(const MetricName& metric, std::initializer_list<std::string> values) {
  prometheus::Labels result;
  std::size_t i = 0;
  for (const auto& value : values)
    result.emplace(metric.labels[i++], value);
  return result;
}

/// A counter of ours that follows a total counted elsewhere.
void raise_to(prometheus::Counter& counter, double total) {
  if (const auto missing = total - counter.Value(); missing > 0)
    counter.Increment(missing);
}

/// A counter to which a NaN or an infinity was added would keep it.
void add(prometheus::Family<prometheus::Counter>& counters, double amount) {
  if (std::isfinite(amount) && amount > 0)
    counters.Add({}).Increment(amount);
}

void set(prometheus::Family<prometheus::Gauge>& gauges, double value) {
  gauges.Add({}).Set(value);
}

prometheus::Histogram& only(prometheus::Family<prometheus::Histogram>& histograms,
                            std::initializer_list<double> buckets) {
  return histograms.Add({}, prometheus::Histogram::BucketBoundaries(buckets));
}

} // namespace

struct Registry::Values {
  using Gauges = prometheus::Family<prometheus::Gauge>;
  using Counters = prometheus::Family<prometheus::Counter>;
  using Histograms = prometheus::Family<prometheus::Histogram>;

  prometheus::Registry registry;
  std::mutex changing_phase; ///< nobody reads two phases, or none

  Gauges& gauges(const MetricName& metric) {
    return prometheus::BuildGauge()
        .Name(std::string(metric.name))
        .Help(std::string(metric.help))
        .Register(registry);
  }
  Counters& counters(const MetricName& metric) {
    return prometheus::BuildCounter()
        .Name(std::string(metric.name))
        .Help(std::string(metric.help))
        .Register(registry);
  }
  Histograms& histograms(const MetricName& metric) {
    return prometheus::BuildHistogram()
        .Name(std::string(metric.name))
        .Help(std::string(metric.help))
        .Register(registry);
  }

  Gauges& build_info = gauges(names::build_info);
  Gauges& run_info = gauges(names::run_info);
  Gauges& phase = gauges(names::phase);
  Gauges& last_error = gauges(names::last_error);
  Gauges& ready = gauges(names::ready);
  Gauges& start_time = gauges(names::start_time);
  Gauges& world_size = gauges(names::world_size);

  Gauges& loss = gauges(names::loss);
  Gauges& accuracy = gauges(names::accuracy);
  Gauges& learning_rate = gauges(names::learning_rate);
  Gauges& epoch = gauges(names::epoch);
  Gauges& step = gauges(names::step);
  Gauges& last_step = gauges(names::last_step);

  Counters& steps = counters(names::steps);
  Counters& samples = counters(names::samples);
  Histograms& step_time = histograms(names::step_time);
  Counters& data_wait = counters(names::data_wait);
  Counters& unreadable_samples = counters(names::unreadable_samples);
  Counters& collective_bytes = counters(names::collective_bytes);
  Counters& collective_time = counters(names::collective_time);
  Gauges& overlap = gauges(names::overlap);
  Gauges& loss_scale = gauges(names::loss_scale);
  Counters& skipped_steps = counters(names::skipped_steps);
  Counters& scale_growths = counters(names::scale_growths);

  Gauges& memory = gauges(names::memory);
  Gauges& memory_peak = gauges(names::memory_peak);
  Gauges& memory_total = gauges(names::memory_total);
  Gauges& memory_total_peak = gauges(names::memory_total_peak);
  Gauges& busy = gauges(names::busy);

  Gauges& mailbox_size = gauges(names::mailbox_size);
  Counters& mailbox_messages = counters(names::mailbox_messages);
  Counters& mailbox_time = counters(names::mailbox_time);
  Counters& processing_time = counters(names::processing_time);

  Counters& checkpoints = counters(names::checkpoints);
  Counters& checkpoint_failures = counters(names::checkpoint_failures);
  Histograms& checkpoint_time = histograms(names::checkpoint_time);
  Gauges& checkpoint_step = gauges(names::checkpoint_step);
};

Registry::Registry(const RunInfo& run, bool leads)
    : values_(std::make_unique<Values>()), leads_(leads) {
  auto& v = *values_;
  v.build_info.Add(labels(names::build_info, {run.version})).Set(1);
  v.run_info
      .Add(labels(names::run_info, {run.name, run.model, run.dataset,
                                    std::string{to_string(run.strategy)}, run.precision}))
      .Set(1);
  v.unreadable_samples.Add({});
  if (!leads)
    return;
  for (auto* counters :
       {&v.steps, &v.samples, &v.data_wait, &v.collective_bytes, &v.collective_time,
        &v.skipped_steps, &v.scale_growths, &v.checkpoints, &v.checkpoint_failures})
    counters->Add({});
  only(v.step_time, step_buckets);
  only(v.checkpoint_time, checkpoint_buckets);
}

Registry::~Registry() = default;

void Registry::begin(const RunInfo& run) {
  auto& v = *values_;
  set(v.start_time, std::chrono::duration<double>(run.started.time_since_epoch()).count());
  set(v.world_size, run.world_size);
  if (!leads_)
    return;
  set(v.step, static_cast<double>(run.first_step));
  set(v.last_step, static_cast<double>(run.total_steps));
}

void Registry::record(const StepRecord& step) {
  auto& v = *values_;
  v.loss.Add(labels(names::loss, {"train"})).Set(step.loss);
  if (step.accuracy)
    v.accuracy.Add(labels(names::accuracy, {"train"})).Set(*step.accuracy);
  set(v.learning_rate, step.lr);
  set(v.epoch, static_cast<double>(step.epoch + 1));
  set(v.step, static_cast<double>(step.step + 1));
  add(v.steps, 1);
  add(v.samples, static_cast<double>(step.samples));
  only(v.step_time, step_buckets).Observe(step.seconds);
  add(v.data_wait, step.data_wait_seconds);
  add(v.collective_bytes, static_cast<double>(step.collective_bytes));
  add(v.collective_time, step.collective_seconds);
  set(v.overlap, step.overlap_ratio);
  set(v.loss_scale, step.loss_scale.value_or(1));
  raise_to(v.skipped_steps.Add({}), static_cast<double>(step.skipped_steps));
  raise_to(v.scale_growths.Add({}), static_cast<double>(step.scale_growths));
}

void Registry::record(const EpochRecord& epoch) {
  auto& v = *values_;
  if (epoch.test_loss)
    v.loss.Add(labels(names::loss, {"test"})).Set(*epoch.test_loss);
  if (epoch.test_accuracy)
    v.accuracy.Add(labels(names::accuracy, {"test"})).Set(*epoch.test_accuracy);
}

void Registry::record(const WorkerSummary& worker) {
  auto& v = *values_;
  const auto rank = std::to_string(worker.rank);
  for (std::size_t i = 0; i < memory_kinds; ++i) {
    const std::string kind{to_string(static_cast<MemoryKind>(i))};
    v.memory.Add(labels(names::memory, {rank, kind}))
        .Set(static_cast<double>(worker.memory.current[i]));
    v.memory_peak.Add(labels(names::memory_peak, {rank, kind}))
        .Set(static_cast<double>(worker.memory.peak[i]));
  }
  v.memory_total.Add(labels(names::memory_total, {rank}))
      .Set(static_cast<double>(worker.memory.total));
  v.memory_total_peak.Add(labels(names::memory_total_peak, {rank}))
      .Set(static_cast<double>(worker.memory.total_peak));
  v.busy.Add(labels(names::busy, {rank})).Set(worker.busy_ratio);
}

void Registry::record(const MailboxSample& sample) {
  auto& v = *values_;
  v.mailbox_size.Add(labels(names::mailbox_size, {sample.actor}))
      .Set(static_cast<double>(sample.size));
  raise_to(v.mailbox_messages.Add(labels(names::mailbox_messages, {sample.actor})),
           static_cast<double>(sample.messages));
  raise_to(v.mailbox_time.Add(labels(names::mailbox_time, {sample.actor})), sample.seconds);
  raise_to(v.processing_time.Add(labels(names::processing_time, {sample.actor})),
           sample.processing_seconds);
}

void Registry::record_unreadable(std::int64_t samples) {
  raise_to(values_->unreadable_samples.Add({}), static_cast<double>(samples));
}

void Registry::record_checkpoint(std::int64_t step, double seconds) {
  add(values_->checkpoints, 1);
  only(values_->checkpoint_time, checkpoint_buckets).Observe(seconds);
  set(values_->checkpoint_step, static_cast<double>(step));
}

void Registry::record_checkpoint_failure() {
  add(values_->checkpoint_failures, 1);
}

void Registry::record_failed_loss(double loss) {
  values_->loss.Add(labels(names::loss, {"train"})).Set(loss);
}

void Registry::set_phase(JobPhase phase) {
  auto& v = *values_;
  const std::lock_guard lock{v.changing_phase};
  for (const auto name : job_phase_names)
    v.phase.Add(labels(names::phase, {std::string{name}})).Set(name == to_string(phase) ? 1 : 0);
  set(v.ready, is_at_work(phase) ? 1 : 0);
}

void Registry::record_failure(std::string_view kind) {
  values_->last_error.Add(labels(names::last_error, {std::string{kind}})).Set(1);
}

std::string Registry::text() const {
  const std::lock_guard lock{values_->changing_phase};
  return prometheus::TextSerializer{}.Serialize(values_->registry.Collect());
}

} // namespace troupe::metrics
