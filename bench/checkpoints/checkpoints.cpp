// Cost of saving and loading a state, compared with the plain bytes and alternating with them in
// one run: the copy that training waits for, against one memcpy; CHECKPOINTERs, against as many
// threads that write, hash and sync files of the same bytes; opening and loading a checkpoint,
// against reading and hashing its files.
//
//   bench_checkpoints [--hidden 4096] [--writers 2] [--rounds 20] [--folder DIR]
#include "actors/interfaces.hpp"
#include "actors/node/network.hpp"
#include "actors/roles/checkpointer.hpp"
#include "bench/checkpoints/plain_files.hpp"
#include "core/checkpoint/state_source.hpp"
#include "tests/support/single_node_job.hpp"
#include "training/generation.hpp"
#include "training/reducer/reducer.hpp"

#include <CLI/CLI.hpp>
#include <caf/scoped_actor.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace troupe::bench {

namespace {

namespace fs = std::filesystem;
using namespace troupe::actors;

struct Options {
  std::int64_t hidden = 4096;
  int writers = 2;
  int rounds = 20;
  std::string folder = "bench-checkpoints";
};

/// Trains a multilayer perceptron with momentum on `ranks` ranks; never resumes.
Config job_of(const Options& options, int ranks) {
  Config config;
  config.model.name = "mlp";
  config.model.hidden = {options.hidden, options.hidden};
  config.data.dataset = "synthetic";
  config.data.limit = 64;
  config.data.batch_size = ranks;
  config.devices.kind = DeviceKind::cpu;
  config.devices.count = ranks;
  config.devices.threads_per_worker = 1;
  config.parallel.strategy = ranks > 1 ? StrategyKind::fsdp : StrategyKind::single;
  config.train.evaluate_every = 0;
  config.checkpoint.every = {Interval::Unit::steps, 1};
  config.checkpoint.state = ranks > 1 ? CheckpointState::sharded : CheckpointState::full;
  config.checkpoint.resume.kind = ResumeConfig::Kind::never;
  config.run.output = options.folder;
  return config;
}

[[noreturn]] void give_up(const std::string& what) {
  fmt::print(stderr, "bench_checkpoints: {}\n", what);
  std::exit(1);
}

template <class T>
T value_or_give_up(Result<T> result) {
  if (!result)
    give_up(result.error().to_string());
  return std::move(*result);
}

/// The ranks of a job and the CHECKPOINTERs that write their state to disk.
class NodeRuntime {
public:
  NodeRuntime(const Options& options, int ranks)
      : generation_{value_or_give_up(
            training::build_single_node_generation(job_of(options, ranks)))},
        store_{fs::path{options.folder} / fmt::format("of-{}", ranks)} {
    for (const auto& rank_state : generation_->rank_states) {
      exchanges_.emplace_back(training::GradientReducerSetup{.rank_state = rank_state});
      checkpointers_.push_back(
          system_.spawn<checkpointer_actor::stateful_impl<CheckpointerState>, caf::detached>(
              CheckpointerSetup{.store = store_,
                                .state = rank_state->state,
                                .rank = rank_state->rank,
                                .world_size = ranks,
                                .plan = generation_->job().plan,
                                .keep = 2}));
    }
  }
  NodeRuntime(const NodeRuntime&) = delete;
  NodeRuntime& operator=(const NodeRuntime&) = delete;
  ~NodeRuntime() {
    for (const auto& checkpointer : checkpointers_)
      self_->send_exit(checkpointer, caf::exit_reason::kill);
  }

  /// Returns the bytes that each rank writes, in the memory of its snapshots.
  std::vector<std::span<const std::byte>> parts() const {
    std::vector<std::span<const std::byte>> all;
    for (const auto& rank_state : generation_->rank_states) {
      const auto& state = *rank_state->state;
      all.push_back(std::as_bytes(
          std::span{state.buffers().snapshot()->floats(), state.layout().written().elements()}));
    }
    return all;
  }

  /// Does the extra work of a step with a snapshot, and waits for it.
  void copy() {
    const auto snapshots = begin_snapshots();
    for (std::size_t rank = 0; rank < exchanges_.size(); ++rank)
      exchanges_[rank].copier().take(snapshots[rank].get());
    for (const auto& rank_state : generation_->rank_states)
      check(rank_state->communication->synchronize());
  }

  /// Writes a checkpoint of the last copy.
  void save() {
    ++step_;
    const auto snapshots = begin_snapshots(); // the memory has the values of the last copy
    const auto ask = [&](std::size_t rank) {
      return self_->request(checkpointers_[rank], caf::infinite, atom::snapshot_v, snapshots[rank]);
    };
    std::vector<decltype(ask({}))> asked;
    for (std::size_t rank = 0; rank < checkpointers_.size(); ++rank)
      asked.push_back(ask(rank));
    CheckpointShards parts{.step = step_};
    for (auto& part : asked)
      part.receive([&](ShardOutcome& outcome) { parts.parts.push_back(std::move(outcome)); },
                   [](const caf::error& error) { give_up(caf::to_string(error)); });
    self_->request(checkpointers_.front(), caf::infinite, atom::finish_v, parts)
        .receive(
            [](const metrics::CheckpointRecord& outcome) {
              if (outcome.failure)
                give_up(outcome.failure->to_string());
            },
            [](const caf::error& error) { give_up(caf::to_string(error)); });
  }

