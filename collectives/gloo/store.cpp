#include "store.hpp"

#include "troupe/core/fail.hpp"

namespace troupe::collectives {

Status MemoryStore::put(const std::string& key, std::vector<char> value) {
  const std::lock_guard lock{mutex_};
  values_[key] = std::move(value);
  changed_.notify_all();
  return {};
}

Result<std::vector<char>> MemoryStore::wait(const std::string& key,
                                            std::chrono::milliseconds timeout) {
  std::unique_lock lock{mutex_};
  if (!changed_.wait_for(lock, timeout, [&] { return values_.contains(key); }))
    return fail(Errc::network, "nobody put {} within {} ms", key, timeout.count());
  return values_[key];
}

} // namespace troupe::collectives
