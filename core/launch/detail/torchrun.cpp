// Variables of torchrun, and of other launchers that set RANK, WORLD_SIZE, MASTER_ADDR and
// MASTER_PORT as it does.
#include "core/fail.hpp"
#include "core/launch/detail/part.hpp"

#include <fmt/format.h>

namespace troupe {

namespace {

constexpr std::int64_t last_port = 65535;

Bounds below(std::int64_t size, const char* name) {
  return {0, size - 1, fmt::format("{} is {}", name, size)};
}

/// torchrun's agent uses MASTER_PORT for its own store as long as it runs, and sets this variable
/// then. The job takes the next port, which all processes can derive too.
std::int64_t is_taken(const Variables& variables) {
  return variables.text_or("TORCHELASTIC_USE_AGENT_STORE", "False") == "True" ? 1 : 0;
}

/// Returns the index of this host in the job, from 0; -1 if it is unknown.
Result<std::int64_t> read_host(const Variables& variables, const Part& part) {
  TROUPE_TRY(const auto host,
             variables.number_or("GROUP_RANK", -1, below(part.size, "WORLD_SIZE")));
  if (part.rank == 0 && (host > 0 || part.local_rank > 0))
    return variables.wrong(fmt::format(
        "RANK is 0, but {} is not; rank 0 leads, and must be the first process of the first host",
        host > 0 ? "GROUP_RANK" : "LOCAL_RANK"));
  return host;
}

} // namespace

Result<Part> read_torchrun(const Variables& variables) {
  TROUPE_TRY(variables.require({"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}));
  Part part;
  part.leader.host = variables.text("MASTER_ADDR");
  part.size_from = "WORLD_SIZE";
  part.leader_from = "MASTER_ADDR";
  part.local_size_from = "LOCAL_WORLD_SIZE";
  TROUPE_TRY(part.size, variables.number("WORLD_SIZE", {1, most_processes}));
  TROUPE_TRY(part.rank, variables.number("RANK", below(part.size, "WORLD_SIZE")));
  TROUPE_TRY(part.local_size,
             variables.number_or("LOCAL_WORLD_SIZE", 1,
                                 {1, part.size, fmt::format("WORLD_SIZE is {}", part.size)}));
  TROUPE_TRY(part.local_rank,
             variables.number_or("LOCAL_RANK", 0, below(part.local_size, "LOCAL_WORLD_SIZE")));
  TROUPE_TRY(const auto host, read_host(variables, part));
  const auto taken = is_taken(variables);
  TROUPE_TRY(const auto port, variables.number("MASTER_PORT", {1, last_port - taken}));
  part.leader.port = static_cast<std::uint16_t>(port + taken);
  if (part.rank == 0 || host == 0)
    part.host = part.leader.host;
  return part;
}

} // namespace troupe
