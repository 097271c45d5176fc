#include "actors/roles/run_view.hpp"

#include "actors/membership/members_file.hpp"
#include "core/fail.hpp"
#include "core/staging.hpp"
#include "metrics/number_format.hpp"
#include "training/earlier_run.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace troupe::actors {

namespace {

using namespace std::chrono_literals;

/// Shortest time between two reports: after an epoch or a sample, and at other times.
constexpr auto short_pause = 10s, long_pause = 60s;

metrics::LogFormat log_format(LogFormat format) {
  return format == LogFormat::json ? metrics::LogFormat::json : metrics::LogFormat::text;
}

/// Returns the host name, or the address if nodes of the job share the host name.
const std::string& label_of(const NodeStatus& node, const std::vector<NodeStatus>& nodes) {
  return std::ranges::count(nodes, node.name, &NodeStatus::name) == 1 ? node.name : node.address;
}

std::vector<metrics::NodeRecord> records_of(const std::vector<NodeStatus>& nodes) {
  std::vector<metrics::NodeRecord> records;
  records.reserve(nodes.size());
  for (const auto& node : nodes)
    records.push_back({.name = label_of(node, nodes),
                       .address = node.address,
                       .page = node.metrics,
                       .state = node.state,
                       .version = node.version,
                       .ranks = node.ranks,
                       .devices = node.devices,
                       .leads = records.empty()});
  return records;
}

bool has_vote(const training::NodeAssignment& assignment) {
  const auto& place = assignment.member();
  return std::ranges::count(assignment.generation.voters,
                            training::Voter{place.address, place.process}) > 0;
}

/// Entries of the run's folder that a daemon writes before its run begins.
std::vector<std::string> written_before(const metrics::RunWriter& writer) {
  if (writer.staging.empty())
    return {};
  return {writer.staging.filename().string(), members_file};
}

double mib(std::uint64_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

} // namespace

std::shared_ptr<spdlog::logger> make_run_logger(metrics::Screen& screen, const RunOptions& options,
                                                metrics::LiveRun& page) {
  return metrics::make_logger(screen, log_format(options.log_format),
                              options.quiet     ? spdlog::level::warn
                              : options.verbose ? spdlog::level::debug
                                                : spdlog::level::info,
                              page.log_sink());
}

RunView::RunView(const RunOptions& options, metrics::Exposition& exposition,
                 std::optional<metrics::RunFolder> folder, std::optional<metrics::EventFile> board)
    : screen_{options.on_output_lost}, log_{make_run_logger(screen_, options, exposition.live())},
      console_{screen_, {.quiet = options.quiet, .format = log_format(options.log_format)}},
      exposition_{exposition}, folder_{std::move(folder)}, board_{std::move(board)} {}

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
  if (leads && is_first && !takes_over && job.config.checkpoint.resume == "never") {
    TROUPE_TRY(aside, training::set_earlier_run_aside(job.folder, written_before(writer)));
  }
  std::optional<metrics::RunFolder> folder;
  std::optional<metrics::EventFile> board;
  if (leads) {
    TROUPE_TRY(folder,
               metrics::RunFolder::open(job.config.run.output, info, options.config_text, writer));
  }
  if (leads && job.config.run.tensorboard) {
    TROUPE_TRY(board, metrics::EventFile::create(folder->tensorboard(), info));
  }
  std::unique_ptr<RunView> view{
      new RunView{options, exposition, std::move(folder), std::move(board)}};
  if (job.config.checkpoint.best == "loss")
    view->best_by_ = metrics::BestBy::loss;
  if (leads)
    view->opening_ = fmt::format("{}-{}", record.writer, record.number);
  else if (std::error_code ignored;
           has_vote(assignment) && !std::filesystem::exists(writer.staging, ignored))
    view->kept_.emplace(job.folder);
  if (aside)
    view->log_->warn("an earlier run of this name was renamed to {}", aside->string());
  if (is_first)
    view->introduce(job, info);
  else
    view->console_.go_on(info);
  view->begin(job, info, assignment);
  return view;
}

metrics::EarlierRun RunView::before() const {
  return folder_ ? folder_->before().run() : metrics::EarlierRun{};
}

std::optional<metrics::HistoryPlace> RunView::history() const {
  return kept_ ? std::optional{kept_->place()} : std::nullopt;
}

void RunView::keep(const metrics::HistoryChunk& part) {
  const auto kept = kept_->add(part);
  warn_once(kept);
  if (!kept)
    kept_.reset();
}

metrics::HistoryChunk RunView::lines_after(const metrics::HistoryPlace& there) const {
  return folder_ ? metrics::read_history(folder_->path(), opening_, there)
                 : metrics::HistoryChunk{};
}

Status RunView::hand_over_history() const {
  return kept_ ? kept_->hand_over() : Status{};
}

