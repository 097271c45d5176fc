// How FORMER comes to its place among the nodes of a job, and keeps what it needs to come back.
#include "actors/cluster/predecessors.hpp"
#include "actors/cluster/roster.hpp"
#include "actors/roles/former.hpp"
#include "core/atomic_file.hpp"
#include "core/drafts.hpp"
#include "core/fail.hpp"

#include <utility>

namespace troupe::actors {

/// A seat is never for a witness: this ends when the job does.
Result<FormedPtr> FormerState::watch() {
  setup_.exposition.enter(metrics::JobPhase::waiting);
  setup_.say("this node is a witness: it votes on who takes part, and trains nothing");
  auto applicant = this->applicant();
  applicant.info.workers = 0;
  const auto place = join_job(applicant, joined_);
  return failure(place ? Error{Errc::internal, "a witness has got a seat"} : place.error());
}

Applicant FormerState::applicant() {
  Applicant applicant{.system = self_->system(),
                      .config = setup_.config,
                      .network = setup_.network,
                      .node = setup_.node,
                      .voter = setup_.voter,
                      .info = {.address = setup_.address,
                               .host = engine::host_name(),
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
                      .has_had_seat = last_.number > 0};
  if (!setup_.options.witness)
    applicant.info.training = training_data();
  const auto before = read_members(engine::run_folder(config()));
  applicant.info.generation = std::max(last_.number, before.generation);
  for (const auto& node : before.nodes)
    applicant.known.push_back(node.address);
  if (setup_.data_plane)
    applicant.info.data =
        to_string({parse_endpoint(setup_.address)->host, setup_.data_plane->port()});
  return applicant;
}

/// Precondition: the data are open.
engine::TrainingData FormerState::training_data() const {
  if (data_)
    return data_->identity;
  return {host_->job->data_fingerprint, host_->job->training->dataset().size()};
}

bool FormerState::writes_here(const std::string& writer) const {
  std::error_code ignored;
  return std::filesystem::exists(drafts_of(engine::run_folder(config()), writer), ignored);
}

/// In a folder that all share, the leader does so for all.
void FormerState::remember_members() const {
  if (!leads_ && writes_here(last_.writer))
    return;
  if (const auto written = write_members(engine::run_folder(config()), last_); !written)
    setup_.say(written.error().message);
}

void FormerState::note_voters(const engine::GenerationRecord& record) {
  const bool is_revision = record.job == last_.job && record.number == last_.number;
  if (!is_revision || record.order() <= last_.order())
    return;
  last_ = record;
  remember_members();
}

/// Removes drafts of an earlier process of this node, which led and was killed. A leader does so
/// when it claims the folder.
void FormerState::remove_drafts() const {
  const auto folder = engine::run_folder(config());
  if (!leads_ && !writes_here(last_.writer) && metrics::check_unwritten(folder))
    remove_earlier_drafts(folder, last_.writer);
}

/// Nobody goes on with it.
void FormerState::forget_job() const {
  const auto folder = engine::run_folder(config());
  const auto is_own = leads_ ? writes_here(claimed_) : !writes_here(last_.writer);
  if (is_own)
    forget_members(folder);
  if (leads_)
    withdraw_drafts(folder, claimed_);
}

/// Of the leader before, whose folder it may be too, this one takes what it has written, and the
/// right to write more.
Status FormerState::claim_folder(const engine::GenerationRecord& record,
                                 const std::string& before) {
  if (!leads_ || record.writer == claimed_)
    return {};
  const auto folder = engine::run_folder(config());
  TROUPE_TRY(make_folders(folder));
  const bool is_shared = writes_here(before);
  auto unwritten = metrics::check_unwritten(folder);
  // A run of one process, which may have begun meanwhile, removes the file.
  const auto is_left = begins_again_ && !read_members(folder).voters.empty();
  if (!unwritten && !inherits_ && !is_left)
    return unwritten;
  takes_files_ = inherits_ || !unwritten;
  TROUPE_TRY(claim_drafts(folder, record.writer, inherits_ ? Claim::takes_over : Claim::begins));
  if (inherits_ && !is_shared && view_)
    TROUPE_TRY(view_->hand_over_history());
  claimed_ = record.writer;
  return {};
}

/// Who would begin a job asks first whether others go on with it. Leaves it open where this node
/// was told to join others, which may not be there yet.
Status FormerState::find_job(const Applicant& applicant) {
  if (!may_begin(config().cluster, applicant.info.address))
    return {};
  const auto before = read_members(engine::run_folder(config()));
  TROUPE_TRY(const auto found, find_running_job(applicant, before));
  if (found)
    joined_ = *found;
  leads_ = !found;
  begins_again_ = leads_ && !before.voters.empty();
  return {};
}

/// Where the leader is lost, at the one that follows it, or as that.
Result<Place> FormerState::find_place(Applicant& applicant) {
  auto place = with_folder(enter_job(applicant));
  while (!place && is_orphan(place.error())) {
    TROUPE_TRY(follow_or_lead(applicant, place.error()));
    place = with_folder(take_seat(applicant, joined_));
  }
  return place;
}

/// A leader that was stopped meanwhile may come too late for the run's folder: then another leads.
Result<Place> FormerState::with_folder(Result<Place> place) {
  if (!place)
    return place;
  const auto before = std::exchange(last_, place->seat.generation);
  TROUPE_TRY(claim_folder(last_, before.writer));
  return place;
}

/// Of the job that this node takes part in already, or that it comes to.
Result<Place> FormerState::enter_job(const Applicant& applicant) {
  if (leads_ || last_.number > 0)
    return take_seat(applicant, joined_);
  return join_job(applicant, joined_);
}

/// Whether others can tell where the job goes on.
bool FormerState::is_orphan(const Error& error) const {
  if (!setup_.voter || last_.voters.size() < 2)
    return false;
  const bool has_left = error.code == Errc::stopped && error.where.node == joined_.leader;
  return error.code == Errc::network || has_left;
}

Status FormerState::follow_or_lead(Applicant& applicant, const Error& lost) {
  if (std::exchange(leads_, false)) { // of which the others know nothing any more
    caf::anon_send_exit(joined_.membership, caf::exit_reason::user_shutdown);
    view_.reset(); // its files are another's
  }
  Vacancy vacancy{last_, lost};
  TROUPE_TRY(joined_, find_successor(applicant, vacancy));
  inherits_ = !joined_.membership;
  if (inherits_) {
    leads_ = true;
    joined_ = lead_job(applicant, vacancy);
    setup_.say(fmt::format("this node leads the job from now on, after {}", vacancy.last.leader()));
  }
  TROUPE_TRY(applicant.info.offer, offer(applicant));
  return {};
}

} // namespace troupe::actors
