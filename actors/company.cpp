#include "company.hpp"

#include "interfaces.hpp"
#include "job.hpp"
#include "metrics_role.hpp"
#include "node.hpp"

#include "troupe/core/fail.hpp"
#include "troupe/core/units.hpp"
#include "troupe/metrics/socket.hpp"

#include <caf/io/all.hpp>

#include <condition_variable>
#include <mutex>

namespace troupe::actors {

namespace {

/// CAF keeps the types of messages in a table of the process.
void register_messages() {
  static std::once_flag once;
  std::call_once(once, [] {
    caf::core::init_global_meta_objects();
    caf::io::middleman::init_global_meta_objects();
    caf::init_global_meta_objects<caf::id_block::troupe>();
    caf::init_global_meta_objects<caf::id_block::troupe_roles>();
  });
}

class SystemConfig : public caf::actor_system_config {
public:
  explicit SystemConfig(bool network) {
    // The cores belong to the streams. Sharing waits for work on a condition; stealing would poll.
    set("caf.scheduler.policy", "sharing");
    set("caf.scheduler.max-threads", 2);
    set("caf.logger.console.verbosity", "quiet");
    set("caf.metrics-filters.actors.includes", std::vector<std::string>{"*"});
    if (network)
      load<caf::io::middleman>();
  }
};

/// Before the run's folder is opened: what cannot begin leaves an earlier run as it is.
Status check_port(const std::string& listen) {
  if (const auto port = metrics::listen_on(*parse_endpoint(listen)); !port)
    return fail(Errc::network, "cluster.listen: {}; choose another port, or end what listens there",
                port.error().message);
  return {};
}

/// Asks the node to drain, and lets a daemon know that it was asked.
class Drain {
public:
  explicit Drain(node_actor node) : node_{std::move(node)} {}
  void ask() {
    const std::lock_guard lock{mutex_};
    asked_ = true;
    if (node_)
      caf::anon_send(node_, atom::stop_v);
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
  Company(std::shared_ptr<Job> job, std::unique_ptr<RunView> view, bool network)
      : job_{std::move(job)}, config_{network}, system_{config_},
        metrics_{system_.spawn<metrics_actor::stateful_impl<MetricsState>, caf::detached>(
            std::move(view), job_->trace)},
        node_{system_.spawn<node_actor::stateful_impl<NodeState>>(job_, metrics_)} {}
  Company(const Company&) = delete;
  Company& operator=(const Company&) = delete;

  ~Company() {
    drain_streams();
    caf::anon_send_exit(node_, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(metrics_, caf::exit_reason::user_shutdown);
    system_.await_all_actors_done();
  }

  const node_actor& node() const { return node_; }

  Status publish(const std::string& listen) {
    const auto endpoint = parse_endpoint(listen);
    const auto port = system_.middleman().publish(node_, endpoint->port, endpoint->host.c_str());
    if (!port)
      return fail(
          Errc::network,
          "cannot listen on cluster.listen {}: {}; choose another port, or end what listens there",
          listen, caf::to_string(port.error()));
    return {};
  }

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

/// From the first message to the last.
Result<metrics::RunSummary> run_company(const std::shared_ptr<Job>& job,
                                        std::unique_ptr<RunView> view, const RunOptions& options) {
  const auto& listen = job->config.cluster.listen;
  Company company{job, std::move(view), options.daemon};
  if (options.daemon)
    TROUPE_TRY(company.publish(listen));
  const auto drain = std::make_shared<Drain>(company.node());
  if (options.on_started)
    options.on_started([drain] { drain->ask(); });
  const auto outcome = company.run();
  if (options.daemon)
    drain->wait();
  drain->forget();
  return outcome.summary;
}

} // namespace

Result<metrics::RunSummary> run_training(const Config& config, const RunOptions& options) {
  register_messages();
  auto trace =
      options.trace.empty() ? Result<metrics::Trace>{} : metrics::Trace::create(options.trace);
  if (!trace)
    return failure(trace.error());
  auto job = prepare_job(config, *trace);
  if (!job)
    return failure(job.error());
  (*job)->info.version = options.version;
  if (options.daemon)
    TROUPE_TRY(check_port(config.cluster.listen));
  auto view = RunView::open(**job, options);
  if (!view)
    return failure(view.error());
  auto summary = run_company(*job, std::move(*view), options);
  TROUPE_TRY(trace->close()); // the streams are drained
  return summary;
}

} // namespace troupe::actors
