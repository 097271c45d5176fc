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

namespace troupe::metrics {

namespace {

/// From a step on a large GPU to one of a large model on few cores.
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

/// A counter that was given something else than a number would stay that way.
void add(prometheus::Counter& counter, double amount) {
  if (std::isfinite(amount) && amount > 0)
    counter.Increment(amount);
}

} // namespace

struct Registry::Values {
  using Gauges = prometheus::Family<prometheus::Gauge>;
  using Counters = prometheus::Family<prometheus::Counter>;

  prometheus::Registry registry;

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
  prometheus::Gauge& gauge(const MetricName& metric) { return gauges(metric).Add({}); }
  prometheus::Counter& counter(const MetricName& metric) { return counters(metric).Add({}); }
  prometheus::Histogram& histogram(const MetricName& metric,
                                   std::initializer_list<double> buckets) {
    return prometheus::BuildHistogram()
        .Name(std::string(metric.name))
        .Help(std::string(metric.help))
        .Register(registry)
        .Add({}, prometheus::Histogram::BucketBoundaries(buckets));
  }

  Gauges& build_info = gauges(names::build_info);
  Gauges& run_info = gauges(names::run_info);
  prometheus::Gauge& ready = gauge(names::ready);
  prometheus::Gauge& start_time = gauge(names::start_time);
  prometheus::Gauge& world_size = gauge(names::world_size);

  Gauges& loss = gauges(names::loss);
  Gauges& accuracy = gauges(names::accuracy);
  prometheus::Gauge& learning_rate = gauge(names::learning_rate);
  prometheus::Gauge& epoch = gauge(names::epoch);
  prometheus::Gauge& step = gauge(names::step);
  prometheus::Gauge& last_step = gauge(names::last_step);

  prometheus::Counter& steps = counter(names::steps);
  prometheus::Counter& samples = counter(names::samples);
  prometheus::Histogram& step_time = histogram(names::step_time, step_buckets);
  prometheus::Counter& data_wait = counter(names::data_wait);
  prometheus::Counter& collective_bytes = counter(names::collective_bytes);
  prometheus::Counter& collective_time = counter(names::collective_time);
  prometheus::Gauge& overlap = gauge(names::overlap);
  prometheus::Gauge& loss_scale = gauge(names::loss_scale);
  prometheus::Counter& skipped_steps = counter(names::skipped_steps);
  prometheus::Counter& scale_growths = counter(names::scale_growths);

  Gauges& memory = gauges(names::memory);
  Gauges& memory_peak = gauges(names::memory_peak);
  Gauges& memory_total = gauges(names::memory_total);
  Gauges& memory_total_peak = gauges(names::memory_total_peak);
  Gauges& busy = gauges(names::busy);

  Gauges& mailbox_size = gauges(names::mailbox_size);
  Counters& mailbox_messages = counters(names::mailbox_messages);
  Counters& mailbox_time = counters(names::mailbox_time);
  Counters& processing_time = counters(names::processing_time);

  prometheus::Counter& checkpoints = counter(names::checkpoints);
  prometheus::Counter& checkpoint_failures = counter(names::checkpoint_failures);
  prometheus::Histogram& checkpoint_time = histogram(names::checkpoint_time, checkpoint_buckets);
  prometheus::Gauge& checkpoint_step = gauge(names::checkpoint_step);
};

Registry::Registry(const RunInfo& run) : values_(std::make_unique<Values>()) {
  auto& v = *values_;
  v.build_info.Add(labels(names::build_info, {run.version})).Set(1);
  v.run_info
      .Add(labels(names::run_info, {run.name, run.model, run.dataset, run.strategy, run.precision}))
      .Set(1);
  v.start_time.Set(std::chrono::duration<double>(run.started.time_since_epoch()).count());
  v.world_size.Set(run.world_size);
  v.step.Set(static_cast<double>(run.first_step));
  v.last_step.Set(static_cast<double>(run.total_steps));
}

Registry::~Registry() = default;

void Registry::record(const StepRecord& step) {
  auto& v = *values_;
  v.loss.Add(labels(names::loss, {"train"})).Set(step.loss);
  v.accuracy.Add(labels(names::accuracy, {"train"})).Set(step.accuracy);
  v.learning_rate.Set(step.lr);
  v.epoch.Set(static_cast<double>(step.epoch + 1));
  v.step.Set(static_cast<double>(step.step + 1));
  v.steps.Increment();
  add(v.samples, static_cast<double>(step.samples));
  v.step_time.Observe(step.seconds);
  add(v.data_wait, step.data_wait_seconds);
  add(v.collective_bytes, static_cast<double>(step.collective_bytes));
  add(v.collective_time, step.collective_seconds);
  v.overlap.Set(step.overlap_ratio);
  v.loss_scale.Set(step.loss_scale.value_or(1));
  raise_to(v.skipped_steps, static_cast<double>(step.skipped_steps));
  raise_to(v.scale_growths, static_cast<double>(step.scale_growths));
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

void Registry::record_checkpoint(std::int64_t step, double seconds) {
  values_->checkpoints.Increment();
  values_->checkpoint_time.Observe(seconds);
  values_->checkpoint_step.Set(static_cast<double>(step));
}

void Registry::record_checkpoint_failure() {
  values_->checkpoint_failures.Increment();
}

void Registry::set_ready(bool ready) {
  values_->ready.Set(ready ? 1 : 0);
}

std::string Registry::text() const {
  return prometheus::TextSerializer{}.Serialize(values_->registry.Collect());
}

} // namespace troupe::metrics
