/// Tracks live handles: a stale handle is an error here, where it is undefined behaviour elsewhere.
#pragma once

#include <mutex>
#include <unordered_set>

namespace emulation {

template <class Object>
class Handles {
public:
  static Handles& instance() {
    static auto* const handles = new Handles;
    return *handles;
  }

  Object* add(Object* object) {
    const std::lock_guard lock{mutex_};
    alive_.insert(object);
    return object;
  }
  /// Returns false for a handle that is not alive.
  bool remove(Object* object) {
    const std::lock_guard lock{mutex_};
    return alive_.erase(object) > 0;
  }
  bool has(Object* object) const {
    const std::lock_guard lock{mutex_};
    return alive_.contains(object);
  }
  template <class Function>
  void for_each(Function function) const {
    const std::lock_guard lock{mutex_};
    for (auto* const object : alive_)
      function(object);
  }

private:
  mutable std::mutex mutex_;
  std::unordered_set<Object*> alive_;
};

} // namespace emulation
