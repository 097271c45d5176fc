// Variables of a SLURM step, as srun sets them.
#include "core/fail.hpp"
#include "core/launch/detail/node_list.hpp"
#include "core/launch/detail/part.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <numeric>

namespace troupe {

namespace {

// Variables of the step and of its job: a step may have fewer hosts and processes than its job.
constexpr Either host_names = {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"},
                 host_count = {"SLURM_STEP_NUM_NODES", "SLURM_NNODES"},
                 task_count = {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
                 tasks_per_host = {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"};

/// Unassigned ports below the ephemeral range.
constexpr std::int64_t first_port = 20000, ports = 10000;

/// Returns the first port that srun --resv-ports has reserved. Otherwise derives one from the
/// numbers of job and step, so that jobs on one host differ.
Result<std::uint16_t> read_port(const Variables& variables) {
  const auto reserved = variables.text_or("SLURM_STEP_RESV_PORTS", "");
  if (const auto port = std::strtol(reserved.c_str(), nullptr, 10); port > 0 && port < 65536)
    return static_cast<std::uint16_t>(port);
  constexpr std::int64_t any = std::int64_t{1} << 32;
  TROUPE_TRY(const auto job, variables.number_or("SLURM_JOB_ID", 0, {0, any}));
  TROUPE_TRY(const auto step, variables.number("SLURM_STEP_ID", {0, any}));
  return static_cast<std::uint16_t>(first_port + (31 * job + step) % ports);
}

/// Returns the number of processes on each host of the step, from "2(x3),1".
Result<std::vector<std::int64_t>> read_tasks(const Variables& variables, std::size_t hosts,
                                             std::int64_t size) {
  const auto name = variables.first(tasks_per_host);
  const auto tasks = repeated_counts(variables.text(name));
  if (tasks && tasks->size() == hosts &&
      std::accumulate(tasks->begin(), tasks->end(), std::int64_t{0}) == size)
    return *tasks;
  return variables.wrong(
      fmt::format("{} is \"{}\", which does not describe {} processes on {} hosts", name,
                  variables.text(name), size, hosts));
}

/// Returns the hosts of the step.
Result<std::vector<std::string>> read_hosts(const Variables& variables, const std::string& name) {
  const auto hosts = expand_node_list(variables.text(name));
  if (!hosts)
    return variables.wrong(fmt::format("{}: {}", name, hosts.error().message));
  const auto counted = variables.first(host_count);
  TROUPE_TRY(const auto count, variables.number(counted, {1, most_processes}));
  if (count != std::ssize(*hosts))
    return variables.wrong(fmt::format("{} is {}, but {} names {}: {}", counted, count, name,
                                       hosts->size(), variables.text(name)));
  return *hosts;
}

/// Returns the index of this host in the list.
Result<std::int64_t> read_own_host(const Variables& variables,
                                   const std::vector<std::string>& hosts) {
  TROUPE_TRY(const auto host,
             variables.number("SLURM_NODEID",
                              {0, std::ssize(hosts) - 1, fmt::format("{} hosts", hosts.size())}));
  const auto& listed = hosts[static_cast<std::size_t>(host)];
  if (const auto own = variables.text_or("SLURMD_NODENAME", listed); own != listed)
    return variables.wrong(fmt::format("SLURM_NODEID is {}, which is {} in the list of nodes, but "
                                       "SLURMD_NODENAME is {}",
                                       host, listed, own));
  return host;
}

Status require_variables(const Variables& variables) {
  TROUPE_TRY(variables.require({"SLURM_PROCID", "SLURM_NODEID", "SLURM_LOCALID"}));
  if (!variables.has("SLURM_STEP_ID"))
    return variables.wrong("SLURM_STEP_ID is not set; start the process with srun, on every host");
  for (const auto& [of_step, of_job] : {host_names, host_count, task_count, tasks_per_host})
    if (!variables.has(of_step))
      TROUPE_TRY(variables.require({of_job}));
  return {};
}

} // namespace

Result<Part> read_slurm(const Variables& variables) {
  TROUPE_TRY(require_variables(variables));
  Part part;
  part.size_from = variables.first(task_count);
  part.leader_from = variables.first(host_names);
  part.local_size_from = variables.first(tasks_per_host);
  TROUPE_TRY(part.size, variables.number(part.size_from, {1, most_processes}));
  const auto size = fmt::format("{} is {}", part.size_from, part.size);
  TROUPE_TRY(part.rank, variables.number("SLURM_PROCID", {0, part.size - 1, size}));
  TROUPE_TRY(const auto hosts, read_hosts(variables, part.leader_from));
  TROUPE_TRY(const auto host, read_own_host(variables, hosts));
  TROUPE_TRY(const auto tasks, read_tasks(variables, hosts.size(), part.size));
  part.local_size = tasks[static_cast<std::size_t>(host)];
  TROUPE_TRY(part.local_rank, variables.number("SLURM_LOCALID", {0, part.local_size - 1,
                                                                 fmt::format("{} processes here",
                                                                             part.local_size)}));
  TROUPE_TRY(part.leader.port, read_port(variables));
  part.leader.host = hosts.front();
  part.host = hosts[static_cast<std::size_t>(host)];
  return part;
}

} // namespace troupe
