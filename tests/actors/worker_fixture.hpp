/// A WORKER on a real device with a small model, whose neighbours record its messages. The device
/// computes only when the test says so.
#pragma once

#include "actors/roles/data_loader.hpp"
#include "actors/roles/worker.hpp"
#include "tests/actors/deterministic.hpp"
#include "tests/actors/held_stream.hpp"
#include "tests/actors/small_job.hpp"

#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace troupe::actors::test {

/// Messages that the worker's neighbours received.
struct Heard {
  std::vector<Pass> begins;          ///< DATA LOADER: first pass of each request
  std::vector<std::int32_t> credits; ///< DATA LOADER: slots that were returned
  int evaluations = 0;               ///< DATA LOADER: requests for batches of the test set
  std::vector<ParameterRequest> needs, released;  ///< SHARD MANAGER
  std::vector<std::pair<Pass, UnitId>> gradients; ///< SHARD MANAGER
  std::vector<WorkerStep> steps;                  ///< SHARD MANAGER
  std::vector<Error> errors;                      ///< COORDINATOR
  std::vector<double> failed_losses;              ///< COORDINATOR
  std::vector<EvaluationReport> evaluated;        ///< COORDINATOR
  std::vector<std::pair<std::int32_t, double>> peaks;
};

inline Config workers_job(std::int64_t ranks) {
  auto config = small_job();
  config.devices.count = ranks;
  config.parallel.strategy = ranks == 1 ? StrategyKind::single : StrategyKind::ddp;
  config.parallel.bucket_size = 4 << 10;
  config.data.eval_batch_size = 12;
  config.train.evaluate_every = 1;
  config.data.shuffle = false;
  return config;
}

/// Rank 0 of a job; the other ranks only exist in the generation.
struct Workplace : Deterministic {
  explicit Workplace(const Config& job, WorkerSetup setup = {})
      : host{compile_job(job, job.slices())},
        generation{training::build_generation(
                       host, training::single_node_assignment(
                                 static_cast<std::int32_t>(job.devices.count), "here"))
                       .value()},
        compute{rank_state().compute} {
    setup.rank_state = generation->rank_states.front();
    setup.slice_assignment = generation->slice_assignment;
    setup.test_batches = generation->evaluation->sampler().steps_per_epoch();
    setup.loader = spawn_stub<data_loader_actor>(
        system,
        [this](atom::begin, std::int32_t, const worker_actor&, const data::SliceAssignment&,
               Pass first) { told.begins.push_back(first); },
        [this](atom::fetch, std::int32_t, PassMode mode, std::int64_t, std::int64_t) {
          told.evaluations += mode == PassMode::evaluation;
        },
        [this](atom::credit, std::int32_t, const MicroBatchPtr& batch) {
          told.credits.push_back(batch->slot);
        });
    setup.shard_manager = spawn_stub<synchronous_shard_manager_actor>(
        system,
        [this](atom::need_parameters, const ParameterRequest& use) { told.needs.push_back(use); },
        [this](atom::released, const ParameterRequest& use, const EventPtr&) {
          told.released.push_back(use);
        },
        [this](atom::gradients_ready, Pass pass, UnitId unit, const EventPtr&) {
          told.gradients.emplace_back(pass, unit);
        },
        [this](atom::done, const WorkerStep& step, const SpansPtr&) {
          told.steps.push_back(step);
        });
    setup.coordinator = spawn_stub<coordinator_actor>(
        system, [this](atom::failed, const Error& error) { told.errors.push_back(error); },
        [this](atom::failed, double loss) { told.failed_losses.push_back(loss); },
        [this](atom::evaluated, const EvaluationReport& report) {
          told.evaluated.push_back(report);
        },
        [this](atom::measure, std::int32_t rank, double peak) {
          told.peaks.emplace_back(rank, peak);
        });
    worker = spawn_state<WorkerState, worker_actor>(system, std::move(setup));
    fill_batches();
  }
  ~Workplace() {
    compute.work();
    self->send_exit(worker, caf::exit_reason::kill);
    self->send_exit(loader, caf::exit_reason::kill);
    scheduler.run();
  }

  /// Fills as many batches of both kinds as there are slots, with a real DATA LOADER.
  void fill_batches() {
    const auto& job = generation->job();
    loader = spawn_state<DataLoaderState, data_loader_actor>(
        system,
        DataLoaderSetup{.rank_states = generation->rank_states, .steps = job.plan.total_steps()});
    const auto taker =
        spawn_stub<worker_actor>(system, [this](atom::batch, const MicroBatchPtr& batch) {
          batches[batch->pass_mode].push_back(batch);
        });
    self->send(loader, atom::begin_v, 0, taker, generation->slice_assignment, Pass{0});
    self->send(loader, atom::fetch_v, 0, PassMode::evaluation, std::int64_t{0},
               generation->evaluation->sampler().steps_per_epoch());
    scheduler.run();
  }

  training::RankState& rank_state() const { return *generation->rank_states.front(); }
  const std::vector<training::Bucket>& buckets() const {
    return rank_state().state->layout().plan().buckets;
  }

  template <class... Message>
  void tell(Message&&... message) {
    self->send(worker, std::forward<Message>(message)...);
    scheduler.run();
  }
  void give_batch(PassMode pass_mode, std::size_t index) {
    tell(atom::batch_v, batches[pass_mode].at(index));
  }
  /// Answers the next `count` parameter requests: their parameters are ready.
  void answer(std::size_t count) {
    for (; count > 0; --count, ++answered)
      self->send(worker, atom::parameters_ready_v, told.needs.at(answered), EventPtr{});
    scheduler.run();
  }
  void answer_all() {
    while (answered < told.needs.size())
      answer(told.needs.size() - answered);
  }
  /// Lets the device do its enqueued work and the worker process the results.
  void compute_all() {
    compute.work();
    scheduler.run();
  }
  void pass(std::size_t index) {
    give_batch(PassMode::training, index);
    answer_all();
    compute_all();
  }

  std::shared_ptr<training::CompiledJob> host;
  std::shared_ptr<training::Generation> generation;
  HeldStream compute;
  Heard told;
  std::map<PassMode, std::vector<MicroBatchPtr>> batches;
  std::size_t answered = 0; ///< number of told.needs that were answered
  data_loader_actor loader;
  worker_actor worker;
};

} // namespace troupe::actors::test
