#include "core/launch/launcher.hpp"

#include "core/fail.hpp"
#include "core/launch/detail/node_list.hpp"
#include "core/launch/detail/part.hpp"
#include "core/net/socket.hpp"

#include <fmt/format.h>

namespace troupe {

namespace {

/// Chooses the launcher whose variables are set.
Result<std::string> find_launcher(const Environment& environment) {
  if (environment("RANK") && environment("WORLD_SIZE"))
    return "torchrun";
  if (environment("SLURM_PROCID"))
    return "slurm";
  return fail(Errc::invalid_input,
              "--launcher auto: neither torchrun's variables (RANK, WORLD_SIZE) nor SLURM's "
              "(SLURM_PROCID) are set");
}

std::string quoted(const Endpoint& endpoint) {
  return fmt::format("\"{}\"", to_string(endpoint));
}

/// Returns the name or address under which others reach this host: its name, or its address on the
/// route to the leader.
Result<std::string> own_host(const Part& part) {
  if (!part.host.empty())
    return part.host;
  return net::own_address_towards(part.leader);
}

/// Sets where this process listens and how others reach it. It does not listen on its host name,
/// because many hosts resolve their own name to loopback.
Status add_addresses(Part& part) {
  const auto& leader = part.leader;
  const auto port = part.rank == 0 ? leader.port : std::uint16_t{0};
  if (is_loopback(leader)) {
    const bool own = is_loopback({part.host, port});
    part.values.push_back(
        {"cluster.listen", quoted({own ? part.host : leader.host, port}), part.leader_from});
    return {};
  }
  TROUPE_TRY(const auto host, own_host(part));
  const auto* const every = leader.host.find(':') == std::string::npos ? "0.0.0.0" : "::";
  part.values.push_back({"cluster.listen", quoted({every, port}), part.leader_from});
  part.values.push_back({"cluster.listen.advertise", quoted({host, port}), part.leader_from});
  return {};
}

/// Adds the config values that follow from the process's part.
Status add_values(Part& part, const Variables& variables) {
  if (!parse_endpoint(to_string(part.leader)))
    return variables.wrong(fmt::format("{} is \"{}\", which is not a host name or address",
                                       part.leader_from, part.leader.host));
  TROUPE_TRY(add_addresses(part));
  if (part.rank > 0)
    part.values.push_back({"cluster.join", "[" + quoted(part.leader) + "]", part.leader_from});
  part.values.push_back({"cluster.nodes", std::to_string(part.size), part.size_from});
  if (part.local_size > 1)
    part.values.push_back({"devices.count", "1", part.local_size_from});
  if (part.local_size > 1 && part.rank > 0)
    part.values.push_back({"metrics.listen", "\"127.0.0.1:0\"", part.local_size_from});
  return {};
}

} // namespace

Result<std::optional<std::string>> own_gpu(const LaunchedProcess& process,
                                           const std::optional<std::string>& visible) {
  const auto own = static_cast<std::size_t>(process.local_rank);
  if (process.is_alone_here())
    return std::nullopt;
  if (!visible)
    return std::to_string(own);
  const auto gpus = split_list(*visible);
  if (gpus.size() <= 1) // each process has been given its own, or there are no GPUs
    return std::nullopt;
  if (own >= gpus.size())
    return fail(Errc::invalid_input, "CUDA_VISIBLE_DEVICES is {}, but this host runs {} processes",
                *visible, process.local_size);
  return std::string{gpus[own]};
}

const std::vector<std::string>& launcher_names() {
  static const std::vector<std::string> names = {"auto", "torchrun", "slurm"};
  return names;
}

Result<LaunchedProcess> read_launcher(std::string_view name, const Environment& environment,
                                      std::optional<std::uint16_t> port) {
  std::string launcher{name};
  if (launcher == "auto") {
    TROUPE_TRY(launcher, find_launcher(environment));
  }
  const Variables variables{launcher, environment};
  TROUPE_TRY(auto part, launcher == "torchrun" ? read_torchrun(variables) : read_slurm(variables));
  part.launcher = launcher;
  part.leader.port = port.value_or(part.leader.port);
  TROUPE_TRY(add_values(part, variables));
  return part;
}

} // namespace troupe
