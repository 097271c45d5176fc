#include "metrics/live/live_run.hpp"

#include "metrics/log_sink.hpp"
#include "metrics/time_stamp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe::metrics {

namespace {

using namespace std::chrono_literals;
using Part = DocumentPart;

std::size_t index_of(DocumentPart part) {
  return static_cast<std::size_t>(part);
}

/// The time of the commit on the steady clock; `now` if unknown.
StepCut::Moment moment_of_commit(const StepRecord& step) {
  const auto now = LiveRun::Clock::now().time_since_epoch();
  const auto ago = std::chrono::system_clock::now() - step.time;
  return ago > 0s && ago < 10s ? now - std::chrono::duration_cast<StepCut::Moment>(ago) : now;
}

LogLine line_of(const spdlog::details::log_msg& message) {
  const auto level = spdlog::level::to_string_view(message.level);
  return {.time = message.time,
          .level = {level.data(), level.size()},
          .text = {message.payload.data(), message.payload.size()}};
}

/// Activity of a role since the previous sample.
ActorRecord record_of(const MailboxSample& sample, const MailboxSample* before, double seconds) {
  ActorRecord actor{.name = sample.actor,
                    .count = sample.count,
                    .waiting = sample.size,
                    .messages = sample.messages};
  if (before && seconds > 0) {
    actor.messages_per_second = static_cast<double>(sample.messages - before->messages) / seconds;
    actor.busy_ratio = (sample.processing_seconds - before->processing_seconds) /
                       (seconds * static_cast<double>(sample.count));
  }
  return actor;
}

} // namespace

LiveRun::LiveRun(const RunInfo& run) {
  document_.status = to_string(JobPhase::waiting);
  document_.run = run;
  document_.history.progress.begin(run);
  changed_.set();
  stale_.set();
}

spdlog::sink_ptr LiveRun::log_sink() {
  auto sink = std::make_shared<LogSink>([this](const auto& message) { add(line_of(message)); });
  sink->set_level(spdlog::level::info);
  return sink;
}

void LiveRun::show_timeline_of(const Trace& trace) {
  const std::lock_guard lock{mutex_};
  trace_ = trace;
  trace_.watch(watched_);
}

void LiveRun::set_config(std::string_view yaml) {
  const std::lock_guard lock{mutex_};
  document_.config = yaml;
  touch({Part::config});
}

void LiveRun::begin(const RunInfo& run, const RunHistory& before, std::int64_t generation) {
  const std::lock_guard lock{mutex_};
  document_.history = before;
  changed_from_ = 0;
  touch({Part::steps, Part::epochs, Part::step_seconds, Part::recoveries, Part::generated});
  show(run, generation);
}

void LiveRun::go_on(const RunInfo& run, std::int64_t generation) {
  const std::lock_guard lock{mutex_};
  show(run, generation);
}

void LiveRun::end_generation() {
  const std::lock_guard lock{mutex_};
  forget_generation();
}

void LiveRun::forget_generation() {
  document_.workers.clear();
  document_.nodes.clear();
  document_.leads = true;
  heard_.clear();
  touch({Part::workers, Part::nodes, Part::leads});
}

void LiveRun::show(const RunInfo& run, std::int64_t generation) {
  forget_generation();
  document_.run = run;
  document_.history.progress.begin(run);
  document_.generation = generation;
  touch({Part::run, Part::progress, Part::generation});
}

void LiveRun::enter(JobPhase phase) {
  const std::lock_guard lock{mutex_};
  document_.status = to_string(phase);
  ended_ = has_ended(phase);
  if (phase == JobPhase::training)
    cut_.begin(Clock::now().time_since_epoch());
  else
    cut_.stop();
  touch({Part::status});
}

void LiveRun::record(const StepRecord& step) {
  const std::lock_guard lock{mutex_};
  raise_peak(step.peak_operations);
  changed_from_ = std::min(changed_from_, document_.history.add(step));
  if (watched_)
    cut_.commit(step.step, moment_of_commit(step));
  touch({Part::progress, Part::steps, Part::step_seconds});
}

void LiveRun::record_steps(std::int64_t steps) {
  const std::lock_guard lock{mutex_};
  if (steps == document_.history.progress.now().steps)
    return;
  document_.history.progress.note_steps(steps);
  if (watched_)
    cut_.commit(steps - 1, Clock::now().time_since_epoch());
  touch({Part::progress});
}

void LiveRun::record(const RecoveryRecord& recovery) {
  const std::lock_guard lock{mutex_};
  document_.history.add(recovery);
  touch({Part::recoveries});
}

void LiveRun::record(const GeneratedRecord& generated) {
  const std::lock_guard lock{mutex_};
  document_.history.add(generated);
  touch({Part::generated});
}

void LiveRun::record(const EpochRecord& epoch) {
  const std::lock_guard lock{mutex_};
  document_.history.add(epoch);
  touch({Part::progress, Part::epochs});
}

void LiveRun::record(const WorkerSummary& worker) {
  const std::lock_guard lock{mutex_};
  auto& workers = document_.workers;
  const auto place = std::ranges::lower_bound(workers, worker.rank, {}, &WorkerSummary::rank);
  if (place != workers.end() && place->rank == worker.rank)
    *place = worker;
  else
    workers.insert(place, worker);
  touch({Part::workers});
}

void LiveRun::record(const std::vector<MailboxSample>& actors) {
  const std::lock_guard lock{mutex_};
  const auto now = Clock::now();
  const auto seconds = std::chrono::duration<double>(now - std::exchange(sampled_, now)).count();
  document_.actors.clear();
  for (const auto& sample : actors) {
    const auto before = mailboxes_.find(sample.actor);
    document_.actors.push_back(
        record_of(sample, before != mailboxes_.end() ? &before->second : nullptr, seconds));
    mailboxes_[sample.actor] = sample;
  }
  touch({Part::actors});
}

