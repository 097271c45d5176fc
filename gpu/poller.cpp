#include "gpu/poller.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <pthread.h>
#include <sys/prctl.h>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troupe::gpu {

namespace {

struct Entry {
  Poller::Lane lane;
  Poller::Check check;
  Poller::Callback callback;
};

} // namespace

std::chrono::nanoseconds PollPacing::nap(std::chrono::nanoseconds waited) const {
  if (waited < spin)
    return {};
  return std::clamp(waited / 16, shortest, longest);
}

/// State that the poller shares with its thread. It outlives a poller that a callback destroys.
struct Poller::Shared {
  std::mutex mutex;
  std::condition_variable changed, finished;
  std::vector<Entry> added;                         ///< not yet taken by the thread
  std::unordered_map<Lane, std::size_t> unfinished; ///< entries by lane
  Lane next_lane = 1;
  bool ending = false;

  /// Only for the thread: entries in order of arrival.
  std::vector<Entry> waiting;

  void run() {
    auto last_done = std::chrono::steady_clock::now();
    for (;;) {
      const bool was_idle = waiting.empty();
      if (!take_added())
        return;
      const bool any = look();
      const auto now = std::chrono::steady_clock::now();
      if (any || was_idle)
        last_done = now;
      if (waiting.empty())
        continue; // take_added sleeps until there is an entry
      const auto nap = PollPacing{}.nap(now - last_done);
      if (nap.count() == 0)
        std::this_thread::yield();
      else
        std::this_thread::sleep_for(nap);
    }
  }

  /// Takes added entries; blocks if there is no entry at all. Returns false when the poller has
  /// ended and all entries are done.
  bool take_added() {
    std::unique_lock lock{mutex};
    if (waiting.empty())
      changed.wait(lock, [this] { return ending || !added.empty(); });
    waiting.insert(waiting.end(), std::make_move_iterator(added.begin()),
                   std::make_move_iterator(added.end()));
    added.clear();
    return !waiting.empty();
  }

  /// Checks the first entry of every lane; if it is done, also the next one of that lane. Returns
  /// whether any was done.
  bool look() {
    std::vector<Lane> blocked;
    std::vector<Entry> still_waiting;
    bool any = false;
    for (auto& entry : waiting) {
      std::optional<Status> outcome;
      if (std::find(blocked.begin(), blocked.end(), entry.lane) == blocked.end())
        outcome = entry.check();
      if (outcome) {
        entry.callback(std::move(*outcome));
        finish(entry);
        any = true;
      } else {
        blocked.push_back(entry.lane);
        still_waiting.push_back(std::move(entry));
      }
    }
    waiting = std::move(still_waiting);
    return any;
  }

  void finish(Entry& entry) {
    // Destroys what the entry holds first: after drain(), nothing of the lane is left.
    entry.check = nullptr;
    entry.callback = nullptr;
    {
      const std::lock_guard lock{mutex};
      if (const auto found = unfinished.find(entry.lane); --found->second == 0)
        unfinished.erase(found);
    }
    finished.notify_all();
  }
};

Poller::Poller(const std::string& name, const Begin& begin) : shared_{std::make_shared<Shared>()} {
  thread_ = std::thread{[shared = shared_, begin, short_name = name.substr(0, 15)] {
    pthread_setname_np(pthread_self(), short_name.c_str());
    // Linux adds 50 us to every sleep by default.
    prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
    const auto owned = begin ? begin() : nullptr;
    shared->run();
  }};
}

Poller::~Poller() {
  {
    const std::lock_guard lock{shared_->mutex};
    shared_->ending = true;
  }
  shared_->changed.notify_one();
  if (on_thread())
    thread_.detach();
  else
    thread_.join();
}

Poller::Lane Poller::new_lane() {
  const std::lock_guard lock{shared_->mutex};
  return shared_->next_lane++;
}

void Poller::add(Lane lane, Check check, Callback callback) {
  {
    const std::lock_guard lock{shared_->mutex};
    shared_->added.push_back({lane, std::move(check), std::move(callback)});
    ++shared_->unfinished[lane];
  }
  shared_->changed.notify_one();
}

void Poller::drain(Lane lane) {
  if (on_thread())
    return;
  std::unique_lock lock{shared_->mutex};
  shared_->finished.wait(lock, [&] { return !shared_->unfinished.contains(lane); });
}

} // namespace troupe::gpu
