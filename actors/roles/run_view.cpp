#include "actors/roles/run_view.hpp"

#include "actors/membership/members_file.hpp"
#include "core/fail.hpp"
#include "core/staging.hpp"
#include "metrics/exposition.hpp"
#include "training/earlier_run.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace troupe::actors {

namespace {

/// Shortest time between two reports, unless an epoch ends or a sample is written.
constexpr std::chrono::seconds long_pause{60};

bool has_vote(const training::NodeAssignment& assignment) {
  const auto& place = assignment.member();
  return std::ranges::count(assignment.generation.voters,
                            training::Voter{place.address, place.process}) > 0;
}

metrics::RankRange ranks_of(const training::NodeAssignment& assignment) {
  return {.first = assignment.member().first_rank, .count = assignment.member().workers};
}

/// Entries of the run's folder that a daemon writes before its run begins.
std::vector<std::string> written_before(const metrics::RunWriter& writer) {
  if (writer.staging.empty())
    return {};
  return {writer.staging.filename().string(), members_file};
}

} // namespace

std::shared_ptr<spdlog::logger> make_run_logger(metrics::Screen& screen, const RunOptions& options,
                                                metrics::LiveRun& page) {
  return metrics::make_logger(screen, options.log_format,
                              options.quiet     ? spdlog::level::warn
                              : options.verbose ? spdlog::level::debug
                                                : spdlog::level::info,
                              page.log_sink());
}

RunView::RunView(const RunOptions& options, metrics::Exposition& exposition)
    : screen_{options.on_output_lost}, log_{make_run_logger(screen_, options, exposition.live())},
      console_{screen_, {.quiet = options.quiet, .format = options.log_format}},
      exposition_{exposition}, errors_{log_}, run_log_{log_}, lines_{errors_},
      followed_{exposition.live()}, sinks_{&run_log_, &exposition.registry(), &exposition.live(),
                                           &console_} {}

Result<std::unique_ptr<RunView>>
RunView::open(const training::Job& job, const metrics::RunInfo& info,
              const training::NodeAssignment& assignment, bool is_first, bool takes_over,
              const RunOptions& options, metrics::Exposition& exposition) {
  const bool leads = assignment.leads();
  const auto& record = assignment.generation;
  const metrics::RunWriter writer{
      .staging = record.writer.empty() ? "" : staging_of(job.folder, record.writer),
      .takes_over = takes_over};
  std::optional<std::filesystem::path> aside;
  if (leads && is_first && !takes_over &&
      job.config.checkpoint.resume.kind == ResumeConfig::Kind::never) {
    TROUPE_TRY(aside, training::set_earlier_run_aside(job.folder, written_before(writer)));
  }
  std::unique_ptr<RunView> view{new RunView{options, exposition}};
  if (leads) {
    TROUPE_TRY(view->open_files(job, info, writer, options));
    view->lines_.send_from(view->files_->folder().path(),
                           fmt::format("{}-{}", record.writer, record.number));
  } else {
    view->sinks_.push_back(&view->followed_);
    if (std::error_code ignored;
        has_vote(assignment) && !std::filesystem::exists(writer.staging, ignored))
      view->lines_.keep_in(job.folder);
  }
  if (aside)
    view->log_->warn("an earlier run of this name was renamed to {}", aside->string());
  if (is_first) {
    for (const auto& note : job.notes)
      view->log_->warn("{}", note);
    view->console_.begin(info);
    view->run_log_.introduce(job, info);
  } else {
    view->console_.go_on(info);
  }
  view->begin(job, info, assignment);
  return view;
}

Status RunView::open_files(const training::Job& job, const metrics::RunInfo& info,
                           const metrics::RunWriter& writer, const RunOptions& options) {
  TROUPE_TRY(auto folder,
             metrics::RunFolder::open(job.config.run.output, info, options.config_text, writer));
  files_.emplace(std::move(folder), errors_, exposition_.live());
  sinks_.push_back(&*files_);
  if (job.config.run.tensorboard) {
    TROUPE_TRY(auto file, metrics::EventFile::create(files_->folder().tensorboard(), info));
    events_.emplace(std::move(file), errors_);
    sinks_.push_back(&*events_);
  }
  if (job.config.checkpoint.best == BestMetric::loss)
    best_by_ = metrics::BestBy::loss;
  return {};
}

bool RunView::is_followed_by(const metrics::RunInfo& info, bool leads) const {
  return leads == files_.has_value() && (!files_ || files_->next_step() == info.first_step);
}

metrics::EarlierRun RunView::before() const {
  return files_ ? files_->folder().before().run() : metrics::EarlierRun{};
}

