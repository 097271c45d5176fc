// How FORMER comes to its place among the nodes of a job, and keeps what it needs to come back.
#include "actors/membership/member_list.hpp"
#include "actors/node/generation_builder.hpp"
#include "actors/node/previous_members.hpp"
#include "core/atomic_file.hpp"
#include "core/fail.hpp"
#include "core/staging.hpp"

#include <utility>

namespace troupe::actors {

/// A seat is never for a witness: this ends when the job does.
Result<BuiltGenerationPtr> GenerationBuilderState::watch() {
  setup_.exposition.enter(metrics::JobPhase::waiting);
  setup_.say("this node is a witness: it votes on who takes part, and trains nothing");
  auto context = this->context();
  context.info.workers = 0;
  const auto place = join_job(context, joined_);
  return failure(place ? Error{Errc::internal, "a witness has got a seat"} : place.error());
}

JoinContext GenerationBuilderState::context() {
  JoinContext context{.system = self_->system(),
                      .config = setup_.config,
                      .network = setup_.network,
                      .node = setup_.node,
                      .voter = setup_.voter,
                      .info = {.address = setup_.address,
                               .host = training::host_name(),
                               .version = setup_.options.version,
                               .process = setup_.process,
                               .workers = static_cast<std::int32_t>(config().devices.count),
                               .job = shared_settings(config())},
                      .data_plane = setup_.data_plane,
                      .say = setup_.say,
                      .stopped_within = setup_.stopped_within,
                      .prepare = [this](std::int64_t slices) { return prepare_to_join(slices); },
                      .waits = setup_.waits,
                      .left_out = [this] { return returns_.next(Clock::now()); },
                      .has_had_assignment = last_.number > 0};
  if (!setup_.options.witness)
    context.info.training = training_data();
  const auto before = read_members(training::run_folder(config()));
  context.info.generation = std::max(last_.number, before.generation);
  for (const auto& node : before.nodes)
    context.known.push_back(node.address);
  if (setup_.data_plane)
    context.info.data =
        to_string({parse_endpoint(setup_.address)->host, setup_.data_plane->port()});
  return context;
}

/// Precondition: the data are open.
training::TrainingData GenerationBuilderState::training_data() const {
  if (data_)
    return data_->identity;
  return {host_->job->data_fingerprint, host_->job->training->dataset().size()};
}

bool GenerationBuilderState::writes_here(const std::string& writer) const {
  std::error_code ignored;
  return std::filesystem::exists(staging_of(training::run_folder(config()), writer), ignored);
}

/// In a folder that all share, the leader does so for all.
void GenerationBuilderState::remember_members() const {
  if (!leads_ && writes_here(last_.writer))
    return;
  if (const auto written = write_members(training::run_folder(config()), last_); !written)
    setup_.say(written.error().message);
}

void GenerationBuilderState::note_voters(const training::GenerationRecord& record) {
  const bool is_revision = record.job == last_.job && record.number == last_.number;
  if (!is_revision || record.order() <= last_.order())
    return;
  last_ = record;
  remember_members();
}

/// Removes drafts of an earlier process of this node, which led and was killed. A leader does so
/// when it claims the folder.
void GenerationBuilderState::remove_staging() const {
  const auto folder = training::run_folder(config());
  if (!leads_ && !writes_here(last_.writer) && metrics::check_unwritten(folder))
    remove_earlier_staging(folder, last_.writer);
}

/// Nobody goes on with it.
void GenerationBuilderState::forget_job() const {
  const auto folder = training::run_folder(config());
  const auto is_own = leads_ ? writes_here(claimed_) : !writes_here(last_.writer);
  if (is_own)
    forget_members(folder);
  if (leads_)
    withdraw_staging(folder, claimed_);
}

/// Of the leader before, whose folder it may be too, this one takes what it has written, and the
/// right to write more.
Status GenerationBuilderState::claim_folder(const training::GenerationRecord& record,
                                            const std::string& before) {
  if (!leads_ || record.writer == claimed_)
    return {};
  const auto folder = training::run_folder(config());
  TROUPE_TRY(make_folders(folder));
  const bool is_shared = writes_here(before);
  auto unwritten = metrics::check_unwritten(folder);
  // A run of one process, which may have begun meanwhile, removes the file.
  const auto is_left = begins_again_ && !read_members(folder).voters.empty();
  if (!unwritten && !inherits_ && !is_left)
    return unwritten;
  takes_files_ = inherits_ || !unwritten;
  TROUPE_TRY(claim_staging(folder, record.writer, inherits_ ? Claim::takes_over : Claim::begins));
  if (inherits_ && !is_shared && view_)
    TROUPE_TRY(view_->hand_over_history());
  claimed_ = record.writer;
  return {};
}

/// Who would begin a job asks first whether others go on with it. Leaves it open where this node
/// was told to join others, which may not be there yet.
Status GenerationBuilderState::find_job(const JoinContext& context) {
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

/// Where the leader is lost, at the one that follows it, or as that.
Result<Place> GenerationBuilderState::find_place(JoinContext& context) {
  auto place = with_folder(enter_job(context));
  while (!place && is_leaderless(place.error())) {
    TROUPE_TRY(follow_or_lead(context, place.error()));
    place = with_folder(take_assignment(context, joined_));
  }
  return place;
}

/// A leader that was stopped meanwhile may come too late for the run's folder: then another leads.
Result<Place> GenerationBuilderState::with_folder(Result<Place> place) {
  if (!place)
    return place;
  const auto before = std::exchange(last_, place->assignment.generation);
  TROUPE_TRY(claim_folder(last_, before.writer));
  return place;
}

/// Of the job that this node takes part in already, or that it comes to.
Result<Place> GenerationBuilderState::enter_job(const JoinContext& context) {
  if (leads_ || last_.number > 0)
    return take_assignment(context, joined_);
  return join_job(context, joined_);
}

/// Whether others can tell where the job goes on.
bool GenerationBuilderState::is_leaderless(const Error& error) const {
  if (!setup_.voter || last_.voters.size() < 2)
    return false;
  const bool has_left = error.code == Errc::stopped && error.where.node == joined_.leader;
  return error.code == Errc::network || has_left;
}

Status GenerationBuilderState::follow_or_lead(JoinContext& context, const Error& lost) {
  if (std::exchange(leads_, false)) { // of which the others know nothing any more
    caf::anon_send_exit(joined_.membership, caf::exit_reason::user_shutdown);
    view_.reset(); // its files are another's
  }
  LeaderLoss leader_loss{last_, lost};
  TROUPE_TRY(joined_, find_successor(context, leader_loss));
  inherits_ = !joined_.membership;
  if (inherits_) {
    leads_ = true;
    joined_ = lead_job(context, leader_loss);
    setup_.say(
        fmt::format("this node leads the job from now on, after {}", leader_loss.last.leader()));
  }
  TROUPE_TRY(context.info.offer, offer(context));
  return {};
}

} // namespace troupe::actors
