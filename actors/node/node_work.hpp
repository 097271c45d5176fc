/// The blocking work of NODE before and after a generation trains, and the thread on which it runs.
#pragma once

#include "actors/node/built_generation.hpp"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace troupe::actors {

/// NODE calls one function at a time, on its task thread, on which the object is also destroyed:
/// that waits for the streams of a generation, which call actors while they run.
class NodeWork {
public:
  NodeWork() = default;
  NodeWork(const NodeWork&) = delete;
  NodeWork& operator=(const NodeWork&) = delete;
  virtual ~NodeWork() = default;

  /// Joins the other nodes, opens the data, compiles, and connects the ranks.
  virtual Result<BuiltGenerationPtr> build() = 0;
  /// Drops the generation, but keeps its state on this node and the run's view for the next one.
  /// Nothing else may own the view in the next build, which may open its files again.
  virtual void halt(RunViewPtr view) = 0;
  /// Drops the generation, because the job has ended, for all nodes or only for this one. Nothing
  /// of the generation runs afterwards.
  virtual void release(bool for_all) = 0;
  /// Notes the new voters of the generation, which this node needs if it is restarted.
  virtual void note_voters(const training::GenerationRecord& record) = 0;
};

/// Runs tasks on one thread, in the order of the calls. Thread-safe.
class TaskThread {
public:
  TaskThread() = default;
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;
  /// Waits for all tasks.
  ~TaskThread() { post({}); }

  void post(std::function<void()> task) {
    const std::lock_guard lock{mutex_};
    tasks_.push_back(std::move(task));
    changed_.notify_one();
  }

private:
  std::function<void()> next() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return !tasks_.empty(); });
    auto task = std::move(tasks_.front());
    tasks_.pop_front();
    return task;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_; ///< an empty one is the last
  /// Declared last: it uses the other members.
  std::jthread thread_{[this] {
    while (const auto task = next())
      task();
  }};
};

} // namespace troupe::actors
