#include "store.hpp"

#include "carried_error.hpp"

#include "troupe/core/fail.hpp"

#include <cstring>

namespace troupe::actors {

store_actor::behavior_type StoreState::make_behavior() {
  return {[this](atom::put, const std::string& key, caf::byte_buffer value) {
            put(key, std::move(value));
          },
          [this](atom::get, const std::string& key) { return get(key); },
          [this](atom::failed, const Error& error) { fail(error); }};
}

void StoreState::put(const std::string& key, caf::byte_buffer value) {
  const auto [first, last] = waiting_.equal_range(key);
  for (auto waiter = first; waiter != last; ++waiter)
    waiter->second.deliver(value);
  waiting_.erase(first, last);
  values_[key] = std::move(value);
}

caf::result<caf::byte_buffer> StoreState::get(const std::string& key) {
  if (const auto value = values_.find(key); value != values_.end())
    return value->second;
  if (failed_)
    return *failed_;
  auto promise = self_->make_response_promise<caf::byte_buffer>();
  waiting_.emplace(key, promise);
  return promise;
}

void StoreState::fail(const Error& error) {
  failed_ = carry(error);
  for (auto& [key, waiter] : waiting_)
    waiter.deliver(*failed_);
  waiting_.clear();
}

Status MessageStore::put(const std::string& key, std::vector<char> value) {
  const auto* bytes = reinterpret_cast<const caf::byte*>(value.data());
  caf::anon_send(store_, atom::put_v, key, caf::byte_buffer{bytes, bytes + value.size()});
  return {};
}

Result<std::vector<char>> MessageStore::wait(const std::string& key,
                                             std::chrono::milliseconds timeout) {
  Result<std::vector<char>> result;
  caf::scoped_actor self{system_};
  self->request(store_, timeout, atom::get_v, key)
      .receive(
          [&](const caf::byte_buffer& value) {
            result->resize(value.size());
            std::memcpy(result->data(), value.data(), value.size());
          },
          [&](const caf::error& error) {
            result = error == caf::sec::request_timeout
                         ? fail(Errc::network, "nobody put {} within {} ms", key, timeout.count())
                         : failure(carried(error, {Errc::network,
                                                   fmt::format("asking the leader for {}", key),
                                                   {.actor = StoreState::name}}));
          });
  return result;
}

} // namespace troupe::actors
