#include "collectives/data_plane/channel.hpp"

#include "core/fail.hpp"

namespace troupe::collectives {

Result<net::Connection*> Channel::to(int member) {
  if (const auto open = outgoing_.find(member); open != outgoing_.end())
    return &open->second;
  return add(outgoing_, member,
             connection_group_->connect(endpoint(member), {options_.group, options_.member, member},
                                        timeout_));
}

Result<net::Connection*> Channel::from(int member) {
  if (const auto open = incoming_.find(member); open != incoming_.end())
    return &open->second;
  const auto name = fmt::format("{} {} ({})", options_.noun, member, to_string(endpoint(member)));
  return add(incoming_, member,
             connection_group_->accept({options_.group, member, options_.member}, timeout_, name,
                                       &aborted_));
}

Result<net::Connection*> Channel::add(Connections& connections, int member,
                                      Result<net::Connection> connection) {
  const std::lock_guard lock{mutex_};
  TROUPE_TRY(aborted_.status());
  TROUPE_TRY(auto open, std::move(connection));
  return &connections.emplace(member, std::move(open)).first->second;
}

void Channel::abort(const Error& reason) {
  {
    const std::lock_guard lock{mutex_};
    if (!aborted_.cancel(reason))
      return;
    for (const auto* connections : {&outgoing_, &incoming_})
      for (const auto& [member, connection] : *connections)
        connection.shut_down();
  }
  connection_group_->look_again();
}

} // namespace troupe::collectives