void RunView::begin(const training::Job& job, const metrics::RunInfo& info,
                    const training::NodeAssignment& assignment) {
  if (const auto lost = folder_ ? folder_->before().missing_steps() : 0; lost > 0)
    log_->warn("the events of {} earlier steps are lost", lost);
  exposition_.live().begin(info, folder_ ? folder_->before().history() : metrics::RunHistory{},
                           assignment.generation.number);
  begin_steps(info, assignment);
  if (job.training)
    watch_files(job.training->adapter(), "training");
  if (job.evaluation)
    watch_files(job.evaluation->adapter(), "evaluation");
}

void RunView::watch_files(const data::Adapter& adapter, std::string_view request) {
  if (const auto text = adapter.dataset().left_out().unread_text(); !text.empty())
    log_->warn("{} data ({}): {}", request, adapter.dataset().name(), text);
  if (auto files = adapter.unreadable())
    unreadable_.push_back(std::move(files));
  if (auto files = adapter.damaged())
    damaged_.push_back(std::move(files));
}

void RunView::begin_steps(const metrics::RunInfo& info,
                          const training::NodeAssignment& assignment) {
  info_ = info;
  first_rank_ = assignment.member().first_rank;
  ranks_ = assignment.member().workers;
  first_step_ = next_step_ = info.first_step;
  exposition_.registry().begin(info, folder_.has_value());
  exposition_.registry().set_generation(assignment.generation.number);
  write_report();
}

void RunView::go_on(const metrics::RunInfo& info, const training::NodeAssignment& assignment) {
  console_.go_on(info);
  exposition_.live().go_on(info, assignment.generation.number);
  begin_steps(info, assignment);
  write_info();
}

/// If run.json cannot be written now, it is written with the next measurement, the next generation
/// or the end of the run.
void RunView::write_info() {
  if (!folder_)
    return;
  const auto written = folder_->write(info_);
  warn_once(written);
  info_unwritten_ = !written;
}

void RunView::end_generation() {
  exposition_.registry().end_generation();
  exposition_.live().end_generation();
  labels_.clear();
}

void RunView::introduce(const training::Job& job, const metrics::RunInfo& info) {
  for (const auto& note : job.notes)
    log_->warn("{}", note);
  console_.begin(info);
  log_->info("{}: {}", info.precision, job.arithmetic);
  if (const auto& recompute = info.recompute)
    log_->info(
        "recompute: activations of {:.1f} MiB instead of {:.1f} MiB, {:.1f}% more operations",
        mib(recompute->activation_bytes), mib(recompute->activation_bytes_without),
        100 * recompute->operations_ratio);
}

void RunView::show(const std::vector<NodeStatus>& nodes) {
  std::vector<metrics::ScrapeTarget> targets;
  for (const auto& node : nodes) {
    labels_[node.address] = label_of(node, nodes);
    if (!node.metrics.empty())
      targets.push_back({node.metrics, {{"node", labels_[node.address]}}});
  }
  exposition_.targets().set(std::move(targets));
  exposition_.live().set_nodes(records_of(nodes), folder_.has_value());
}

void RunView::show_heartbeat(const std::string& address) {
  if (const auto label = labels_.find(address); label != labels_.end()) {
    registry().record_heartbeat(label->second);
    exposition_.live().record_heartbeat(address);
  }
}

void RunView::show(const metrics::StepRecord& step) {
  next_step_ = step.step + 1;
  if (step.peak_operations > info_.peak_operations)
    show_peak(step.peak_operations);
  exposition_.registry().record(step);
  exposition_.live().record(step);
  console_.show(step);
  if (folder_)
    note_line(folder_->append(step));
  if (board_)
    keep_first_failure(board_->append(step));
}

void RunView::show_peak(double operations) {
  info_.peak_operations = operations;
  exposition_.live().record_peak(operations);
  write_info();
}

void RunView::show(const metrics::RecoveryRecord& recovery) {
  log_->info("generation {} resumed training after {}; {} step{} repeated; reason: {}",
             recovery.generation, metrics::format_seconds(recovery.seconds()),
             recovery.steps_repeated, recovery.steps_repeated == 1 ? "" : "s", recovery.reason);
  exposition_.registry().record(recovery);
  exposition_.live().record(recovery);
  if (folder_)
    note_line(folder_->append(recovery));
}

void RunView::show(const metrics::EpochRecord& epoch) {
  exposition_.registry().record(epoch);
  exposition_.live().record(epoch);
  console_.show(epoch);
  if (folder_)
    note_line(folder_->append(epoch));
  if (board_)
    keep_first_failure(board_->append(epoch));
  write_report_after(short_pause);
}

void RunView::show(const metrics::GeneratedRecord& generated) {
  exposition_.live().record(generated);
  console_.show(generated);
  if (folder_)
    note_line(folder_->append(generated));
  write_report_after(short_pause);
}

void RunView::show_unwritten_sample(std::int64_t steps, const Error& why) {
  log_->error("the sample of step {} was not written: {}", steps, why.to_string());
}

