#include "actors/node_runtime.hpp"

#include "actors/consensus/consensus.hpp"
#include "actors/interfaces.hpp"
#include "actors/membership/member_list.hpp"
#include "actors/node/drain.hpp"
#include "actors/node/generation_builder.hpp"
#include "actors/node/linger.hpp"
#include "actors/node/listen_address.hpp"
#include "actors/node/network.hpp"
#include "actors/node/node.hpp"
#include "actors/node/previous_members.hpp"
#include "actors/node/seen_from.hpp"
#include "actors/resume_in.hpp"
#include "actors/roles/traced.hpp"
#include "core/fail.hpp"
#include "core/net/socket.hpp"
#include "core/net/tls.hpp"
#include "core/units.hpp"
#include "metrics/exposition.hpp"
#include "metrics/http/endpoint.hpp"
#include "metrics/push/push_gateway.hpp"

#include <limits>

namespace troupe::actors {

namespace {

/// Returns the HOST:PORT by which other hosts reach a socket bound to `bound`, even if that is a
/// wildcard address.
std::string reachable_address(Endpoint bound, const ClusterConfig& cluster) {
  const auto advertised = parse_endpoint(cluster.advertise.value_or(""));
  if (is_any_address(bound))
    bound.host = advertised ? advertised->host : training::host_name();
  return to_string(bound);
}

/// Returns the address by which other nodes know this one. An advertised port of 0 becomes the port
/// bound here.
std::string advertised_address(const Endpoint& bound, const ClusterConfig& cluster) {
  auto advertised = parse_endpoint(cluster.advertise.value_or(""));
  if (!advertised)
    return reachable_address(bound, cluster);
  if (advertised->port == 0)
    advertised->port = bound.port;
  return to_string(*advertised);
}

/// The actors of this process, from the first spawn to the last exit.
class NodeRuntime {
public:
  NodeRuntime(const Config& config, const RunOptions& options, const metrics::Trace& trace,
              metrics::Exposition& exposition, std::shared_ptr<collectives::DataPlane> data_plane)
      : config_{config}, options_{options}, trace_{trace}, exposition_{exposition},
        data_plane_{std::move(data_plane)}, network_{options.version, config.cluster.tls,
                                                     config.cluster.timeouts,
                                                     config.cluster.max_nodes},
        screen_{options.on_output_lost}, log_{make_run_logger(screen_, options, exposition.live())},
        settings_{options.daemon ? std::optional{network_} : std::nullopt}, system_{settings_},
        node_{spawn_node()} {
    drain_->watch(node_);
    show_endpoint();
  }
  NodeRuntime(const NodeRuntime&) = delete;
  NodeRuntime& operator=(const NodeRuntime&) = delete;

  ~NodeRuntime() {
    drain_->watch({});
    caf::anon_send_exit(node_, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(consensus_, caf::exit_reason::user_shutdown);
    system_.await_all_actors_done();
  }

  /// Takes part in a job, from the first message of this process to the last.
  Result<RunEnd> take_part();
  /// Waits until Prometheus has scraped the end, while all parts still answer requests.
  void linger() { actors::linger(exposition_, *drain_, config_.metrics.linger, *log_, *waits_); }
  spdlog::logger& log() { return *log_; }

private:
  void show_endpoint();
  node_actor spawn_node();
  std::string metrics_address() const;
  consensus_actor spawn_consensus();
  void tell_started();
  RunOutcome run();

  const Config& config_;
  const RunOptions& options_;
  const metrics::Trace& trace_;
  metrics::Exposition& exposition_;
  std::shared_ptr<collectives::DataPlane> data_plane_;
  std::shared_ptr<Drain> drain_ = std::make_shared<Drain>();
  std::shared_ptr<Waits> waits_ = std::make_shared<Waits>();
  NetworkOptions network_;
  metrics::Screen screen_;
  std::shared_ptr<spdlog::logger> log_;
  SystemConfig settings_;
  caf::actor_system system_;
  node_actor node_;
  std::string address_, process_;
  consensus_actor consensus_; ///< null: a single node
};

/// The thread of NODE's blocking work, started at once, because a process may be unable to start
/// one later. Ends after the last task when NODE, its only owner, has ended.
struct TaskRunnerState {
  static inline const char* name = GenerationBuilder::name; ///< in metrics

