#include "actors/node/generation_builder.hpp"

#include "actors/roles/metrics_role.hpp"
#include "core/device/memory_advice.hpp"
#include "core/fail.hpp"
#include "core/staging.hpp"
#include "training/shared_folder.hpp"

#include <utility>

namespace troupe::actors {

GenerationBuilder::~GenerationBuilder() {
  generation_.reset(); // its streams call actors while they run
  if (leads_)
    caf::anon_send_exit(joined_.membership, caf::exit_reason::user_shutdown);
  else if (!claimed_.empty()) // another node leads, and has taken them over if the folder is shared
    withdraw_staging(training::run_folder(config()), claimed_);
}

Result<BuiltGenerationPtr> GenerationBuilder::build() {
  const auto span = setup_.row.span({metrics::SpanKind::handler, "build"});
  auto built = build_next();
  if (built)
    return built;
  // A node that was not admitted yet has trained no step.
  const bool begins_afresh =
      admission_ ? admission_->assignment.generation.step == 0 : last_.number == 0;
  const auto error = begins_afresh ? before_first_step(built.error()) : built.error();
  give_up(error);
  return failure(error);
}

Result<BuiltGenerationPtr> GenerationBuilder::build_next() {
  if (setup_.options.witness)
    return watch();
  TROUPE_TRY(is_daemon() ? come_together() : start_alone());
  setup_.exposition.enter(metrics::JobPhase::starting);
  if (const auto& assignment = admission_->assignment; !compiled_job_)
    TROUPE_TRY(prepare_compiled_job(assignment.generation.slices, assignment.leads(),
                                    assignment.generation.nodes.size() == 1));
  if (!compiled_job_->state)
    compiled_job_->state = compiled_job_->initial;
  started_.connecting = Clock::now();
  auto generation = training::build_generation(compiled_job_, admission_->assignment,
                                               admission_->connection_group, setup_.trace);
  server_.reset(); // all nodes have what they need, or never will
  if (!generation)
    return failure(cause(context(), *admission_, generation.error()));
  generation_ = std::move(*generation);
  if (admission_->assignment.leads()) // the ranks are connected: all nodes have entered the folder
    training::withdraw_offer(compiled_job_->job->checkpoints().folder(),
                             admission_->assignment.shared);
  return show();
}

void GenerationBuilder::release(bool for_all) {
  const auto span = setup_.row.span({metrics::SpanKind::handler, "release"});
  generation_.reset();
  if (for_all && is_daemon())
    forget_job();
}

void GenerationBuilder::halt(RunViewPtr view) {
  const auto span = setup_.row.span({metrics::SpanKind::handler, "halt"});
  view_ = std::move(view);
  if (!generation_)
    return;
  if (const auto left = training::salvage_state(*generation_); !left)
    setup_.join.say(fmt::format("this node's state cannot be read: {}", left.error().to_string()));
  generation_.reset();
}

Status GenerationBuilder::start_alone() {
  TROUPE_TRY(resume_point_, training::find_resume_point(config(), training::run_folder(config())));
  admission_ = {training::single_node_assignment(static_cast<std::int32_t>(config().devices.count),
                                                 training::host_name())};
  admission_->assignment.generation.slices = config().slices();
  admission_->assignment.generation.step =
      resume_point_.state ? resume_point_.state->header().step : 0;
  return {};
}

Status GenerationBuilder::come_together() {
  admission_.reset();
  TROUPE_TRY(open_data());
  setup_.exposition.enter(metrics::JobPhase::waiting);
  auto context = this->context();
  if (!joined_.membership)
    TROUPE_TRY(find_job(context));
  TROUPE_TRY(context.info.offer, offer(context));
  const bool starts = last_.number == 0;
  TROUPE_TRY(admission_, find_admission(context));
  if (starts) // later the folder may be shared, and its next leader may not have claimed it yet
    remove_staging();
  remember_members();
  started_.healing = Clock::now();
  TROUPE_TRY(share(context));
  log_admission();
  return {};
}

Status GenerationBuilder::share(const JoinContext& context) {
  if (admission_->assignment.generation.shards > 0) {
    TROUPE_TRY(auto shared,
               share_shards(context, *admission_,
                            compiled_job_ ? compiled_job_->retained : training::RetainedStates{}));
    state() = std::move(shared.state);
    server_ = std::move(shared.server);
    return {};
  }
  if (holds_shards())
    TROUPE_TRY(go_back());
  TROUPE_TRY(state(), share_state(context, joined_.membership, *admission_, state()));
  return {};
}

/// The shards of all nodes together are incomplete. The leader has offered its newest checkpoint
/// without reading it.
Status GenerationBuilder::go_back() {
  compiled_job_->retained.clear();
  if (leads_ && inherits_ && !newest_)
    return nothing_to_go_on_from();
  if (!leads_ || !newest_)
    return {};
  TROUPE_TRY(state(), open_state(*newest_));
  return {};
}

void GenerationBuilder::log_admission() const {
  const auto& assignment = admission_->assignment;
  const auto& record = assignment.generation;
  if (record.nodes.size() > 1 || !record.is_first())
    setup_.join.say(
        fmt::format("generation {} starts at step {}: this is node {} of {}, with {} of {} workers",
                    record.number, record.step, assignment.node + 1, record.nodes.size(),
                    assignment.member().workers, record.world_size()));
  if (const auto lacks = training::lacks_copies(config().parallel, record);
      leads_ && !lacks.empty())
    setup_.join.say(lacks);
}

Result<StateOffer> GenerationBuilder::offer(const JoinContext& context) {
  if (!joined_.membership && leads_) {
    TROUPE_TRY(resume_point_,
               training::find_resume_point(config(), training::run_folder(config())));
    first_ = resume_point_;
    joined_ = lead_job(context);
    return offer_resume_point(context, resume_point_);
  }
  if (holds_shards()) // the nodes that it would be read from no longer have it
    state().reset();
  TROUPE_TRY(auto offer, offer_whole(context));
  if (holds_shards())
    for (const auto& retained : compiled_job_->retained)
      offer.parts.push_back(retained->shards);
  return offer;
}

tl::unexpected<Error> GenerationBuilder::nothing_to_go_on_from() const {
  return fail(Errc::io,
              "the state that only node {} had is lost, and {} contains no checkpoint of the run; "
              "set run.output to a folder that all nodes share",
              last_.leader(), (training::run_folder(config()) / "checkpoints").string());
}

/// Returns none until the run has begun: its folder may still contain an earlier run
/// (checkpoint.resume).
training::ResumePoint GenerationBuilder::find_newest() const {
  if (!shown_ && !inherits_)
    return {};
  // With shards, it is only read if it is needed.
  return training::find_newest(training::run_folder(config()),
                               holds_shards() ? Verify::sizes : Verify::content);
}

Result<StateOffer> GenerationBuilder::offer_whole(const JoinContext& context) {
  if (state())
    return StateOffer{.step = state()->header().step, .travels = true};
  if (!leads_)
    return StateOffer{};
  const auto newest = find_newest();
  for (const auto& note : newest.notes)
    setup_.join.say(note);
  if (inherits_ && !newest.state && shown_ && !holds_shards())
    return nothing_to_go_on_from();
  const auto& last = newest.state ? newest : first_;
  newest_ = newest.state ? std::optional{newest.path} : std::nullopt;
  state() = last.state;
  return offer_resume_point(context, last);
}

/// Opens the data first: other nodes must have the same, which is checked when this node joins.
Status GenerationBuilder::open_data() {
  if (data_ || compiled_job_)
    return {};
  TROUPE_TRY(data_, training::open_data(config()));
  return {};
}

Status GenerationBuilder::prepare_compiled_job(std::int64_t slices, bool leads, bool is_alone) {
  TROUPE_TRY(open_data());
  TROUPE_TRY(auto job, training::open_job(config(), *data_, resume_point_, leads));
  auto compiled_job =
      training::compile_job(std::move(job), slices, std::exchange(resume_point_.state, nullptr),
                            {.say = setup_.join.say, .cancelled = [this, is_alone] {
                               return is_alone && setup_.join.stopped_within({});
                             }});
  if (!compiled_job)
    return failure(compiled_job.error());
  compiled_job_ = std::move(*compiled_job);
  data_.reset();
  return {};
}

Result<BuiltGenerationPtr> GenerationBuilder::show() {
  using Seconds = std::chrono::duration<double>;
  auto info = generation_->info();
  info.version = setup_.options.version;
  std::optional<metrics::EarlierRun> before;
  if (view_ && view_->is_followed_by(info, admission_->assignment.leads())) {
    view_->go_on(info, admission_->assignment);
  } else {
    view_.reset(); // it has the same files
    TROUPE_TRY(view_, RunView::open(generation_->job(), info, admission_->assignment,
                                    !std::exchange(shown_, true), takes_files_, setup_.options,
                                    setup_.exposition));
    takes_files_ = false;
    before = view_->before();
  }
  if (setup_.built)
    setup_.built();
  const auto metrics =
      setup_.join.system.spawn<metrics_actor::stateful_impl<MetricsState>, caf::detached>(
          MetricsSetup{.view = std::exchange(view_, nullptr),
                       .sampler = HostSampler{*generation_},
                       .address = admission_->assignment.member().address,
                       .trace = setup_.trace});
  return std::make_shared<const BuiltGeneration>(
      BuiltGeneration{.generation = generation_,
                      .info = std::move(info),
                      .before = before,
                      .best = leads_ ? training::best_before(generation_->job()) : std::nullopt,
                      .takes_over = std::exchange(inherits_, false),
                      .metrics = metrics,
                      .heal = Seconds{started_.connecting - started_.healing}.count(),
                      .connect = Seconds{Clock::now() - started_.connecting}.count()});
}

/// Reports that this node cannot do its part, so that the others need not wait for it. An error
/// that does not name another node is this one's, or one between nodes.
void GenerationBuilder::give_up(Error error) {
  if (!joined_.membership || !admission_)
    return;
  if (error.where.node.empty())
    error.where.node = setup_.join.info.address;
  // Waits until they know: a node that ends before is taken for lost.
  caf::scoped_actor self{setup_.join.system};
  self->request(joined_.membership, config().cluster.timeouts.detection, atom::failed_v,
                admission_->assignment.generation.number, SharedFailure{std::move(error)})
      .receive([] {}, [](const caf::error&) {});
}

} // namespace troupe::actors
