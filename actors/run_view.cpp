#include "run_view.hpp"

#include "troupe/core/fail.hpp"

#include <spdlog/spdlog.h>

namespace troupe::actors {

namespace {

metrics::LogFormat log_format(LogFormat format) {
  return format == LogFormat::json ? metrics::LogFormat::json : metrics::LogFormat::text;
}

double mib(std::uint64_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

} // namespace

void RunView::Live::set(bool now_ready, const char* now_why) {
  registry.set_ready(now_ready);
  why = now_why;
  ready = now_ready;
}

std::shared_ptr<spdlog::logger> make_run_logger(metrics::Screen& screen,
                                                const RunOptions& options) {
  return metrics::make_logger(screen, log_format(options.log_format),
                              options.quiet ? spdlog::level::warn : spdlog::level::info);
}

RunView::RunView(const RunOptions& options, std::unique_ptr<Live> live,
                 std::unique_ptr<metrics::HttpEndpoint> endpoint,
                 std::optional<metrics::RunFolder> folder)
    : log_{make_run_logger(screen_, options)}, console_{screen_,
                                                        {.quiet = options.quiet,
                                                         .format = log_format(options.log_format)}},
      live_{std::move(live)}, endpoint_{std::move(endpoint)}, folder_{std::move(folder)} {}

Result<std::unique_ptr<RunView>> RunView::open(const Job& job, const RunOptions& options) {
  auto live = std::make_unique<Live>(job.info);
  // The port first: a run that cannot begin leaves the folder of an earlier one as it is.
  std::unique_ptr<metrics::HttpEndpoint> endpoint;
  if (const auto& address = job.config.metrics.listen; address != "off") {
    auto started = metrics::HttpEndpoint::start(
        address, {.metrics = [live = live.get()] { return live->registry.text(); },
                  .readiness = [live = live.get()] { return live->readiness(); },
                  .targets = [live = live.get()] { return live->targets.json(); }});
    if (!started)
      return failure(started.error());
    endpoint = std::move(*started);
  }
  std::optional<metrics::RunFolder> folder;
  if (job.seat.leads()) {
    auto opened = metrics::RunFolder::open(job.config.run.output, job.info, options.config_text);
    if (!opened)
      return failure(opened.error());
    folder = std::move(*opened);
  }
  std::unique_ptr<RunView> view{
      new RunView{options, std::move(live), std::move(endpoint), std::move(folder)}};
  view->begin(job);
  return view;
}

void RunView::begin(const Job& job) {
  for (const auto& note : job.notes)
    log_->warn("{}", note);
  if (folder_ && folder_->missing_steps() > 0)
    log_->warn("the events of {} earlier steps are lost", folder_->missing_steps());
  console_.begin(job.info);
  log_->info("{}: {}", job.info.precision, job.arithmetic);
  if (const auto& recompute = job.info.recompute)
    log_->info(
        "recompute: activations of {:.1f} MiB instead of {:.1f} MiB, {:.1f}% more operations",
        mib(recompute->activation_bytes), mib(recompute->activation_bytes_without),
        100 * recompute->operations_ratio);
  if (endpoint_)
    log_->info("metrics at http://{}/metrics", endpoint_->address());
  live_->set(true, "training");
}

std::optional<Endpoint> RunView::listens_at() const {
  return endpoint_ ? std::optional{endpoint_->endpoint()} : std::nullopt;
}

void RunView::show(const std::vector<NodeStatus>& nodes) {
  std::vector<metrics::ScrapeTarget> targets;
  for (const auto& node : nodes)
    if (!node.metrics.empty())
      targets.push_back({node.metrics, {{"node", node.name}}});
  live_->targets.set(std::move(targets));
}

void RunView::show(const metrics::StepRecord& step) {
  live_->registry.record(step);
  console_.show(step);
  if (folder_)
    keep_first_failure(folder_->append(step));
}

void RunView::show(const metrics::EpochRecord& epoch) {
  live_->registry.record(epoch);
  console_.show(epoch);
  if (folder_)
    keep_first_failure(folder_->append(epoch));
}

void RunView::show(const CheckpointOutcome& checkpoint) {
  if (!checkpoint.failure) {
    live_->registry.record_checkpoint(checkpoint.step, checkpoint.seconds);
    return;
  }
  live_->registry.record_checkpoint_failure();
  log_->error("the checkpoint of step {} was not written: {}", checkpoint.step,
              checkpoint.failure->to_string());
}

RunOutcome RunView::finish(RunOutcome outcome) {
  live_->set(false, "the run has ended");
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
  const auto written = folder_ ? folder_->finish(outcome.summary) : Status{};
  if (!written) {
    log_->error("{}", written.error().to_string());
    fail(written.error());
  }
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
