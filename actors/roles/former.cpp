#include "actors/roles/former.hpp"

#include "actors/cluster/carried_error.hpp"
#include "actors/roles/metrics_role.hpp"
#include "actors/roles/traced.hpp"
#include "core/device/memory_advice.hpp"
#include "core/drafts.hpp"
#include "core/fail.hpp"
#include "engine/shared_folder.hpp"

#include <utility>

namespace troupe::actors {

namespace {

double seconds_between(std::chrono::steady_clock::time_point from,
                       std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>{to - from}.count();
}

} // namespace

FormerState::~FormerState() {
  generation_.reset(); // its streams call actors, as long as they run
  if (leads_)
    caf::anon_send_exit(joined_.membership, caf::exit_reason::user_shutdown);
  else if (!claimed_.empty()) // another node leads; it has taken them over if the folder is shared
    withdraw_drafts(engine::run_folder(config()), claimed_);
}

former_actor::behavior_type FormerState::make_behavior() {
  return traced<former_actor>(
      setup_.row,
      [this](atom::form) -> caf::result<FormedPtr> {
        auto formed = form();
        if (formed)
          return *formed;
        const auto error = begins_afresh() ? before_first_step(formed.error()) : formed.error();
        give_up(error);
        return carry(error);
      },
      [this](atom::release, bool for_all) {
        generation_.reset();
        if (for_all && is_daemon())
          forget_job();
      },
      [this](atom::halt, const RunViewPtr& view) { halt(view); },
      [this](atom::decided, const engine::GenerationRecord& record) { note_voters(record); });
}

Result<FormedPtr> FormerState::form() {
  if (setup_.options.witness)
    return watch();
  TROUPE_TRY(is_daemon() ? come_together() : start_alone());
  setup_.exposition.enter(metrics::JobPhase::starting);
  if (const auto& seat = place_->seat; !host_)
    TROUPE_TRY(
        prepare_host(seat.generation.slices, seat.leads(), seat.generation.nodes.size() == 1));
  if (!host_->state)
    host_->state = host_->initial;
  connecting_ = Clock::now();
  auto generation = engine::form_generation(host_, place_->seat, place_->meeting, setup_.trace);
  server_.reset(); // all have what they need, or nobody will
  if (!generation)
    return failure(cause(applicant(), *place_, generation.error()));
  generation_ = std::move(*generation);
  if (place_->seat.leads()) // the ranks are connected: all nodes have entered
    engine::withdraw_offer(host_->job->checkpoints().folder(), place_->seat.shared);
  return show();
}

void FormerState::halt(RunViewPtr view) {
  view_ = std::move(view);
  if (!generation_)
    return;
  if (const auto left = engine::leave_own_state(*generation_); !left)
    setup_.say(fmt::format("this node's state cannot be read: {}", left.error().to_string()));
  generation_.reset();
}

Status FormerState::start_alone() {
  TROUPE_TRY(beginning_, engine::find_beginning(config(), engine::run_folder(config())));
  place_ = {
      engine::seat_alone(static_cast<std::int32_t>(config().devices.count), engine::host_name())};
  place_->seat.generation.slices = config().slices();
  place_->seat.generation.step = beginning_.state ? beginning_.state->header().step : 0;
  return {};
}

Status FormerState::come_together() {
  place_.reset();
  TROUPE_TRY(open_data());
  setup_.exposition.enter(metrics::JobPhase::waiting);
  auto applicant = this->applicant();
  if (!joined_.membership)
    TROUPE_TRY(find_job(applicant));
  TROUPE_TRY(applicant.info.offer, offer(applicant));
  const bool starts = last_.number == 0;
  TROUPE_TRY(place_, find_place(applicant));
  if (starts) // later the folder may be shared, and its next leader may not have claimed it yet
    remove_drafts();
  remember_members();
  healing_ = Clock::now();
  TROUPE_TRY(share(applicant));
  say_place();
  return {};
}

Status FormerState::share(const Applicant& applicant) {
  if (place_->seat.generation.shards > 0) {
    TROUPE_TRY(auto shared,
               share_parts(applicant, *place_, host_ ? host_->held : engine::HeldStates{}));
    state() = std::move(shared.state);
    server_ = std::move(shared.server);
    return {};
  }
  if (holds_parts())
    TROUPE_TRY(go_back());
  TROUPE_TRY(state(), share_state(applicant, joined_.membership, *place_, state()));
  return {};
}

/// What this node holds is not enough, with what others do. The leader has offered its newest
/// checkpoint without having read it.
Status FormerState::go_back() {
  host_->held.clear();
  if (leads_ && inherits_ && !newest_)
    return nothing_to_go_on_from();
  if (!leads_ || !newest_)
    return {};
  TROUPE_TRY(state(), open_state(*newest_));
  return {};
}

void FormerState::say_place() const {
  const auto& seat = place_->seat;
  const auto& record = seat.generation;
  if (record.nodes.size() > 1 || !record.is_first())
    setup_.say(fmt::format("generation {} from step {}: node {} of {}, {} of {} workers",
                           record.number, record.step, seat.node + 1, record.nodes.size(),
                           seat.place().workers, record.world_size()));
  if (const auto lacks = engine::lacks_copies(config().parallel, record); leads_ && !lacks.empty())
    setup_.say(lacks);
}

Result<StateOffer> FormerState::offer(const Applicant& applicant) {
  if (!joined_.membership && leads_) {
    TROUPE_TRY(beginning_, engine::find_beginning(config(), engine::run_folder(config())));
    first_ = beginning_;
    joined_ = lead_job(applicant);
    return offer_beginning(applicant, beginning_);
  }
  if (holds_parts()) // what was to be read from others is not there any more
    state().reset();
  TROUPE_TRY(auto offer, offer_whole(applicant));
  if (holds_parts())
    for (const auto& held : host_->held)
      offer.parts.push_back(held->shards);
  return offer;
}

tl::unexpected<Error> FormerState::nothing_to_go_on_from() const {
  return fail(Errc::io,
              "what the strategy divides has gone with {}, and {} has no checkpoint of the run: a "
              "folder that all nodes share (run.output) would have",
              last_.leader(), (engine::run_folder(config()) / "checkpoints").string());
}

/// None until the run has begun: its folder may still hold an earlier run (checkpoint.resume).
engine::Beginning FormerState::find_newest() const {
  if (!shown_ && !inherits_)
    return {};
  // Beside parts it is read if it is needed.
  return engine::find_newest(engine::run_folder(config()),
                             holds_parts() ? Verify::sizes : Verify::content);
}

Result<StateOffer> FormerState::offer_whole(const Applicant& applicant) {
  if (state())
    return StateOffer{.step = state()->header().step, .travels = true};
  if (!leads_)
    return StateOffer{};
  const auto newest = find_newest();
  for (const auto& note : newest.notes)
    setup_.say(note);
  if (inherits_ && !newest.state && shown_ && !holds_parts())
    return nothing_to_go_on_from();
  const auto& last = newest.state ? newest : first_;
  newest_ = newest.state ? std::optional{newest.path} : std::nullopt;
  state() = last.state;
  return offer_beginning(applicant, last);
}

/// The state comes when it has a seat.
Status FormerState::prepare_to_join(std::int64_t slices) {
  if (host_)
    return {};
  TROUPE_TRY(prepare_host(slices, false, false));
  host_->state.reset();
  return {};
}

/// Others must have the same, which is known before this node asks for a seat.
Status FormerState::open_data() {
  if (data_ || host_)
    return {};
  TROUPE_TRY(data_, engine::open_data(config()));
  return {};
}

Status FormerState::prepare_host(std::int64_t slices, bool leads, bool is_alone) {
  TROUPE_TRY(open_data());
  TROUPE_TRY(auto job, engine::open_job(config(), *data_, beginning_, leads));
  auto host = engine::make_host(std::move(job), slices, std::exchange(beginning_.state, nullptr),
                                {.say = setup_.say, .cancelled = [this, is_alone] {
                                   return is_alone && setup_.stopped_within({});
                                 }});
  if (!host)
    return failure(host.error());
  host_ = std::move(*host);
  data_.reset();
  return {};
}

Result<RunViewPtr> FormerState::open_view(const metrics::RunInfo& info) {
  view_.reset(); // the one before has the same files
  return RunView::open(generation_->job(), info, place_->seat, !std::exchange(shown_, true),
                       takes_files_, setup_.options, setup_.exposition);
}

Result<FormedPtr> FormerState::show() {
  auto info = generation_->info();
  info.version = setup_.options.version;
  std::optional<metrics::EarlierRun> before;
  if (view_ && view_->is_followed_by(info, place_->seat.leads())) {
    view_->go_on(info, place_->seat);
  } else {
    TROUPE_TRY(view_, open_view(info));
    takes_files_ = false;
    before = view_->before();
  }
  if (setup_.formed)
    setup_.formed();
  const auto metrics =
      self_->system().spawn<metrics_actor::stateful_impl<MetricsState>, caf::detached>(
          MetricsSetup{.view = std::exchange(view_, nullptr),
                       .sampler = HostSampler{*generation_},
                       .address = place_->seat.place().address,
                       .trace = setup_.trace});
  return std::make_shared<const Formed>(
      Formed{.generation = generation_,
             .info = std::move(info),
             .before = before,
             .best = leads_ ? engine::best_before(generation_->job()) : std::nullopt,
             .takes_over = std::exchange(inherits_, false),
             .metrics = metrics,
             .metrics_address = setup_.metrics_address,
             .heal = seconds_between(healing_, connecting_),
             .connect = seconds_between(connecting_, Clock::now())});
}

/// This node cannot do its part: the others need not wait for it. An error that does not name
/// another node is this one's, or one between nodes.
void FormerState::give_up(Error error) {
  if (!joined_.membership || !place_)
    return;
  if (error.where.node.empty())
    error.where.node = setup_.address;
  // This waits until they know: a node that goes before is taken for dead.
  caf::scoped_actor self{self_->system()};
  self->request(joined_.membership, config().cluster.timeouts.detection, atom::failed_v,
                place_->seat.generation.number, std::move(error))
      .receive([] {}, [](const caf::error&) {});
}

} // namespace troupe::actors
