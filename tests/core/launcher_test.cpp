// Tests reading a launcher's variables, and errors when they do not fit together.
#include "core/launch/detail/node_list.hpp"
#include "core/launch/launcher.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <map>

using namespace troupe;
using Catch::Matchers::ContainsSubstring;
using Names = std::vector<std::string>;

namespace {

using Variables = std::map<std::string, std::string>;

/// The second process of the second host; both hosts have two processes.
const Variables by_torchrun = {
    {"RANK", "3"},           {"WORLD_SIZE", "4"},       {"LOCAL_RANK", "1"},
    {"GROUP_RANK", "1"},     {"LOCAL_WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"},
    {"MASTER_PORT", "29500"}};
/// The first process of the third of three hosts; the first host has two processes.
const Variables by_slurm = {{"SLURM_JOB_ID", "77"},
                            {"SLURM_STEP_ID", "2"},
                            {"SLURM_PROCID", "3"},
                            {"SLURM_STEP_NUM_TASKS", "4"},
                            {"SLURM_NODEID", "2"},
                            {"SLURM_LOCALID", "0"},
                            {"SLURM_STEP_NUM_NODES", "3"},
                            {"SLURM_STEP_NODELIST", "n[08-09,11]"},
                            {"SLURM_STEP_TASKS_PER_NODE", "2,1(x2)"},
                            {"SLURMD_NODENAME", "n11"}};

Variables operator+(Variables one, const Variables& other) {
  for (const auto& [name, value] : other)
    one[name] = value;
  return one;
}

Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

Result<LaunchedProcess> read(const std::string& launcher, const Variables& variables,
                             std::optional<std::uint16_t> port = std::nullopt) {
  return read_launcher(
      launcher,
      [&](const std::string& name) {
        const auto found = variables.find(name);
        return found != variables.end() ? std::optional{found->second} : std::nullopt;
      },
      port);
}

/// Returns the keys as a map.
Variables values(const std::string& launcher, const Variables& variables,
                 std::optional<std::uint16_t> port = std::nullopt) {
  const auto process = read(launcher, variables, port);
  INFO((process ? "" : process.error().to_string()));
  REQUIRE(process);
  Variables keys;
  for (const auto& [key, value, from] : process->values)
    keys[key] = value + " " + from;
  return keys;
}

std::string problem(const std::string& launcher, const Variables& variables) {
  const auto process = read(launcher, variables);
  if (process)
    return "none";
  CHECK(process.error().exit_code() == 2);
  return process.error().message;
}

} // namespace

TEST_CASE("torchrun's variables set where a process listens and which address it joins") {
  CHECK(values("torchrun", by_torchrun) ==
        Variables{{"cluster.listen", "\"127.0.0.1:0\" MASTER_ADDR"},
                  {"cluster.join", "[\"127.0.0.1:29500\"] MASTER_ADDR"},
                  {"cluster.nodes", "4 WORLD_SIZE"},
                  {"devices.count", "1 LOCAL_WORLD_SIZE"},
                  {"metrics.listen", "\"127.0.0.1:0\" LOCAL_WORLD_SIZE"}});
  const auto leader =
      by_torchrun + Variables{{"RANK", "0"}, {"LOCAL_RANK", "0"}, {"GROUP_RANK", "0"}};
  auto leading = values("torchrun", leader);
  CHECK(leading.at("cluster.listen") == "\"127.0.0.1:29500\" MASTER_ADDR");
  CHECK_FALSE(leading.contains("cluster.join"));
  CHECK_FALSE(leading.contains("metrics.listen"));
  const auto process = read("torchrun", by_torchrun);
  CHECK(process->rank == 3);
  CHECK(process->local_rank == 1);
  CHECK(process->local_size == 2);
}