  /// Opens and loads the newest checkpoint, which verifies it.
  void load() {
    const auto source = value_or_give_up(open_state(newest()));
    for (const auto& rank_state : generation_->rank_states)
      check(rank_state->state->load(*rank_state->communication, *source));
  }

  fs::path newest() const { return store_.list().front().path; }
  void remove_old() {
    if (const auto removed = store_.prune(1); !removed)
      give_up(removed.error().to_string());
  }

private:
  /// By rank.
  std::vector<SnapshotPtr> begin_snapshots() const {
    std::vector<SnapshotPtr> snapshots;
    for (const auto& rank_state : generation_->rank_states)
      snapshots.push_back(value_or_give_up(rank_state->state->begin_snapshot(step_)));
    return snapshots;
  }
  static void check(const Status& status) {
    if (!status)
      give_up(status.error().to_string());
  }

  std::shared_ptr<training::Generation> generation_;
  CheckpointStore store_;
  std::int64_t step_ = 0;
  caf::actor_system_config config_;
  caf::actor_system system_{config_};
  caf::scoped_actor self_{system_};
  std::vector<training::GradientReducer> exchanges_;
  std::vector<checkpointer_actor> checkpointers_;
};

using Action = std::function<void()>;

double seconds(const Action& action) {
  const auto begin = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// Runs `ours` and `plain` alternately, `rounds` times each. Calls `between` after each of them,
/// untimed.
void compare(
    const std::string& what, int rounds, const Action& ours, const Action& plain,
    const Action& between = [] {}) {
  std::vector<double> of_ours, of_plain, ratios;
  for (int round = 0; round <= rounds; ++round) {
    const auto first = seconds(ours);
    between();
    const auto second = seconds(plain);
    between();
    if (round == 0) // warm-up: the first round creates files and memory
      continue;
    of_ours.push_back(first);
    of_plain.push_back(second);
    ratios.push_back(first / second);
  }
  fmt::print("{:<44} {:>8.1f} ms  plain {:>8.1f} ms  ratio {:.2f}\n", what, 1e3 * median(of_ours),
             1e3 * median(of_plain), median(ratios));
  std::fflush(stdout);
}

void compare_copying(NodeRuntime& runtime, int rounds) {
  const auto bytes = runtime.parts().front();
  std::vector<std::byte> copy(bytes.size());
  compare(
      "copying, of 1 rank", rounds, [&] { runtime.copy(); },
      [&] { std::memcpy(copy.data(), bytes.data(), bytes.size()); });
}

void compare_saving(NodeRuntime& runtime, const fs::path& plain, int rounds) {
  const auto parts = runtime.parts();
  compare(
      fmt::format("saving, {} writers of {:.0f} MiB", parts.size(),
                  static_cast<double>(parts.front().size()) / (1 << 20)),
      rounds, [&] { runtime.save(); }, [&] { write_hashed(plain, parts); },
      [&] { // frees the old files' space before the next is timed
        for (const auto& file : fs::directory_iterator{plain})
          fs::remove(file);
        runtime.remove_old();
      });
}

void compare_loading(NodeRuntime& runtime, int rounds) {
  std::vector<std::byte> bytes;
  compare(
      "loading, of 1 rank", rounds, [&] { runtime.load(); },
      [&] {
        for (const auto& file : fs::directory_iterator{runtime.newest()}) {
          bytes.resize(file.file_size());
          read_hashed(file.path(), bytes);
        }
      });
}

void run(const Options& options) {
  const auto plain = fs::path{options.folder} / "plain";
  fs::create_directories(plain);
  {
    NodeRuntime alone{options, 1};
    compare_copying(alone, options.rounds);
    compare_saving(alone, plain, options.rounds);
    compare_loading(alone, options.rounds);
  }
  NodeRuntime many{options, options.writers};
  many.copy();
  compare_saving(many, plain, options.rounds);
}

} // namespace

} // namespace troupe::bench

int main(int argc, char** argv) {
  troupe::bench::Options options;
  CLI::App app{"Compares checkpoints with plain files"};
  app.add_option("--hidden", options.hidden, "width of both hidden layers");
  app.add_option("--writers", options.writers, "number of ranks that save their shards");
  app.add_option("--rounds", options.rounds, "repetitions of each comparison");
  app.add_option("--folder", options.folder, "folder for files, deleted at the end");
  CLI11_PARSE(app, argc, argv);
  troupe::actors::register_message_types();
  troupe::bench::run(options);
  std::filesystem::remove_all(options.folder);
}
