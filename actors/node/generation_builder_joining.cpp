// The join of a node to the other nodes of a job, and the files that it needs to return.
#include "actors/node/generation_builder.hpp"
#include "actors/node/previous_members.hpp"
#include "core/atomic_file.hpp"
#include "core/fail.hpp"
#include "core/staging.hpp"

#include <utility>

namespace troupe::actors {

/// Takes part as a witness, which never gets an assignment: returns when the job ends.
Result<BuiltGenerationPtr> GenerationBuilder::watch() {
  setup_.exposition.enter(metrics::JobPhase::waiting);
  setup_.join.say(
      "this node is a witness: it votes on the membership of the job, and does not train");
  auto context = this->context();
  context.info.workers = 0;
  const auto admission = join_job(context, joined_);
  return failure(admission ? Error{Errc::internal, "a witness got a node assignment"}
                           : admission.error());
}

JoinContext GenerationBuilder::context() {
  auto context = setup_.join;
  context.prepare = [this](std::int64_t slices) -> Status {
    if (compiled_job_)
      return {};
    TROUPE_TRY(prepare_compiled_job(slices, false, false));
    compiled_job_->state.reset(); // it arrives when the node has an assignment
    return {};
  };
  context.left_out = [this] { return returns_.next(Clock::now()); };
  context.has_had_assignment = last_.number > 0;
  if (data_)
    context.info.training = data_->identity;
  else if (compiled_job_) // a witness has neither
    context.info.training = {compiled_job_->job->data_fingerprint,
                             compiled_job_->job->training->dataset().size()};
  context.info.has_lost_folder = leads_ && !claimed_.empty() && !writes_here(claimed_);
  const auto before = read_members(training::run_folder(config()));
  context.info.generation = std::max(last_.number, before.generation);
  for (const auto& node : before.nodes)
    context.known.push_back(node.address);
  if (context.data_plane)
    context.info.data =
        to_string({parse_endpoint(context.info.address)->host, context.data_plane->port()});
  return context;
}

bool GenerationBuilder::writes_here(const std::string& writer) const {
  std::error_code ignored;
  return std::filesystem::exists(staging_of(training::run_folder(config()), writer), ignored);
}

/// Writes members.json. In a shared folder the leader does so for all nodes.
void GenerationBuilder::remember_members() const {
  if (!leads_ && writes_here(last_.writer))
    return;
  if (const auto written = write_members(training::run_folder(config()), last_); !written)
    setup_.join.say(written.error().message);
}

void GenerationBuilder::note_voters(const training::GenerationRecord& record) {
  const auto span = setup_.row.span({metrics::SpanKind::handler, "decided"});
  const bool is_revision = record.job == last_.job && record.number == last_.number;
  if (!is_revision || record.order() <= last_.order())
    return;
  last_ = record;
  remember_members();
}

/// Removes the staging directories of an earlier process of this node, which led and was killed. A
/// leader does so when it claims the folder.
void GenerationBuilder::remove_staging() const {
  const auto folder = training::run_folder(config());
  if (!leads_ && !writes_here(last_.writer) && metrics::check_unwritten(folder))
    remove_earlier_staging(folder, last_.writer);
}

/// Removes the job's files: no node continues it.
void GenerationBuilder::forget_job() const {
  const auto folder = training::run_folder(config());
  const auto is_own = leads_ ? writes_here(claimed_) : !writes_here(last_.writer);
  if (is_own)
    forget_members(folder);
  if (leads_)
    withdraw_staging(folder, claimed_);
}

/// Claims the run's folder for this leader: the files of the last leader, if the folder is shared,
/// and the writer lock. A leader that was frozen while others led claims it again.
Status GenerationBuilder::claim_folder(const training::GenerationRecord& record,
                                       const std::string& before) {
  if (!leads_ || record.writer == claimed_)
    return {};
  const auto folder = training::run_folder(config());
  TROUPE_TRY(make_folders(folder));
  const bool is_shared = writes_here(before);
  auto unwritten = metrics::check_unwritten(folder);
  // A single-node run, which may have begun meanwhile, removes the file.
  const auto is_left = begins_again_ && !read_members(folder).voters.empty();
  const bool was_succeeded = !inherits_ && !claimed_.empty();
  if (was_succeeded)
    view_.reset(); // its files are another node's now
  if (!unwritten && !inherits_ && !is_left && !was_succeeded)
    return unwritten;
  takes_files_ = inherits_ || was_succeeded || !unwritten;
  TROUPE_TRY(claim_staging(folder, record.writer,
                           inherits_ || was_succeeded ? Claim::takes_over : Claim::begins));
  if (inherits_ && !is_shared && view_)
    TROUPE_TRY(view_->lines().hand_over());
  claimed_ = record.writer;
  return {};
}

/// Finds out whether this node leads or joins. A node that may begin a job first asks whether
/// others continue one. For a node that only joins others, this stays undecided, because they may
/// not run yet.
Status GenerationBuilder::find_job(const JoinContext& context) {
  if (!may_begin(config().cluster, context.info.address))
    return {};
  const auto before = read_members(training::run_folder(config()));
  TROUPE_TRY(const auto found, find_running_job(context, before));
  if (found)
    joined_ = *found;
  leads_ = !found;
  begins_again_ = leads_ && !before.voters.empty();
  return {};
}

/// Gets an assignment in the job of this node, or in one that it joins. If the leader is lost, gets
/// it from the successor, or becomes the successor.
Result<Admission> GenerationBuilder::find_admission(JoinContext& context) {
  const bool has_job = leads_ || last_.number > 0;
  auto admission =
      with_folder(has_job ? take_assignment(context, joined_) : join_job(context, joined_));
  while (!admission && is_leaderless(admission.error())) {
    TROUPE_TRY(follow_or_lead(context, admission.error()));
    admission = with_folder(take_assignment(context, joined_));
  }
  return admission;
}

/// Claims the run's folder. A leader that was stopped meanwhile may be too late for it: then
/// another node leads.
Result<Admission> GenerationBuilder::with_folder(Result<Admission> admission) {
  if (!admission)
    return admission;
  const auto before = std::exchange(last_, admission->assignment.generation);
  TROUPE_TRY(claim_folder(last_, before.writer));
  return admission;
}

/// Whether other nodes can tell where the job continues.
bool GenerationBuilder::is_leaderless(const Error& error) const {
  if (!setup_.join.consensus || last_.voters.size() < 2)
    return false;
  const bool has_left = error.code == Errc::stopped && error.where.node == joined_.leader;
  return error.code == Errc::network || has_left;
}

Status GenerationBuilder::follow_or_lead(JoinContext& context, const Error& lost) {
  if (std::exchange(leads_, false)) { // which the others no longer know
    caf::anon_send_exit(joined_.membership, caf::exit_reason::user_shutdown);
    view_.reset(); // its files are another node's now
  }
  LeaderLoss leader_loss{last_, lost};
  TROUPE_TRY(joined_, find_successor(context, leader_loss));
  inherits_ = !joined_.membership;
  if (inherits_) {
    leads_ = true;
    joined_ = lead_job(context, leader_loss);
    setup_.join.say(fmt::format("this node now leads the job, as the successor of {}",
                                leader_loss.last.leader()));
  }
  TROUPE_TRY(context.info.offer, offer(context));
  return {};
}

} // namespace troupe::actors
