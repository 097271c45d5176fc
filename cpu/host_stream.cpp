#include "cpu/host_stream.hpp"

#include "core/fail.hpp"
#include "cpu/parallel.hpp"

#include <atomic>
#include <deque>
#include <exception>
#include <pthread.h>
#include <utility>

namespace troupe::cpu {

namespace {

/// How often a stream polls an event of another device, which cannot wake it.
constexpr auto poll_interval = std::chrono::microseconds{50};

Status run_guarded(const HostStream::Task& task) {
  try {
    return task();
  } catch (const std::bad_alloc&) {
    return fail(Errc::out_of_memory, "the host cannot allocate a kernel's memory");
  } catch (const std::exception& error) {
    return fail(Errc::device, "a host kernel failed: {}", error.what());
  }
}

} // namespace

bool HostEvent::ready() const {
  const std::lock_guard lock{mutex_};
  return status_.has_value();
}

std::chrono::nanoseconds HostEvent::time() const {
  const std::lock_guard lock{mutex_};
  return time_;
}

Status HostEvent::status() const {
  const std::lock_guard lock{mutex_};
  return status_.value_or(Status{});
}

Status HostEvent::wait() const {
  std::unique_lock lock{mutex_};
  reached_.wait(lock, [this] { return status_.has_value(); });
  return *status_;
}

void HostEvent::reach(Status status) {
  {
    const std::lock_guard lock{mutex_};
    time_ = std::chrono::steady_clock::now().time_since_epoch();
    status_ = std::move(status);
  }
  reached_.notify_all();
}

/// State shared by the stream and its thread; it outlives a stream that is destroyed in its own
/// callback.
struct HostStream::Shared {
  struct Entry {
    /// Takes the stream's status so far and returns the next one.
    std::function<Status(Status)> function;
    bool for_library = false;
  };

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Entry> queue;
  bool ending = false;
  std::atomic<bool> abandon_foreign_events = false;

  void push(std::function<Status(Status)> function, bool for_library = false) {
    // Notifies under the lock: once it is released, the entry may run and destroy the stream and
    // this object.
    const std::lock_guard lock{mutex};
    queue.push_back({std::move(function), for_library});
    changed.notify_one();
  }

  /// Returns the next entry; nothing if the stream has ended.
  std::optional<Entry> pop() {
    std::unique_lock lock{mutex};
    changed.wait(lock, [this] { return ending || !queue.empty(); });
    if (queue.empty())
      return std::nullopt;
    auto entry = std::move(queue.front());
    queue.pop_front();
    return entry;
  }

  /// Consecutive entries keep the team, also while the queue is empty.
  void run() {
    Status status;
    auto entry = pop();
    const auto run_one = [&] {
      status = entry->function(std::move(status));
      entry.reset(); // releases its captures now, not when the next entry arrives
      entry = pop();
    };
    while (entry)
      if (entry->for_library)
        run_one();
      else
        together([&] {
          while (entry && !entry->for_library)
            run_one();
        });
  }
};

HostStream::HostStream(const StreamOptions& options) : shared_{std::make_shared<Shared>()} {
  thread_ = std::thread{[shared = shared_, options] {
    // The kernel keeps 15 characters of a thread's name.
    pthread_setname_np(pthread_self(), options.name.substr(0, 15).c_str());
    set_threads(options.threads);
    shared->run();
  }};
}

HostStream::~HostStream() {
  {
    const std::lock_guard lock{shared_->mutex};
    shared_->ending = true;
  }
  shared_->abandon_foreign_events = true;
  shared_->changed.notify_one();
  if (thread_.get_id() == std::this_thread::get_id())
    thread_.detach();
  else
    thread_.join();
}

void HostStream::enqueue(Task task, bool for_library) {
  shared_->push([task = std::move(task)](
                    Status status) { return status ? run_guarded(task) : std::move(status); },
                for_library);
}

EventPtr HostStream::record() {
  auto event = std::make_shared<HostEvent>();
  shared_->push([event](Status status) {
    event->reach(status);
    return status;
  });
  return event;
}

void HostStream::wait(EventPtr event) {
  if (auto host_event = std::dynamic_pointer_cast<HostEvent>(event)) {
    shared_->push([host_event](Status status) {
      auto theirs = host_event->wait();
      return status ? std::move(theirs) : std::move(status);
    });
    return;
  }
  shared_->push([shared = shared_.get(), event = std::move(event)](Status status) -> Status {
    while (!event->ready()) {
      if (shared->abandon_foreign_events)
        return fail(Errc::stopped, "the stream ended while it waited for another device");
      std::this_thread::sleep_for(poll_interval);
    }
    return status ? event->status() : std::move(status);
  });
}

void HostStream::on_complete(Callback callback) {
  shared_->push([callback = std::move(callback)](Status status) {
    callback(status);
    return status;
  });
}

Status HostStream::synchronize() {
  return static_cast<HostEvent&>(*record()).wait();
}

} // namespace troupe::cpu
