// Processes, machines and how they find each other.
#include "importers/detail/tables.hpp"
#include "importers/detail/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace troupe {

namespace of_accelerate_machines {
namespace {

constexpr std::int64_t torch_port = 29500;

ForeignOutcome map_processes(const ForeignContext& context, const ForeignEntry& entry) {
  const auto processes = whole_of(entry);
  if (processes == -1)
    return context.world.known
               ? mapped({{"devices.count", fmt::format("{}", context.world.per_machine())}},
                        "-1 is the number given with --processes")
               : ForeignOutcome{Fate::open, "`devices.count`: set it with --processes N"};
  if (!processes || *processes < 1)
    return wrong(entry, "a whole number, at least 1, or -1");
  if (*processes % context.world.machines != 0)
    return contradicts(fmt::format("{} processes cannot be divided among {} machines", *processes,
                                   context.world.machines));
  return mapped({{"devices.count", fmt::format("{}", context.world.per_machine())}},
                "workers of each node");
}

bool is_address(std::string_view text) {
  return !text.empty() && text.size() < 254 && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == ':';
  });
}

bool is_loopback_name(std::string_view host) {
  return host.starts_with("127.") || host == "localhost" || host == "::1";
}

/// Troupe listens on addresses other than loopback only with certificates.
ForeignSettings trust(const std::string& name) {
  return {{"cluster.tls.certificate", fmt::format("\"certs/{}.crt\"", name)},
          {"cluster.tls.key", fmt::format("\"certs/{}.key\"", name)},
          {"cluster.tls.ca", "certs/ca.crt"}};
}

/// The leader listens at the address; the others join it there.
ForeignSettings address_settings(const ForeignContext& context, const std::string& host) {
  const auto port = whole_at(context, "main_process_port").value_or(torch_port);
  const auto rank = whole_at(context, "machine_rank").value_or(0);
  const bool v6 = host.find(':') != host.npos;
  const auto at = fmt::format("\"{}{}{}:{}\"", v6 ? "[" : "", host, v6 ? "]" : "", port);
  ForeignSettings settings = {rank == 0 ? ForeignSetting{"cluster.listen", at}
                                        : ForeignSetting{"cluster.join", fmt::format("[{}]", at)}};
  if (!is_loopback_name(host))
    for (auto& more : trust(rank == 0 ? host : fmt::format("node-{}", rank)))
      settings.push_back(std::move(more));
  return settings;
}

ForeignOutcome alone() {
  return {Fate::idle, "one machine needs no address"};
}

ForeignOutcome map_address(const ForeignContext& context, const ForeignEntry& entry) {
  if (!is_address(entry.text))
    return wrong(entry, "a host's name or address");
  if (context.world.machines == 1)
    return alone();
  return mapped(address_settings(context, entry.text),
                is_loopback_name(entry.text) ? "" : "tools/make-certs makes the certificates");
}

ForeignOutcome map_port(const ForeignContext& context, const ForeignEntry& entry) {
  const auto port = whole_of(entry);
  if (!port || *port < 0 || *port > 65535)
    return wrong(entry, "a port, 0 to 65535");
  const auto* host = context.find("main_process_ip");
  if (context.world.machines == 1 || !host || !is_address(host->text))
    return alone();
  auto settings = address_settings(context, host->text);
  settings.resize(1);
  return mapped(std::move(settings));
}

ForeignOutcome map_rank(const ForeignContext& context, const ForeignEntry& entry) {
  const auto rank = whole_of(entry);
  if (!rank || *rank < 0 || *rank >= context.world.machines)
    return wrong(entry, fmt::format("a whole number, 0 to {}", context.world.machines - 1));
  if (context.world.machines == 1)
    return alone();
  return mapped({}, *rank == 0 ? "this node leads: cluster.join stays empty"
                               : "this node joins: cluster.join; its own address goes to "
                                 "cluster.listen");
}

} // namespace
} // namespace of_accelerate_machines

ForeignRows accelerate_machine_rows() {
  using namespace of_accelerate_machines;
  return {
      {"num_processes", Fate::mapped, "`devices.count`: the processes of one machine",
       map_processes},
      {"num_machines", Fate::mapped, "`cluster.nodes`", count_to("cluster.nodes")},
      {"machine_rank", Fate::mapped, "0 leads (`cluster.listen`), the others join (`cluster.join`)",
       map_rank},
      {"main_process_ip", Fate::mapped,
       "`cluster.listen` of the leader, `cluster.join` of the others, with `cluster.tls`",
       map_address},
      {"main_process_port", Fate::mapped, "the port of `cluster.listen` or `cluster.join`",
       map_port},
      {"rdzv_backend", Fate::built_in, "nodes join the leader's daemon by themselves"},
      {"same_network", Fate::built_in, "nodes only need to reach each other's cluster.listen"},
      {.key = "gpu_ids",
       .fate = Fate::left_out,
       .says = "start troupe with CUDA_VISIBLE_DEVICES set to these",
       .neutral = "all"},
      {"enable_cpu_affinity", Fate::left_out,
       "start troupe with numactl; devices.threads_per_worker sets the number of threads"},
  };
}

} // namespace troupe
