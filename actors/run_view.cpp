#include "run_view.hpp"

#include "troupe/core/fail.hpp"

#include <spdlog/spdlog.h>

namespace troupe::actors {

namespace {

metrics::LogFormat log_format(LogFormat format) {
  return format == LogFormat::json ? metrics::LogFormat::json : metrics::LogFormat::text;
}

} // namespace

RunView::RunView(const Job& job, const RunOptions& options, metrics::RunFolder folder)
    : log_{metrics::make_logger(screen_, log_format(options.log_format),
                                options.quiet ? spdlog::level::warn : spdlog::level::info)},
      console_{screen_, {.quiet = options.quiet, .format = log_format(options.log_format)}},
      folder_{std::move(folder)}, registry_{job.info} {}

Result<std::unique_ptr<RunView>> RunView::open(const Job& job, const RunOptions& options) {
  auto folder = metrics::RunFolder::open(job.config.run.output, job.info, options.config_text);
  if (!folder)
    return failure(folder.error());
  std::unique_ptr<RunView> view{new RunView{job, options, std::move(*folder)}};
  TROUPE_TRY(view->listen(job.config.metrics.listen));
  for (const auto& note : job.notes)
    view->log_->warn("{}", note);
  view->console_.begin(job.info);
  if (view->endpoint_)
    view->log_->info("metrics at http://{}/metrics", view->endpoint_->address());
  view->registry_.set_ready(true);
  return view;
}

Status RunView::listen(const std::string& address) {
  if (address == "off")
    return {};
  auto endpoint = metrics::HttpEndpoint::start(
      address, {.metrics = [this] { return registry_.text(); },
                .readiness =
                    [] {
                      return metrics::Readiness{true, "the company is there"};
                    }});
  if (!endpoint)
    return failure(endpoint.error());
  endpoint_ = std::move(*endpoint);
  return {};
}

void RunView::show(const metrics::StepRecord& step) {
  registry_.record(step);
  console_.show(step);
  warn_once(folder_.append(step));
}

void RunView::show(const metrics::EpochRecord& epoch) {
  registry_.record(epoch);
  console_.show(epoch);
  warn_once(folder_.append(epoch));
}

void RunView::show(const CheckpointOutcome& checkpoint) {
  if (checkpoint.failure.empty()) {
    registry_.record_checkpoint(checkpoint.step, checkpoint.seconds);
    return;
  }
  registry_.record_checkpoint_failure();
  log_->error("the checkpoint of step {} was not written, training goes on: {}", checkpoint.step,
              checkpoint.failure);
}

void RunView::finish(const metrics::RunSummary& summary) {
  registry_.set_ready(false);
  const auto written = folder_.finish(summary);
  if (!written)
    log_->error("{}", written.error().to_string());
  if (!summary.error.empty())
    log_->error("{}", summary.error);
  console_.end(summary, written ? folder_.report().string() : "");
}

void RunView::warn_once(const Status& status) {
  if (status || std::exchange(warned_, true))
    return;
  log_->warn("the run's events are not complete: {}", status.error().to_string());
}

} // namespace troupe::actors