void RunView::begin(const training::Job& job, const metrics::RunInfo& info,
                    const training::NodeAssignment& assignment) {
  const auto* const before = files_ ? &files_->folder().before() : nullptr;
  if (const auto lost = before ? before->missing_steps() : 0; lost > 0)
    log_->warn("the events of {} earlier steps are lost", lost);
  exposition_.live().begin(info, before ? before->history() : metrics::RunHistory{},
                           assignment.generation.number);
  begin_steps(info, assignment);
  if (files_)
    files_->begin(info);
  run_log_.watch(job);
}

void RunView::begin_steps(const metrics::RunInfo& info,
                          const training::NodeAssignment& assignment) {
  run_log_.begin(ranks_of(assignment));
  followed_.begin(info.first_step);
  registry().begin(info, files_.has_value(), ranks_of(assignment));
  registry().set_generation(assignment.generation.number);
}

void RunView::go_on(const metrics::RunInfo& info, const training::NodeAssignment& assignment) {
  console_.go_on(info);
  exposition_.live().go_on(info, assignment.generation.number);
  begin_steps(info, assignment);
  if (files_)
    files_->go_on(info);
}

void RunView::end_generation() {
  registry().end_generation();
  exposition_.live().end_generation();
  labels_.clear();
}

/// Shows a node by its host name, or by its address if nodes of the job share the host name. The
/// first node leads.
void RunView::show(const std::vector<metrics::NodeRecord>& nodes) {
  auto shown = nodes;
  std::vector<metrics::ScrapeTarget> targets; // the nodes that serve metrics
  for (auto& node : shown) {
    if (std::ranges::count(nodes, node.name, &metrics::NodeRecord::name) > 1)
      node.name = node.address;
    node.leads = &node == shown.data();
    labels_[node.address] = node.name;
    if (!node.page.empty())
      targets.push_back({node.page, {{"node", node.name}}});
  }
  exposition_.targets().set(std::move(targets));
  exposition_.live().set_nodes(std::move(shown), files_.has_value());
}

void RunView::show_heartbeat(const std::string& address) {
  if (const auto label = labels_.find(address); label != labels_.end()) {
    registry().record_heartbeat(label->second);
    exposition_.live().record_heartbeat(address);
  }
}

void RunView::enter(metrics::JobPhase phase) {
  log_->debug("{}", metrics::to_string(phase));
  exposition_.enter(phase);
}

void RunView::refresh(const std::vector<metrics::MailboxSample>& actors) {
  for (const auto& actor : actors)
    registry().record(actor);
  exposition_.live().record(actors);
  show_unreadable();
  exposition_.live().sample_timeline();
  if (files_)
    files_->write_report_after(long_pause);
}

void RunView::show_unreadable() {
  run_log_.log_skipped();
  const auto samples = run_log_.skipped().samples;
  registry().record_unreadable(samples);
  exposition_.live().record_unreadable(samples);
}

RunOutcome RunView::finish(RunOutcome outcome) {
  const auto fail = [&outcome](Error error) {
    if (outcome.error)
      return;
    error.message = "the run's logs are incomplete: " + error.message;
    outcome.summary.status = "failed";
    outcome.summary.error = error.to_string();
    outcome.error = std::move(error);
  };
  if (files_)
    files_->settle(outcome.summary);
  if (errors_.lost())
    fail(*errors_.lost());
  const auto unreadable = run_log_.skipped();
  show_unreadable(); // a short run may not have shown them yet
  outcome.summary.unreadable_samples = unreadable.samples;
  outcome.summary.unreadable_files = unreadable.files;
  run_log_.log_all_skipped();
  show_end(outcome.summary);
  const auto written = files_ ? files_->finish(outcome.summary) : Status{};
  if (!written) {
    log_->error("{}", written.error().to_string());
    fail(written.error());
    show_end(outcome.summary);
  }
  lines_.remove();
  if (outcome.error)
    exposition_.fail(outcome.error->code);
  exposition_.enter(metrics::ended_as(outcome.summary.status));
  std::string report, best;
  if (files_ && written)
    report = files_->folder().report().string();
  if (files_)
    best = metrics::describe_best(files_->folder().path(), outcome.summary, best_by_);
  console_.end(outcome.summary, report, best);
  return outcome;
}

/// Shows the end on the page, from which the report is written.
void RunView::show_end(const metrics::RunSummary& summary) {
  exposition_.live().finish(summary);
  exposition_.live().enter(metrics::ended_as(summary.status));
}

} // namespace troupe::actors