void LiveRun::record(const CheckpointRecord& checkpoint) {
  const std::lock_guard lock{mutex_};
  touch({Part::checkpoints});
  auto& totals = document_.checkpoints;
  if (checkpoint.failure) {
    ++totals.failures;
    return;
  }
  ++*totals.written;
  totals.last_step = checkpoint.step;
  totals.last_seconds = checkpoint.seconds;
  totals.last_bytes = checkpoint.bytes;
  totals.last_time = std::chrono::system_clock::now();
  totals.path = checkpoint.path;
  document_.history.progress.note_pause(checkpoint.pause_seconds);
  touch({Part::progress});
}

void LiveRun::record_unreadable(std::int64_t samples) {
  const std::lock_guard lock{mutex_};
  if (samples == document_.history.progress.now().unreadable_samples)
    return;
  document_.history.progress.note_unreadable(samples);
  touch({Part::progress});
}

/// Peaks of devices are measured while the run trains.
void LiveRun::raise_peak(double operations) {
  if (operations <= document_.run.peak_operations)
    return;
  document_.run.peak_operations = operations;
  touch({Part::run});
}

void LiveRun::set_nodes(std::vector<NodeRecord> nodes, bool leads) {
  const std::lock_guard lock{mutex_};
  document_.nodes = std::move(nodes);
  document_.leads = leads;
  touch({Part::nodes, Part::leads, Part::workers});
}

void LiveRun::record_heartbeat(const std::string& address) {
  const std::lock_guard lock{mutex_};
  heard_[address] = Clock::now();
  touch({Part::nodes});
}

void LiveRun::fail(std::string_view error) {
  const std::lock_guard lock{mutex_};
  document_.error = error;
  touch({Part::error});
}

void LiveRun::finish(const RunSummary& summary) {
  const std::lock_guard lock{mutex_};
  raise_peak(summary.peak_operations);
  document_.error = summary.error;
  document_.history.progress.finish(summary);
  if (!summary.workers.empty())
    document_.workers = summary.workers;
  auto& totals = document_.checkpoints;
  totals.written = std::max(totals.written, std::optional{summary.checkpoints});
  totals.failures = std::max(totals.failures, summary.checkpoint_failures);
  if (!summary.checkpoint.empty())
    totals.path = summary.checkpoint;
  touch({Part::error, Part::progress, Part::workers, Part::checkpoints});
}

void LiveRun::add(LogLine line) {
  const std::lock_guard lock{mutex_};
  document_.log.add(std::move(line));
  touch({Part::log});
}

/// The spans of that step existed when it was committed, except work that streams do ahead.
void LiveRun::sample_timeline() {
  Trace trace;
  std::optional<StepCut::Piece> piece;
  {
    const std::lock_guard lock{mutex_};
    trace = trace_;
    piece = watched_ ? cut_.take() : std::nullopt;
  }
  if (!piece)
    return;
  auto timeline = trace.take(piece->begin, piece->end, RunDocument::most_spans);
  timeline.step = piece->step;
  const std::lock_guard lock{mutex_};
  document_.timeline = std::move(timeline);
  touch({Part::timeline});
}

PageSources LiveRun::page() {
  return {.document = [this] { return document(); },
          .changes = [this] { return changes(); },
          .watched = [this](bool wanted) { watch(wanted); }};
}

/// Skips the current step, so that the first step shown is a whole one.
void LiveRun::watch(bool wanted) {
  const std::lock_guard lock{mutex_};
  if (wanted == watched_)
    return;
  watched_ = wanted;
  cut_.stop();
  trace_.watch(wanted);
}

void LiveRun::touch(std::initializer_list<DocumentPart> parts) {
  for (const auto part : parts) {
    changed_.set(index_of(part));
    stale_.set(index_of(part));
  }
}

void LiveRun::update_ages() {
  const auto now = Clock::now();
  for (auto& node : document_.nodes)
    if (const auto heard = heard_.find(node.address); heard != heard_.end())
      node.heartbeat_age_seconds = std::chrono::duration<double>(now - heard->second).count();
}

const std::string& LiveRun::fresh(std::size_t part) {
  const auto which = static_cast<DocumentPart>(part);
  if (stale_[part]) {
    if (which == Part::nodes)
      update_ages();
    json_[part] = json_of(document_, which);
    stale_.reset(part);
  }
  return json_[part];
}

void LiveRun::refresh() {
  for (std::size_t part = 0; part < json_.size(); ++part)
    fresh(part);
}

std::string LiveRun::document() {
  const std::lock_guard lock{mutex_};
  refresh();
  return document_of(json_, true, std::chrono::system_clock::now());
}

std::string LiveRun::standalone() {
  const std::lock_guard lock{mutex_};
  refresh();
  auto parts = json_;
  if (!ended_)
    parts[index_of(Part::status)] = "\"running\"";
  return document_of(parts, false, std::chrono::system_clock::now());
}

std::string LiveRun::changes() {
  const std::lock_guard lock{mutex_};
  if (changed_.none())
    return {};
  auto text = fmt::format("{{\"made\":\"{}\"", utc_milliseconds(std::chrono::system_clock::now()));
  for (std::size_t part = 0; part < document_parts; ++part)
    if (changed_[part])
      text +=
          fmt::format(",\"{}\":{}", key_of(static_cast<DocumentPart>(part)),
                      part == index_of(Part::steps) ? json_of(document_, Part::steps, changed_from_)
                                                    : fresh(part));
  changed_.reset();
  changed_from_ = document_.history.steps.points().size();
  return text + "}";
}

} // namespace troupe::metrics
