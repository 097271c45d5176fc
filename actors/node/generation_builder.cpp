#include "actors/node/generation_builder.hpp"

#include "actors/caf_error.hpp"
#include "actors/roles/metrics_role.hpp"
#include "actors/roles/traced.hpp"
#include "core/device/memory_advice.hpp"
#include "core/fail.hpp"
#include "core/staging.hpp"
#include "training/shared_folder.hpp"

#include <utility>

namespace troupe::actors {

namespace {

double seconds_between(std::chrono::steady_clock::time_point from,
                       std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>{to - from}.count();
}

} // namespace

GenerationBuilderState::~GenerationBuilderState() {
  generation_.reset(); // its streams call actors, as long as they run
  if (leads_)
    caf::anon_send_exit(joined_.membership, caf::exit_reason::user_shutdown);
  else if (!claimed_.empty()) // another node leads; it has taken them over if the folder is shared
    withdraw_staging(training::run_folder(config()), claimed_);
}

generation_builder_actor::behavior_type GenerationBuilderState::make_behavior() {
  return traced<generation_builder_actor>(
      setup_.row,
      [this](atom::form) -> caf::result<BuiltGenerationPtr> {
        auto built = form();
        if (built)
          return *built;
        const auto error = begins_afresh() ? before_first_step(built.error()) : built.error();
        give_up(error);
        return to_caf_error(error);
      },
      [this](atom::release, bool for_all) {
        generation_.reset();
        if (for_all && is_daemon())
          forget_job();
      },
      [this](atom::halt, const RunViewPtr& view) { halt(view); },
      [this](atom::decided, const training::GenerationRecord& record) { note_voters(record); });
}

Result<BuiltGenerationPtr> GenerationBuilderState::form() {
  if (setup_.options.witness)
    return watch();
  TROUPE_TRY(is_daemon() ? come_together() : start_alone());
  setup_.exposition.enter(metrics::JobPhase::starting);
  if (const auto& assignment = place_->assignment; !host_)
    TROUPE_TRY(prepare_compiled_job(assignment.generation.slices, assignment.leads(),
                                    assignment.generation.nodes.size() == 1));
  if (!host_->state)
    host_->state = host_->initial;
  connecting_ = Clock::now();
  auto generation =
      training::build_generation(host_, place_->assignment, place_->connection_group, setup_.trace);
  server_.reset(); // all have what they need, or nobody will
  if (!generation)
    return failure(cause(context(), *place_, generation.error()));
  generation_ = std::move(*generation);
  if (place_->assignment.leads()) // the ranks are connected: all nodes have entered
    training::withdraw_offer(host_->job->checkpoints().folder(), place_->assignment.shared);
  return show();
}

void GenerationBuilderState::halt(RunViewPtr view) {
  view_ = std::move(view);
  if (!generation_)
    return;
  if (const auto left = training::salvage_state(*generation_); !left)
    setup_.say(fmt::format("this node's state cannot be read: {}", left.error().to_string()));
  generation_.reset();
}

Status GenerationBuilderState::start_alone() {
  TROUPE_TRY(resume_point_, training::find_resume_point(config(), training::run_folder(config())));
  place_ = {training::single_node_assignment(static_cast<std::int32_t>(config().devices.count),
                                             training::host_name())};
  place_->assignment.generation.slices = config().slices();
  place_->assignment.generation.step = resume_point_.state ? resume_point_.state->header().step : 0;
  return {};
}

Status GenerationBuilderState::come_together() {
  place_.reset();
  TROUPE_TRY(open_data());
  setup_.exposition.enter(metrics::JobPhase::waiting);
  auto context = this->context();
  if (!joined_.membership)
    TROUPE_TRY(find_job(context));
  TROUPE_TRY(context.info.offer, offer(context));
  const bool starts = last_.number == 0;
  TROUPE_TRY(place_, find_place(context));
  if (starts) // later the folder may be shared, and its next leader may not have claimed it yet
    remove_staging();
  remember_members();
  healing_ = Clock::now();
  TROUPE_TRY(share(context));
  say_place();
  return {};
}

Status GenerationBuilderState::share(const JoinContext& context) {
  if (place_->assignment.generation.shards > 0) {
    TROUPE_TRY(auto shared, share_shards(context, *place_,
                                         host_ ? host_->retained : training::RetainedStates{}));
    state() = std::move(shared.state);
    server_ = std::move(shared.server);
    return {};
  }
  if (holds_shards())
    TROUPE_TRY(go_back());
  TROUPE_TRY(state(), share_state(context, joined_.membership, *place_, state()));
  return {};
}

/// What this node holds is not enough, with what others do. The leader has offered its newest
/// checkpoint without having read it.
Status GenerationBuilderState::go_back() {
  host_->retained.clear();
  if (leads_ && inherits_ && !newest_)
    return nothing_to_go_on_from();
  if (!leads_ || !newest_)
    return {};
  TROUPE_TRY(state(), open_state(*newest_));
  return {};
}

void GenerationBuilderState::say_place() const {
  const auto& assignment = place_->assignment;
  const auto& record = assignment.generation;
  if (record.nodes.size() > 1 || !record.is_first())
    setup_.say(fmt::format("generation {} from step {}: node {} of {}, {} of {} workers",
                           record.number, record.step, assignment.node + 1, record.nodes.size(),
                           assignment.member().workers, record.world_size()));
  if (const auto lacks = training::lacks_copies(config().parallel, record);
      leads_ && !lacks.empty())
    setup_.say(lacks);
}

Result<StateOffer> GenerationBuilderState::offer(const JoinContext& context) {
  if (!joined_.membership && leads_) {
    TROUPE_TRY(resume_point_,
               training::find_resume_point(config(), training::run_folder(config())));
    first_ = resume_point_;
    joined_ = lead_job(context);
    return offer_resume_point(context, resume_point_);
  }
  if (holds_shards()) // what was to be read from others is not there any more
    state().reset();
  TROUPE_TRY(auto offer, offer_whole(context));
  if (holds_shards())
    for (const auto& retained : host_->retained)
      offer.parts.push_back(retained->shards);
  return offer;
}

tl::unexpected<Error> GenerationBuilderState::nothing_to_go_on_from() const {
  return fail(Errc::io,
              "what the strategy divides has gone with {}, and {} has no checkpoint of the run: a "
              "folder that all nodes share (run.output) would have",
              last_.leader(), (training::run_folder(config()) / "checkpoints").string());
}

/// None until the run has begun: its folder may still hold an earlier run (checkpoint.resume).
training::ResumePoint GenerationBuilderState::find_newest() const {
  if (!shown_ && !inherits_)
    return {};
  // Beside parts it is read if it is needed.
  return training::find_newest(training::run_folder(config()),
                               holds_shards() ? Verify::sizes : Verify::content);
}

Result<StateOffer> GenerationBuilderState::offer_whole(const JoinContext& context) {
  if (state())
    return StateOffer{.step = state()->header().step, .travels = true};
  if (!leads_)
    return StateOffer{};
  const auto newest = find_newest();
  for (const auto& note : newest.notes)
    setup_.say(note);
  if (inherits_ && !newest.state && shown_ && !holds_shards())
    return nothing_to_go_on_from();
  const auto& last = newest.state ? newest : first_;
  newest_ = newest.state ? std::optional{newest.path} : std::nullopt;
  state() = last.state;
  return offer_resume_point(context, last);
}

/// The state comes when it has a seat.
Status GenerationBuilderState::prepare_to_join(std::int64_t slices) {
  if (host_)
    return {};
  TROUPE_TRY(prepare_compiled_job(slices, false, false));
  host_->state.reset();
  return {};
}

/// Others must have the same, which is known before this node asks for a seat.
Status GenerationBuilderState::open_data() {
  if (data_ || host_)
    return {};
  TROUPE_TRY(data_, training::open_data(config()));
  return {};
}

Status GenerationBuilderState::prepare_compiled_job(std::int64_t slices, bool leads,
                                                    bool is_alone) {
  TROUPE_TRY(open_data());
  TROUPE_TRY(auto job, training::open_job(config(), *data_, resume_point_, leads));
  auto host =
      training::compile_job(std::move(job), slices, std::exchange(resume_point_.state, nullptr),
                            {.say = setup_.say, .cancelled = [this, is_alone] {
                               return is_alone && setup_.stopped_within({});
                             }});
  if (!host)
    return failure(host.error());
  host_ = std::move(*host);
  data_.reset();
  return {};
}

Result<RunViewPtr> GenerationBuilderState::open_view(const metrics::RunInfo& info) {
  view_.reset(); // the one before has the same files
  return RunView::open(generation_->job(), info, place_->assignment, !std::exchange(shown_, true),
                       takes_files_, setup_.options, setup_.exposition);
}

Result<BuiltGenerationPtr> GenerationBuilderState::show() {
  auto info = generation_->info();
  info.version = setup_.options.version;
  std::optional<metrics::EarlierRun> before;
  if (view_ && view_->is_followed_by(info, place_->assignment.leads())) {
    view_->go_on(info, place_->assignment);
  } else {
    TROUPE_TRY(view_, open_view(info));
    takes_files_ = false;
    before = view_->before();
  }
  if (setup_.built)
    setup_.built();
  const auto metrics =
      self_->system().spawn<metrics_actor::stateful_impl<MetricsState>, caf::detached>(
          MetricsSetup{.view = std::exchange(view_, nullptr),
                       .sampler = HostSampler{*generation_},
                       .address = place_->assignment.member().address,
                       .trace = setup_.trace});
  return std::make_shared<const BuiltGeneration>(
      BuiltGeneration{.generation = generation_,
                      .info = std::move(info),
                      .before = before,
                      .best = leads_ ? training::best_before(generation_->job()) : std::nullopt,
                      .takes_over = std::exchange(inherits_, false),
                      .metrics = metrics,
                      .metrics_address = setup_.metrics_address,
                      .heal = seconds_between(healing_, connecting_),
                      .connect = seconds_between(connecting_, Clock::now())});
}

/// This node cannot do its part: the others need not wait for it. An error that does not name
/// another node is this one's, or one between nodes.
void GenerationBuilderState::give_up(Error error) {
  if (!joined_.membership || !place_)
    return;
  if (error.where.node.empty())
    error.where.node = setup_.address;
  // This waits until they know: a node that goes before is taken for dead.
  caf::scoped_actor self{self_->system()};
  self->request(joined_.membership, config().cluster.timeouts.detection, atom::failed_v,
                place_->assignment.generation.number, std::move(error))
      .receive([] {}, [](const caf::error&) {});
}

} // namespace troupe::actors
