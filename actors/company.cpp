#include "company.hpp"

#include "cluster/drain.hpp"
#include "cluster/joining.hpp"
#include "cluster/linger.hpp"
#include "cluster/network.hpp"
#include "cluster/roster.hpp"
#include "cluster/tls.hpp"
#include "interfaces.hpp"
#include "roles/metrics_role.hpp"
#include "roles/node.hpp"
#include "roles/traced.hpp"
#include "troupe/engine/job.hpp"

#include "troupe/core/fail.hpp"
#include "troupe/core/units.hpp"
#include "troupe/metrics/exposition.hpp"
#include "troupe/metrics/socket.hpp"

namespace troupe::actors {

namespace {

/// HOST:PORT that other hosts can use for what listens at `bound`, also where that is every
/// address.
std::string reachable_address(Endpoint bound, const ClusterConfig& cluster) {
  const auto advertised = parse_endpoint(cluster.advertise.value_or(""));
  if (is_any_address(bound))
    bound.host = advertised ? advertised->host : engine::host_name();
  return metrics::to_string(bound);
}

/// The actors of this process, from the first spawn to the last exit.
class Company {
public:
  Company(const Config& config, const RunOptions& options, metrics::Exposition& exposition,
          NodeSetup node)
      : config_{config}, options_{options},
        exposition_{exposition}, network_{options.version, config.cluster.tls,
                                          config.cluster.timeouts, config.cluster.max_nodes},
        settings_{options.daemon ? std::optional{network_} : std::nullopt}, system_{settings_},
        node_{system_.spawn<node_actor::stateful_impl<NodeState>>(std::move(node))},
        log_{make_run_logger(screen_, options)} {
    show_endpoint();
  }
  Company(const Company&) = delete;
  Company& operator=(const Company&) = delete;

  ~Company() {
    drain_streams();
    caf::anon_send_exit(node_, caf::exit_reason::user_shutdown);
    if (membership_)
      caf::anon_send_exit(membership_, caf::exit_reason::user_shutdown);
    if (metrics_)
      caf::anon_send_exit(metrics_, caf::exit_reason::user_shutdown);
    system_.await_all_actors_done();
  }

  const node_actor& node() const { return node_; }

  /// Listens at cluster.listen. Its address is then this node's name.
  Status publish();
  /// Blocks until all nodes are there, or it is asked to stop.
  Result<engine::JobStart> come_together(Drain& drain);
  Result<std::shared_ptr<engine::Job>> prepare(engine::JobStart start, const metrics::Trace& trace);
  Result<std::unique_ptr<RunView>> open_view(const engine::Job& job);
  /// Blocks until the job has ended.
  RunOutcome run(const std::shared_ptr<engine::Job>& job, std::unique_ptr<RunView> view);
  spdlog::logger& log() { return *log_; }

private:
  void show_endpoint();
  std::string metrics_address() const;
  Result<engine::JobStart> lead(const Applicant& applicant);
  Result<engine::JobStart> follow(const Applicant& applicant);
  /// This node cannot do its part: the others need not wait for it.
  void give_up(Error error);
  void drain_streams();