void RunView::show(const CheckpointOutcome& checkpoint) {
  if (!checkpoint.failure) {
    log_->debug("checkpoint of step {} written in {:.3f} s", checkpoint.step, checkpoint.seconds);
    const metrics::CheckpointRecord record{.step = checkpoint.step,
                                           .seconds = checkpoint.seconds,
                                           .pause_seconds = checkpoint.pause_seconds,
                                           .bytes = checkpoint.bytes};
    exposition_.registry().record(record);
    exposition_.live().record(record, checkpoint.path);
    return;
  }
  exposition_.live().record_checkpoint_failure();
  exposition_.registry().record_checkpoint_failure();
  log_->error("the checkpoint of step {} was not written: {}", checkpoint.step,
              checkpoint.failure->to_string());
}

void RunView::show(metrics::JobPhase phase) {
  log_->debug("{}", metrics::to_string(phase));
  exposition_.enter(phase);
}

bool RunView::runs_here(int rank) const {
  return rank >= first_rank_ && rank < first_rank_ + ranks_;
}

/// The leader's page and event file have the workers of all nodes. Each node exports its own.
void RunView::show(const metrics::WorkerSummary& worker) {
  exposition_.live().record(worker);
  if (board_)
    board_->note(worker);
  if (!runs_here(worker.rank))
    return;
  log_->debug("rank {} on {}: peak memory {:.1f} MiB, busy for {:.0f}% of its steps' time",
              worker.rank, worker.device, mib(worker.peak_memory_bytes), 100 * worker.busy_ratio);
  exposition_.registry().record(worker);
  if (!folder_) // other nodes only learn of the steps of their own workers
    exposition_.live().record_steps(first_step_ + worker.steps);
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
  const auto warn = [this](auto& files) {
    for (const auto& line : files->take_lines())
      log_->warn("{}", line);
  };
  std::ranges::for_each(unreadable_, warn);
  std::ranges::for_each(damaged_, warn);
  const auto samples = count_unreadable().samples;
  exposition_.registry().record_unreadable(samples);
  exposition_.live().record_unreadable(samples);
}

void RunView::show(const std::vector<metrics::ActorSample>& actors) {
  for (const auto& actor : actors)
    registry().record(actor.mailbox);
  exposition_.live().record(actors);
}

void RunView::refresh_page() {
  exposition_.live().sample_timeline();
  write_report_after(long_pause);
}

/// A failed write only warns, because the end of the run writes the report again.
void RunView::write_report() {
  if (!folder_)
    return;
  warn_once(folder_->write_report(exposition_.live().standalone()));
  reported_ = std::chrono::steady_clock::now();
}

/// Not after the end, which wrote the last report: a daemon may run long after it.
void RunView::write_report_after(std::chrono::seconds pause) {
  if (!ended_ && std::chrono::steady_clock::now() - reported_ >= pause)
    write_report();
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
  if (outcome.summary.peak_operations > info_.peak_operations) // measured after the last step
    show_peak(outcome.summary.peak_operations);
  if (folder_)
    keep_first_failure(folder_->settle());
  if (info_unwritten_)
    keep_first_failure(folder_->write(info_));
  if (lost_)
    fail(*lost_);
  const auto unreadable = count_unreadable();
  show_unreadable(); // a short run may not have shown them yet
  outcome.summary.unreadable_samples = unreadable.samples;
  outcome.summary.unreadable_files = unreadable.files;
  if (unreadable.samples > 0)
    log_->warn("skipped {} sample{} of {} unreadable file{}; `troupe data check` lists them",
               unreadable.samples, unreadable.samples == 1 ? "" : "s", unreadable.files,
               unreadable.files == 1 ? "" : "s");
  show_end(outcome.summary);
  const auto written = write_end(outcome.summary);
  if (!written) {
    log_->error("{}", written.error().to_string());
    fail(written.error());
    show_end(outcome.summary);
  }
  if (kept_)
    kept_->remove();
  if (outcome.error)
    exposition_.fail(outcome.error->code);
  exposition_.enter(metrics::ended_as(outcome.summary.status));
  console_.end(outcome.summary, folder_ && written ? folder_->report().string() : "",
               folder_ ? metrics::describe_best(folder_->path(), outcome.summary, best_by_) : "");
  return outcome;
}

/// Shows the end on the page, from which the report is written.
void RunView::show_end(const metrics::RunSummary& summary) {
  exposition_.live().finish(summary);
  exposition_.live().enter(metrics::ended_as(summary.status));
}

Status RunView::write_end(const metrics::RunSummary& summary) {
  if (!folder_)
    return {};
  ended_ = true;
  TROUPE_TRY(folder_->write(summary));
  return folder_->write_report(exposition_.live().standalone());
}

void RunView::keep_first_failure(const Status& written) {
  warn_once(written);
  if (!written && !lost_)
    lost_ = written.error();
}

void RunView::note_line(const Status& written) {
  if (!written && written.error().code == Errc::no_space)
    warn_once(written);
  else
    keep_first_failure(written);
}

void RunView::warn_once(const Status& status) {
  if (status || std::exchange(warned_, true))
    return;
  log_->warn("the run's logs will be incomplete: {}", status.error().to_string());
}

} // namespace troupe::actors