TEST_CASE("a launcher that sets fewer of torchrun's variables runs one process per host") {
  const Variables least = {
      {"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "::1"}, {"MASTER_PORT", "7000"}};
  CHECK(values("torchrun", least) == Variables{{"cluster.listen", "\"[::1]:0\" MASTER_ADDR"},
                                               {"cluster.join", "[\"[::1]:7000\"] MASTER_ADDR"},
                                               {"cluster.nodes", "2 WORLD_SIZE"}});
}

TEST_CASE("a port in use by torchrun's agent is avoided") {
  const auto kept = by_torchrun + Variables{{"TORCHELASTIC_USE_AGENT_STORE", "True"}};
  CHECK(values("torchrun", kept).at("cluster.join") == "[\"127.0.0.1:29501\"] MASTER_ADDR");
  const auto free = by_torchrun + Variables{{"TORCHELASTIC_USE_AGENT_STORE", "False"}};
  CHECK(values("torchrun", free).at("cluster.join") == "[\"127.0.0.1:29500\"] MASTER_ADDR");
  CHECK(values("torchrun", kept, 7401).at("cluster.join") == "[\"127.0.0.1:7401\"] MASTER_ADDR");
}

TEST_CASE("beyond loopback a process listens on all addresses and is reached by its host name") {
  const auto leader = by_torchrun + Variables{{"RANK", "0"},
                                              {"LOCAL_RANK", "0"},
                                              {"GROUP_RANK", "0"},
                                              {"MASTER_ADDR", "node-1.example"}};
  const auto leading = values("torchrun", leader);
  CHECK(leading.at("cluster.listen") == "\"0.0.0.0:29500\" MASTER_ADDR");
  CHECK(leading.at("cluster.listen.advertise") == "\"node-1.example:29500\" MASTER_ADDR");
  const auto third = values("slurm", by_slurm);
  CHECK(third.at("cluster.listen") == "\"0.0.0.0:0\" SLURM_STEP_NODELIST");
  CHECK(third.at("cluster.listen.advertise") == "\"n11:0\" SLURM_STEP_NODELIST");
}

TEST_CASE("SLURM's variables do the same") {
  const auto keys = values("slurm", by_slurm);
  CHECK(keys.at("cluster.join") == "[\"n08:22389\"] SLURM_STEP_NODELIST"); // 31 * 77 + 2
  CHECK(keys.at("cluster.nodes") == "4 SLURM_STEP_NUM_TASKS");
  CHECK_FALSE(keys.contains("devices.count")); // this host has one process
  const auto second = by_slurm + Variables{{"SLURM_PROCID", "1"},
                                           {"SLURM_NODEID", "0"},
                                           {"SLURM_LOCALID", "1"},
                                           {"SLURMD_NODENAME", "n08"},
                                           {"SLURM_STEP_RESV_PORTS", "12001-12002"}};
  CHECK(values("slurm", second).at("devices.count") == "1 SLURM_STEP_TASKS_PER_NODE");
  CHECK(values("slurm", second).at("metrics.listen") ==
        "\"127.0.0.1:0\" SLURM_STEP_TASKS_PER_NODE");
  CHECK(values("slurm", second).at("cluster.join") == "[\"n08:12001\"] SLURM_STEP_NODELIST");
  auto of_job = by_slurm;
  for (const auto& [step, job] : Variables{{"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"},
                                           {"SLURM_STEP_NUM_NODES", "SLURM_NNODES"},
                                           {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
                                           {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"}}) {
    of_job[job] = of_job.at(step);
    of_job.erase(step);
  }
  CHECK(values("slurm", of_job).at("cluster.nodes") == "4 SLURM_NTASKS");
}

TEST_CASE("auto selects the launcher whose variables are set") {
  CHECK(read("auto", by_torchrun)->launcher == "torchrun");
  CHECK(read("auto", by_slurm)->launcher == "slurm");
  CHECK(read("auto", by_torchrun + by_slurm)->launcher ==
        "torchrun"); // torchrun in a step of SLURM
  CHECK_THAT(problem("auto", {{"RANK", "0"}}), ContainsSubstring("neither torchrun's variables"));
}

TEST_CASE("missing or inconsistent torchrun variables are named") {
  CHECK(problem("torchrun", {{"RANK", "0"}}) ==
        "--launcher torchrun: WORLD_SIZE, MASTER_ADDR, MASTER_PORT are not set");
  const auto wrong = [](const std::string& name, const std::string& value) {
    return problem("torchrun", by_torchrun + Variables{{name, value}});
  };
  CHECK(wrong("RANK", "4") ==
        "--launcher torchrun: RANK is \"4\"; allowed: a whole number from 0 to "
        "3 (WORLD_SIZE is 4)");
  for (const auto* number : {"", "-1", "1.5", "two", "1 "})
    CHECK_THAT(wrong("RANK", number), ContainsSubstring("allowed: a whole number"));
  CHECK_THAT(wrong("WORLD_SIZE", "0"), ContainsSubstring("WORLD_SIZE is \"0\""));
  CHECK_THAT(wrong("LOCAL_WORLD_SIZE", "5"), ContainsSubstring("(WORLD_SIZE is 4)"));
  CHECK_THAT(wrong("LOCAL_RANK", "2"), ContainsSubstring("(LOCAL_WORLD_SIZE is 2)"));
  CHECK_THAT(wrong("MASTER_PORT", "65536"), ContainsSubstring("from 1 to 65535"));
  CHECK_THAT(wrong("MASTER_ADDR", "a b"), ContainsSubstring("not a host name or address"));
  CHECK_THAT(wrong("RANK", "0"), ContainsSubstring("RANK is 0, but GROUP_RANK is not"));
}

TEST_CASE("missing or inconsistent SLURM variables are named") {
  CHECK(problem("slurm", without(by_slurm, "SLURM_PROCID")) ==
        "--launcher slurm: SLURM_PROCID is not set");
  CHECK_THAT(problem("slurm", without(by_slurm, "SLURM_STEP_ID")),
             ContainsSubstring("start the process with srun"));
  CHECK(problem("slurm", without(by_slurm, "SLURM_STEP_NODELIST")) ==
        "--launcher slurm: SLURM_JOB_NODELIST is not set");
  const auto wrong = [](const std::string& name, const std::string& value) {
    return problem("slurm", by_slurm + Variables{{name, value}});
  };
  CHECK(
      wrong("SLURM_STEP_NUM_NODES", "2") ==
      "--launcher slurm: SLURM_STEP_NUM_NODES is 2, but SLURM_STEP_NODELIST names 3: n[08-09,11]");
  CHECK(wrong("SLURM_STEP_NODELIST", "n[08-") ==
        "--launcher slurm: SLURM_STEP_NODELIST: \"n[08-\": \"[08-\" has no closing bracket");
  CHECK_THAT(wrong("SLURMD_NODENAME", "n08"), ContainsSubstring("but SLURMD_NODENAME is n08"));
  CHECK_THAT(wrong("SLURM_NODEID", "3"), ContainsSubstring("from 0 to 2 (3 hosts)"));
  CHECK_THAT(wrong("SLURM_PROCID", "4"), ContainsSubstring("(SLURM_STEP_NUM_TASKS is 4)"));
  CHECK_THAT(wrong("SLURM_LOCALID", "1"), ContainsSubstring("(1 processes here)"));
  for (const auto* tasks : {"2,1", "2(x3)", "4", "", "2,1(x)", "x"})
    CHECK_THAT(wrong("SLURM_STEP_TASKS_PER_NODE", tasks),
               ContainsSubstring("does not describe 4 processes on 3 hosts"));
}

TEST_CASE("each of several processes on a host sees one GPU") {
  const auto gpu = [](std::int64_t rank, std::int64_t size,
                      const std::optional<std::string>& visible) {
    return own_gpu({.local_rank = rank, .local_size = size}, visible);
  };
  CHECK(gpu(1, 2, std::nullopt) == "1");
  CHECK(gpu(1, 2, "4,6,7") == "6");
  CHECK(gpu(1, 2, "GPU-a,GPU-b") == "GPU-b");
  CHECK(gpu(0, 1, "4,6") == std::nullopt);  // a single process takes as many GPUs as it has workers
  for (const auto* given : {"3", "", "-1"}) // one GPU set by the launcher, or none
    CHECK(gpu(1, 2, given) == std::nullopt);
  CHECK(gpu(2, 3, "4,6").error().exit_code() == 2);
}

TEST_CASE("SLURM's node lists are expanded as SLURM does") {
  CHECK(expand_node_list("n1") == Names{"n1"});
  CHECK(expand_node_list("a,b-2,c.example") == Names{"a", "b-2", "c.example"});
  CHECK(expand_node_list("n[1-3,5]") == Names{"n1", "n2", "n3", "n5"});
  CHECK(expand_node_list("n[08-11],gpu[1]") == Names{"n08", "n09", "n10", "n11", "gpu1"});
  CHECK(expand_node_list("r[0-1]n[2-3]-ib") == Names{"r0n2-ib", "r0n3-ib", "r1n2-ib", "r1n3-ib"});
  CHECK(expand_node_list("127.0.0.[1-2]") == Names{"127.0.0.1", "127.0.0.2"});
  for (const auto* list : {"", "a,,b", "n[1-", "n[]", "n[2-1]", "n[1-x]", "n[1-2-3]",
                           "n[0-99999999]", "[0-999][0-999]", ",", "n[1,]"})
    CHECK_FALSE(expand_node_list(list));
}