  resumed_actor::behavior_type make_behavior() {
    return {[](atom::done, const FollowUpPtr& task) { (*task)(); }};
  }
};

node_actor NodeRuntime::spawn_node() {
  return system_.spawn<node_actor::stateful_impl<NodeState>>(NodeSetup{
      .run = config_.run.name,
      .join = config_.cluster.join,
      .timeouts = config_.cluster.timeouts,
      .waits = waits_,
      .say = [log = log_](const std::string& text) { log->info(text); },
      .metrics = metrics_address(),
      .ends_for_all = !options_.stays,
      .stopped = [drain = drain_] { drain->note(); },
      .run_blocking =
          [runner = system_.spawn<resumed_actor::stateful_impl<TaskRunnerState>, caf::detached>()](
              std::function<void()> task) { resume_in(runner, std::move(task)); },
      .data_plane = data_plane_,
      .row = trace_.track(training::node_rows, NodeState::name)});
}

void NodeRuntime::show_endpoint() {
  const auto bound = exposition_.listens_at();
  if (!bound)
    return;
  if (const auto wanted = parse_endpoint(config_.metrics.listen);
      wanted->port != 0 && wanted->port != bound->port)
    log_->warn("metrics.listen: port {} is in use; taking port {}", wanted->port, bound->port);
  log_->info("metrics at http://{}/metrics", to_string(*bound));
  log_->info("page at http://{}/", to_string(*bound));
  exposition_.targets().set({{metrics_address(), {{"node", training::host_name()}}}});
}

/// Returns an empty string if the endpoint is off.
std::string NodeRuntime::metrics_address() const {
  const auto bound = exposition_.listens_at();
  return bound ? reachable_address(*bound, config_.cluster) : "";
}

consensus_actor NodeRuntime::spawn_consensus() {
  ConsensusSetup setup{
      .self = {address_, process_},
      .detection = config_.cluster.timeouts.detection,
      .connect =
          [this](const std::string& address, const consensus_actor& consensus) {
            introduce(system_, network_, config_.cluster.timeouts.detection, {address_, process_},
                      consensus, address);
          },
      .moved =
          [node = caf::actor_cast<caf::strong_actor_ptr>(node_)](const std::string& address) {
            caf::anon_send(caf::actor_cast<node_actor>(node), atom::lead_v, address);
          },
      .ended =
          [node = caf::actor_cast<caf::strong_actor_ptr>(node_)](const JobEnd& end) {
            caf::anon_send(caf::actor_cast<node_actor>(node), atom::finish_v, end);
          }};
  return system_.spawn<consensus_actor::stateful_impl<ConsensusState>>(std::move(setup));
}

void NodeRuntime::tell_started() {
  if (options_.on_started)
    options_.on_started([drain = drain_] { drain->ask(); });
}

/// Blocks until the job has ended.
RunOutcome NodeRuntime::run() {
  NodeWorkPtr builder = std::make_shared<GenerationBuilder>(GenerationBuilderSetup{
      .join = {
          .system = system_,
          .config = config_,
          .network = network_,
          .node = node_,
          .consensus = consensus_,
          .info = {.address = address_,
                   .host = training::host_name(),
                   .version = options_.version,
                   .process = process_,
                   .workers = static_cast<std::int32_t>(config_.devices.count),
                   .job = shared_settings(config_)},
          .data_plane = data_plane_,
          .say = [log = log_](const std::string& text) { log->info(text); },
          .stopped_within = [drain = drain_](auto limit) { return drain->asked_within(limit); },
          .waits = waits_},
      .options = options_,
      .exposition = exposition_,
      .trace = trace_,
      .built = options_.daemon ? std::function<void()>{} : [this] { tell_started(); },
      .row = trace_.track(training::node_rows, GenerationBuilder::name)});
  RunOutcome outcome{.summary = {}, .error = {}, .built = false};
  caf::scoped_actor self{system_};
  self->request(node_, caf::infinite, atom::run_v, std::move(builder))
      .receive([&](const RunOutcomePtr& ended) { outcome = *ended; },
               [&](const caf::error& error) {
                 outcome.error = Error{Errc::internal,
                                       "the node actor died: " + caf::to_string(error),
                                       {.node = training::host_name(), .actor = NodeState::name}};
               });
  if (outcome.error)
    outcome.error = seen_from(address_, *std::move(outcome.error));
  return outcome;
}

Result<RunEnd> NodeRuntime::take_part() {
  if (options_.daemon) {
    const auto& cluster = config_.cluster;
    auto listen = *parse_endpoint(cluster.listen);
    TROUPE_TRY(listen.port, publish(node_, listen, network_));
    address_ = advertised_address(listen, cluster); // this node's name from now on
    log_->info("daemon at {}", address_);
    TROUPE_TRY(process_, collectives::make_secret());
    consensus_ = spawn_consensus();
    caf::anon_send(node_, atom::vote_v, training::Voter{address_, process_}, consensus_);
    tell_started();
  }
  auto outcome = run();
  RunEnd end{outcome.summary, outcome.error};
  if (!outcome.built) {
    // A stop before the job began is a success.
    if (outcome.error->code != Errc::stopped)
      return failure(*std::move(outcome.error));
    log_->info("{}", outcome.error->message);
    end = {{training::run_info(config_)}};
    end.status = "stopped";
  }
  // A failed job is begun again by the supervisor of the daemons, which restarts all of them. A
  // stopped job ends on all nodes.
  if (options_.daemon && options_.stays && may_begin(config_.cluster, address_) && outcome.built &&
      end.status == "completed")
    drain_->wait();
  return end;
}

/// Returns null for a single node.
Result<std::shared_ptr<collectives::DataPlane>> open_data_plane(const Config& config,
                                                                const RunOptions& options) {
  if (!options.daemon)
    return nullptr;
  const auto& cluster = config.cluster;
  auto plane =
      collectives::DataPlane::open({.listen = {parse_endpoint(cluster.listen)->host,
                                               static_cast<std::uint16_t>(cluster.data_port)},
                                    .tls = cluster.tls,
                                    .handshake = cluster.timeouts.handshake_timeout()});
  if (!plane && plane.error().code == Errc::network)
    return cluster.data_port > 0
               ? fail(Errc::network,
                      "cluster.listen.data_port: {}; choose another port, or stop the "
                      "process that listens there",
                      plane.error().message)
               : fail(Errc::network, "cluster.listen: {}", plane.error().message);
  return plane;
}

/// Returns null if metrics.push is not set. The exposition and the log outlive the gateway.
std::unique_ptr<metrics::PushGateway> push_metrics(const Config& config, const RunOptions& options,
                                                   metrics::Exposition& exposition,
                                                   spdlog::logger& log) {
  if (!config.metrics.push)
    return nullptr;
  auto instance = training::host_name();
  if (options.daemon) // a host may have several
    instance += fmt::format(":{}", parse_endpoint(config.cluster.listen)->port);
  return std::make_unique<metrics::PushGateway>(
      metrics::PushOptions{
          .url = *config.metrics.push, .run = config.run.name, .instance = std::move(instance)},
      [&exposition] { return exposition.registry().text(); },
      [&log](const std::string& why) { log.warn("{}", why); });
}

/// Returns the security of the page: browsers see the cluster's certificate too.
Result<metrics::EndpointSecurity> endpoint_security(const Config& config) {
  metrics::EndpointSecurity security;
  if (const auto& file = config.metrics.password_file) {
    TROUPE_TRY(security.password, metrics::read_password(*file));
  }
  if (const auto& tls = config.cluster.tls; tls.enabled()) {
    security.certificate = tls.certificate;
    security.key = tls.key;
  }
  return security;
}

/// Opens the endpoint. A run in the foreground takes the next free port if metrics.listen is in
/// use.
Result<std::unique_ptr<metrics::Exposition>>
open_exposition(const Config& config, const RunOptions& options, bool leads,
                const metrics::EndpointSecurity& security) {
  constexpr int most_ports = 100;
  const auto open = [&](const std::string& listen) {
    return metrics::Exposition::open(listen, training::run_info(config, options.version), leads,
                                     security);
  };
  auto exposition = open(config.metrics.listen);
  auto next = parse_endpoint(config.metrics.listen);
  if (exposition || options.daemon || !next || !net::is_in_use(*next))
    return exposition;
  for (int i = 1; i < most_ports && next->port < std::numeric_limits<std::uint16_t>::max(); ++i) {
    ++next->port;
    if (auto other = open(to_string(*next)))
      return other;
  }
  return exposition;
}

Result<RunEnd> run_node_runtime(const Config& config, const RunOptions& options,
                                const metrics::Trace& trace) {
  const bool leads = config.cluster.join.empty();
  TROUPE_TRY(const auto security, endpoint_security(config));
  // First of all, so that a port in use is reported at once, and a waiting daemon answers requests.
  TROUPE_TRY(auto exposition, open_exposition(config, options, leads, security));
  exposition->live().set_config(options.config_text);
  exposition->live().show_timeline_of(trace);
  TROUPE_TRY(auto data_plane, open_data_plane(config, options));
  NodeRuntime runtime{config, options, trace, *exposition, std::move(data_plane)};
  auto push = push_metrics(config, options, *exposition, runtime.log());
  auto summary = runtime.take_part();
  if (!summary) {
    exposition->live().fail(summary.error().to_string());
    exposition->fail(summary.error().code);
  }
  const auto end = summary ? metrics::ended_as(summary->status) : metrics::JobPhase::failed;
  exposition->enter(end);
  push.reset(); // pushes the metrics of the run's end
  if (options.on_ended)
    options.on_ended();
  runtime.linger();
  return summary;
}

} // namespace

Result<RunEnd> run_training(const Config& config, const RunOptions& options) {
  if (options.daemon) {
    TROUPE_TRY(check_reach(*parse_endpoint(config.cluster.listen), network_is_bounded()));
    const auto here = await_listen_addresses(config, options);
    if (!here && here.error().code == Errc::stopped) {
      RunEnd end{{training::run_info(config)}};
      end.status = "stopped";
      return end;
    }
    TROUPE_TRY(here);
  }
  // CAF ends the process if certificate and key do not fit. The endpoint uses them too.
  if (config.cluster.tls.enabled() && (options.daemon || config.metrics.is_served()))
    if (const auto tls = net::open_tls(config.cluster.tls); !tls)
      return failure(tls.error());
  TROUPE_TRY(auto trace, options.trace.empty() ? Result<metrics::Trace>{metrics::Trace::unwritten()}
                                               : metrics::Trace::create(options.trace));
  auto summary = run_node_runtime(config, options, trace);
  if (summary)
    TROUPE_TRY(trace.close()); // the streams are drained
  return summary;
}

} // namespace troupe::actors