  const Config& config_;
  const RunOptions& options_;
  metrics::Exposition& exposition_;
  NetworkOptions network_;
  SystemConfig settings_;
  caf::actor_system system_;
  node_actor node_;
  membership_actor membership_; ///< when this node leads
  membership_actor joined_;     ///< ours, or the leader's
  metrics_actor metrics_;
  std::shared_ptr<engine::Job> job_;
  std::string address_;
  metrics::Screen screen_;
  std::shared_ptr<spdlog::logger> log_;
};

void Company::show_endpoint() {
  const auto bound = exposition_.listens_at();
  if (!bound)
    return;
  log_->info("metrics at http://{}/metrics", metrics::to_string(*bound));
  exposition_.targets().set({{metrics_address(), {{"node", engine::host_name()}}}});
}

/// Empty: off.
std::string Company::metrics_address() const {
  const auto bound = exposition_.listens_at();
  return bound ? reachable_address(*bound, config_.cluster) : "";
}

Status Company::publish() {
  const auto& cluster = config_.cluster;
  auto listen = *parse_endpoint(cluster.listen);
  const auto port = actors::publish(node_, listen);
  if (!port)
    return failure(port.error());
  listen.port = *port;
  address_ = cluster.advertise.value_or(reachable_address(listen, cluster));
  log_->info("daemon at {}", address_);
  return {};
}

Result<engine::JobStart> Company::come_together(Drain& drain) {
  const Applicant applicant{
      .system = system_,
      .config = config_,
      .network = network_,
      .node = node_,
      .info = {.address = address_,
               .host = engine::host_name(),
               .version = options_.version,
               .workers = static_cast<std::int32_t>(config_.devices.count),
               .job = shared_settings(config_)},
      .say = [log = log_](const std::string& text) { log->info(text); },
      .stopped_within =
          [&drain](std::chrono::milliseconds limit) { return drain.asked_within(limit); }};
  auto start = config_.cluster.join.empty() ? lead(applicant) : follow(applicant);
  if (!start && start.error().code == Errc::stopped)
    log_->info(start.error().message);
  if (start && start->seat.generation.nodes.size() > 1)
    log_->info("node {} of {}: {} of {} workers", start->seat.node + 1,
               start->seat.generation.nodes.size(), start->seat.place().workers,
               start->seat.generation.world_size());
  return start;
}

Result<engine::JobStart> Company::lead(const Applicant& applicant) {
  auto beginning = engine::find_beginning(config_, engine::run_folder(config_));
  if (!beginning)
    return failure(beginning.error());
  membership_ = joined_ = lead_job(applicant, *beginning);
  auto start = take_seat(applicant, membership_);
  if (!start)
    return start;
  if (const auto fetched = await_fetchers(applicant, membership_, start->seat); !fetched) {
    give_up(fetched.error());
    return failure(fetched.error());
  }
  start->beginning = std::move(*beginning);
  return start;
}

Result<engine::JobStart> Company::follow(const Applicant& applicant) {
  auto start = join_job(applicant, joined_);
  if (!start)
    return start;
  auto beginning = fetch_beginning(applicant, joined_, start->seat);
  if (!beginning) {
    if (beginning.error().code != Errc::network) // the leader knows, or cannot be told
      give_up(beginning.error());
    return failure(beginning.error());
  }
  start->beginning = std::move(*beginning);
  return start;
}

Result<std::shared_ptr<engine::Job>> Company::prepare(engine::JobStart start,
                                                      const metrics::Trace& trace) {
  exposition_.enter(metrics::JobPhase::starting);
  start.say = [log = log_](const std::string& text) { log->info(text); };
  auto job = engine::prepare_job(config_, std::move(start), trace);
  if (job)
    (*job)->info.version = options_.version;
  else
    give_up(job.error());
  return job;
}

Result<std::unique_ptr<RunView>> Company::open_view(const engine::Job& job) {
  auto view = RunView::open(job, options_, exposition_);
  if (!view)
    give_up(view.error());
  return view;
}

void Company::give_up(Error error) {
  if (!joined_)
    return;
  error.where.node = address_;
  // Until they know: who goes before is taken for dead.
  caf::scoped_actor self{system_};
  self->request(joined_, config_.cluster.timeouts.detection, atom::failed_v, std::move(error))
      .receive([] {}, [](const caf::error&) {});
}

RunOutcome Company::run(const std::shared_ptr<engine::Job>& job, std::unique_ptr<RunView> view) {
  job_ = job;
  metrics_ = system_.spawn<metrics_actor::stateful_impl<MetricsState>, caf::detached>(
      std::move(view), job_->trace);
  caf::scoped_actor self{system_};
  RunOutcome outcome{.summary = {job_->info}, .error = {}};
  const RunOrderPtr order =
      std::make_shared<const RunOrder>(RunOrder{job_, metrics_, metrics_address()});
  self->request(node_, caf::infinite, atom::run_v, order)
      .receive(
          [&](const RunOutcomePtr& ended) { outcome = *ended; },
          [&](const caf::error& error) {
            outcome.error = Error{Errc::internal, "the coordinator died: " + caf::to_string(error)};
            outcome.summary.status = "failed";
            outcome.summary.error = outcome.error->to_string();
          });
  if (outcome.error) // ranks that wait for a failed one would wait for the timeout
    for (const auto& replica : job_->replicas)
      replica->abort(*outcome.error);
  return outcome;
}

/// Streams call back into the actor system, and must not once it is gone.
void Company::drain_streams() {
  if (!job_)
    return;
  for (const auto& replica : job_->replicas)
    for (const auto& stream :
         {replica->compute, replica->communication, replica->copies, replica->updates})
      if (stream)
        std::ignore = stream->synchronize();
  for (const auto& loader : job_->loader_streams)
    std::ignore = loader.stream->synchronize();
}

/// Who was asked to stop before the beginning did what it was asked.
Result<metrics::RunSummary> not_begun(const Config& config, const Error& error) {
  if (error.code != Errc::stopped)
    return failure(error);
  metrics::RunSummary summary{engine::run_info(config)};
  summary.status = "stopped";
  return summary;
}

/// This process's part in a job, from its first message to its last.
Result<metrics::RunSummary> take_part(const Config& config, const RunOptions& options,
                                      const metrics::Trace& trace, Company& company, Drain& drain,
                                      const std::function<void()>& started) {
  if (options.daemon) {
    TROUPE_TRY(company.publish());
    started();
  }
  auto start = options.daemon ? company.come_together(drain) : engine::start_alone(config);
  if (!start)
    return not_begun(config, start.error());
  auto job = company.prepare(std::move(*start), trace);
  if (!job)
    return not_begun(config, job.error());
  auto view = company.open_view(**job);
  if (!view)
    return failure(view.error());
  if (!options.daemon)
    started();
  auto summary = company.run(*job, std::move(*view)).summary;
  // A job that has failed is begun again by whoever supervises the daemons, all of them.
  if (options.daemon && (*job)->seat.leads() && summary.status != "failed")
    drain.wait();
  return summary;
}

Result<metrics::RunSummary> run_company(const Config& config, const RunOptions& options,
                                        const metrics::Trace& trace) {
  const bool leads = config.cluster.join.empty();
  // Before all else: a port in use is said at once, and a daemon that waits can be asked.
  auto exposition = metrics::Exposition::open(config.metrics.listen,
                                              engine::run_info(config, options.version), leads);
  if (!exposition)
    return failure(exposition.error());
  const auto drain = std::make_shared<Drain>();
  Company company{config,
                  options,
                  **exposition,
                  {.run = config.run.name,
                   .detection = config.cluster.timeouts.detection,
                   .stopped = [drain] { drain->note(); },
                   .row = trace.track(engine::node_rows, NodeState::name)}};
  drain->watch(company.node());
  const ForgetAtEnd forget{*drain};
  auto summary = take_part(config, options, trace, company, *drain, [&] {
    if (options.on_started)
      options.on_started([drain] { drain->ask(); });
  });
  if (!summary)
    (*exposition)->fail(summary.error().code);
  const auto end = summary ? metrics::ended_as(summary->status) : metrics::JobPhase::failed;
  (*exposition)->enter(end);
  if (options.on_ended)
    options.on_ended();
  // While all of it can still be asked.
  linger(**exposition, *drain, config.metrics.linger, company.log());
  return summary;
}

} // namespace

Result<metrics::RunSummary> run_training(const Config& config, const RunOptions& options) {
  if (options.daemon)
    TROUPE_TRY(check_reach(*parse_endpoint(config.cluster.listen), network_is_bounded()));
  if (options.daemon && config.cluster.tls.enabled()) // CAF ends the process where they do not fit
    if (const auto tls = open_tls(config.cluster.tls); !tls)
      return failure(tls.error());
  auto trace =
      options.trace.empty() ? Result<metrics::Trace>{} : metrics::Trace::create(options.trace);
  if (!trace)
    return failure(trace.error());
  auto summary = run_company(config, options, *trace);
  if (summary)
    TROUPE_TRY(trace->close()); // the streams are drained
  return summary;
}

} // namespace troupe::actors
