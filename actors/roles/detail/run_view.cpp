#include "run_view.hpp"

#include "troupe/core/fail.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace troupe::actors {

namespace {

metrics::LogFormat log_format(LogFormat format) {
  return format == LogFormat::json ? metrics::LogFormat::json : metrics::LogFormat::text;
}

/// Its host's name, unless others of the job have that too.
const std::string& label_of(const NodeStatus& node, const std::vector<NodeStatus>& nodes) {
  return std::ranges::count(nodes, node.name, &NodeStatus::name) == 1 ? node.name : node.address;
}

double mib(std::uint64_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

} // namespace

std::shared_ptr<spdlog::logger> make_run_logger(metrics::Screen& screen,
                                                const RunOptions& options) {
  return metrics::make_logger(screen, log_format(options.log_format),
                              options.quiet     ? spdlog::level::warn
                              : options.verbose ? spdlog::level::debug
                                                : spdlog::level::info);
}

RunView::RunView(const RunOptions& options, metrics::Exposition& exposition,
                 std::optional<metrics::RunFolder> folder, std::optional<metrics::EventFile> board)
    : screen_{options.on_output_lost}, log_{make_run_logger(screen_, options)},
      console_{screen_, {.quiet = options.quiet, .format = log_format(options.log_format)}},
      exposition_{exposition}, folder_{std::move(folder)}, board_{std::move(board)} {}

Result<std::unique_ptr<RunView>> RunView::open(const engine::Job& job, const metrics::RunInfo& info,
                                               bool leads, const RunOptions& options,
                                               metrics::Exposition& exposition) {
  std::optional<metrics::RunFolder> folder;
  std::optional<metrics::EventFile> board;
  if (leads) {
    TROUPE_TRY(folder, metrics::RunFolder::open(job.config.run.output, info, options.config_text));
  }
  if (leads && job.config.run.tensorboard) {
    TROUPE_TRY(board, metrics::EventFile::create(folder->tensorboard(), info));
  }
  std::unique_ptr<RunView> view{
      new RunView{options, exposition, std::move(folder), std::move(board)}};
  view->begin(job, info);
  return view;
}

void RunView::begin(const engine::Job& job, const metrics::RunInfo& info) {
  for (const auto& note : job.notes)
    log_->warn("{}", note);
  if (folder_ && folder_->missing_steps() > 0)
    log_->warn("the events of {} earlier steps are lost", folder_->missing_steps());
  console_.begin(info);
  log_->info("{}: {}", info.precision, job.arithmetic);
  if (const auto& recompute = info.recompute)
    log_->info(
        "recompute: activations of {:.1f} MiB instead of {:.1f} MiB, {:.1f}% more operations",
        mib(recompute->activation_bytes), mib(recompute->activation_bytes_without),
        100 * recompute->operations_ratio);
  exposition_.registry().begin(info);
  for (const auto& batches : {job.training, job.evaluation})
    if (auto files = batches ? batches->adapter().unreadable() : nullptr)
      unreadable_.push_back(std::move(files));
}

void RunView::show(const std::vector<NodeStatus>& nodes) {
  std::vector<metrics::ScrapeTarget> targets;
  for (const auto& node : nodes) {
    labels_[node.address] = label_of(node, nodes);
    if (!node.metrics.empty())
      targets.push_back({node.metrics, {{"node", labels_[node.address]}}});
  }
  exposition_.targets().set(std::move(targets));
}

void RunView::show_heartbeat(const std::string& address) {
  if (const auto label = labels_.find(address); label != labels_.end())
    registry().record_heartbeat(label->second);
}

void RunView::show(const metrics::StepRecord& step) {
  exposition_.registry().record(step);
  console_.show(step);
  if (folder_)
    keep_first_failure(folder_->append(step));
  if (board_)
    keep_first_failure(board_->append(step));
}

void RunView::show(const metrics::EpochRecord& epoch) {
  exposition_.registry().record(epoch);
  console_.show(epoch);
  if (folder_)
    keep_first_failure(folder_->append(epoch));
  if (board_)
    keep_first_failure(board_->append(epoch));
}

void RunView::show(const CheckpointOutcome& checkpoint) {
  if (!checkpoint.failure) {
    log_->debug("checkpoint of step {} written in {:.3f} s", checkpoint.step, checkpoint.seconds);
    exposition_.registry().record(
        metrics::CheckpointRecord{.step = checkpoint.step,
                                  .seconds = checkpoint.seconds,
                                  .pause_seconds = checkpoint.pause_seconds,
                                  .bytes = checkpoint.bytes});
    return;
  }
  exposition_.registry().record_checkpoint_failure();
  log_->error("the checkpoint of step {} was not written: {}", checkpoint.step,
              checkpoint.failure->to_string());
}

void RunView::show(metrics::JobPhase phase) {
  log_->debug("{}", metrics::to_string(phase));
  exposition_.enter(phase);
}

void RunView::show(const metrics::WorkerSummary& worker) {
  log_->debug("rank {} on {}: {:.1f} MiB at most, busy {:.0f}% of the time", worker.rank,
              worker.device, mib(worker.peak_memory_bytes), 100 * worker.busy_ratio);
  exposition_.registry().record(worker);
  if (board_)
    board_->note(worker);
}

data::UnreadableFiles::Counts RunView::count_unreadable() const {
  data::UnreadableFiles::Counts all;
  for (const auto& files : unreadable_) {
    const auto counts = files->counts();
    all.samples += counts.samples;
    all.files += counts.files;
  }
  return all;
}

void RunView::show_unreadable() {
  for (const auto& files : unreadable_)
    for (const auto& line : files->take_lines())
      log_->warn("{}", line);
  exposition_.registry().record_unreadable(count_unreadable().samples);
}

RunOutcome RunView::finish(RunOutcome outcome) {
  const auto fail = [&outcome](Error error) {
    if (outcome.error)
      return;
    error.message = "the record of the run is not whole: " + error.message;
    outcome.summary.status = "failed";
    outcome.summary.error = error.to_string();
    outcome.error = std::move(error);
  };
  if (lost_)
    fail(*lost_);
  const auto unreadable = count_unreadable();
  outcome.summary.unreadable_samples = unreadable.samples;
  outcome.summary.unreadable_files = unreadable.files;
  if (unreadable.samples > 0)
    log_->warn("{} samples, of {} files that cannot be read, were skipped; `troupe data check` "
               "names them",
               unreadable.samples, unreadable.files);
  const auto written = folder_ ? folder_->finish(outcome.summary) : Status{};
  if (!written) {
    log_->error("{}", written.error().to_string());
    fail(written.error());
  }
  if (outcome.error)
    exposition_.fail(outcome.error->code);
  exposition_.enter(metrics::ended_as(outcome.summary.status));
  console_.end(outcome.summary, folder_ && written ? folder_->report().string() : "");
  return outcome;
}

void RunView::keep_first_failure(const Status& written) {
  warn_once(written);
  if (!written && !lost_)
    lost_ = written.error();
}

void RunView::warn_once(const Status& status) {
  if (status || std::exchange(warned_, true))
    return;
  log_->warn("what is written of the run is not complete: {}", status.error().to_string());
}

} // namespace troupe::actors
