#include "company.hpp"

#include "interfaces.hpp"
#include "job.hpp"
#include "metrics_role.hpp"
#include "network.hpp"
#include "node.hpp"
#include "tls.hpp"

#include "troupe/core/fail.hpp"
#include "troupe/core/units.hpp"
#include "troupe/metrics/socket.hpp"

#include <condition_variable>
#include <mutex>

namespace troupe::actors {

namespace {

/// Where the daemon will listen. Before the run's folder is opened: what cannot begin leaves an
/// earlier run as it is.
Result<Endpoint> choose_port(const ClusterConfig& cluster) {
  if (cluster.tls.enabled())
    if (const auto tls = open_tls(cluster.tls); !tls)
      return failure(tls.error());
  auto endpoint = *parse_endpoint(cluster.listen);
  const auto listener = metrics::listen_on(endpoint);
  if (!listener)
    return fail(Errc::network, "cluster.listen: {}; choose another port, or end what listens there",
                listener.error().message);
  endpoint.port = listener->port;
  return endpoint;
}

/// HOST:PORT that other hosts can use for what listens at `bound`, also where that is every
/// address.
std::string reachable_address(const Endpoint& bound, const Job& job) {
  if (!is_any_address(bound))
    return metrics::to_string(bound);
  const auto advertised = parse_endpoint(job.config.cluster.advertise.value_or(""));
  return metrics::to_string({advertised ? advertised->host : job.info.host, bound.port});
}

/// Asks the node to drain, and lets a daemon know that it was asked, here or by a message.
class Drain {
public:
  void watch(const node_actor& node) {
    const std::lock_guard lock{mutex_};
    node_ = node;
  }
  void ask() {
    {
      const std::lock_guard lock{mutex_};
      if (node_)
        caf::anon_send(node_, atom::stop_v);
    }
    note();
  }
  /// The node was asked.
  void note() {
    const std::lock_guard lock{mutex_};
    asked_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return asked_; });
  }
  /// The node goes: asking does nothing from now on.
  void forget() {
    const std::lock_guard lock{mutex_};
    node_ = nullptr;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  node_actor node_;
  bool asked_ = false;
};

/// The actors of this process and what they work on, from the first spawn to the last exit.
class Company {
public:
  Company(std::shared_ptr<Job> job, std::unique_ptr<RunView> view,
          const std::optional<NetworkOptions>& network, std::function<void()> stopped)
      : job_{std::move(job)}, config_{network}, system_{config_},
        metrics_{system_.spawn<metrics_actor::stateful_impl<MetricsState>, caf::detached>(
            std::move(view), job_->trace)},
        node_{system_.spawn<node_actor::stateful_impl<NodeState>>(job_, metrics_,
                                                                  std::move(stopped))} {}
  Company(const Company&) = delete;
  Company& operator=(const Company&) = delete;

  ~Company() {
    drain_streams();
    caf::anon_send_exit(node_, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(metrics_, caf::exit_reason::user_shutdown);
    system_.await_all_actors_done();
  }

  const node_actor& node() const { return node_; }

  /// Blocks until the job has ended.
  RunOutcome run() {
    caf::scoped_actor self{system_};
    RunOutcome outcome{.summary = {job_->info}, .error = {}};
    self->request(node_, caf::infinite, atom::run_v)
        .receive([&](const RunOutcomePtr& ended) { outcome = *ended; },
                 [&](const caf::error& error) {
                   outcome.error =
                       Error{Errc::internal, "the coordinator died: " + caf::to_string(error)};
                   outcome.summary.status = "failed";
                   outcome.summary.error = outcome.error->to_string();
                 });
    if (outcome.error) // ranks that wait for a failed one would wait for the timeout
      for (const auto& replica : job_->replicas)
        for (const auto& group : {replica->world, replica->shard_group, replica->replica_group})
          group->abort(*outcome.error);
    return outcome;
  }

private:
  /// Streams call back into the actor system, and must not once it is gone.
  void drain_streams() {
    for (const auto& replica : job_->replicas) {
      std::ignore = replica->compute->synchronize();
      std::ignore = replica->communication->synchronize();
    }
    for (const auto& loader : job_->loader_streams)
      std::ignore = loader.stream->synchronize();
  }

  std::shared_ptr<Job> job_;
  SystemConfig config_;
  caf::actor_system system_;
  metrics_actor metrics_;
  node_actor node_;
};

} // namespace

namespace {

/// From the first message to the last. `listen`: where a daemon does.
Result<metrics::RunSummary> run_company(const std::shared_ptr<Job>& job,
                                        std::unique_ptr<RunView> view, const RunOptions& options,
                                        const std::optional<Endpoint>& listen) {
  std::optional<NetworkOptions> network;
  if (listen)
    network = NetworkOptions{options.version, job->config.cluster.tls};
  const auto drain = std::make_shared<Drain>();
  Company company{job, std::move(view), network, [drain] { drain->note(); }};
  if (listen)
    TROUPE_TRY(publish(company.node(), *listen));
  drain->watch(company.node());
  if (options.on_started)
    options.on_started([drain] { drain->ask(); });
  const auto outcome = company.run();
  if (listen)
    drain->wait();
  drain->forget();
  return outcome.summary;
}

} // namespace

Result<metrics::RunSummary> run_training(const Config& config, const RunOptions& options) {
  auto trace =
      options.trace.empty() ? Result<metrics::Trace>{} : metrics::Trace::create(options.trace);
  if (!trace)
    return failure(trace.error());
  auto job = prepare_job(config, *trace);
  if (!job)
    return failure(job.error());
  (*job)->info.version = options.version;
  std::optional<Endpoint> listen;
  if (options.daemon) {
    auto chosen = choose_port(config.cluster);
    if (!chosen)
      return failure(chosen.error());
    (*job)->address = config.cluster.advertise.value_or(reachable_address(*chosen, **job));
    listen = std::move(*chosen);
  }
  auto view = RunView::open(**job, options);
  if (!view)
    return failure(view.error());
  if (const auto bound = (*view)->listens_at())
    (*job)->metrics_address = reachable_address(*bound, **job);
  auto summary = run_company(*job, std::move(*view), options, listen);
  TROUPE_TRY(trace->close()); // the streams are drained
  return summary;
}

} // namespace troupe::actors
