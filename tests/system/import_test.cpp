// Tests that `troupe config import` translates other programs' files to configs that `config check`
// accepts and that train.
#include "tests/system/experiment.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace troupe;
using namespace troupe::testing;

namespace {

struct Case {
  std::string name;
  std::string file;
  std::string strategy; ///< of the run
  int workers = 2;
};

std::string two_processes(const std::string& type, const std::string& more = {}) {
  return "distributed_type: " + type + "\nnum_processes: 2\nuse_cpu: true\n" + more;
}

std::string fsdp(const std::string& strategy) {
  return two_processes("FSDP", "mixed_precision: bf16\nfsdp_config: {fsdp_offload_params: false, "
                               "fsdp_sharding_strategy: " +
                                   strategy + "}\n");
}

std::string deepspeed(const std::string& stage, const std::string& offload) {
  return two_processes("DEEPSPEED", "deepspeed_config: {zero_stage: " + stage +
                                        ", gradient_accumulation_steps: 2, gradient_clipping: 1.0" +
                                        offload + "}\n");
}

const std::string json = R"({
  "train_batch_size": 16,
  "train_micro_batch_size_per_gpu": 4,
  "gradient_accumulation_steps": 2,
  "bf16": {"enabled": true},
  "optimizer": {"type": "Adam", "params": {"lr": 0.001, "betas": [0.8, 0.999]}},
  "scheduler": {"type": "WarmupCosineLR",
                "params": {"warmup_num_steps": 2, "warmup_type": "linear", "total_num_steps": 4}},
  "zero_optimization": {"stage": 2, "overlap_comm": true, "reduce_bucket_size": 1e5,
                        "offload_optimizer": {"device": "cpu", "pin_memory": true}}
})";

/// Small and short enough for a test, without ports that may be in use.
const std::vector<std::string> short_run = {"data.limit=64",
                                            "data.image_size=8",
                                            "data.batch_size=16",
                                            "train.max_steps=4",
                                            "metrics.listen=\"off\"",
                                            "train.evaluate_every=0",
                                            "checkpoint.every=never",
                                            "devices.threads_per_worker=1",
                                            "cluster.listen=127.0.0.1:0"};

Ended run(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {TROUPE_PROGRAM};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return RunningProgram{command}.wait();
}

void check_trains(const ScratchFolder& folder, const Case& expected) {
  const auto config = (folder / "mine.yaml").string();
  const auto checked = run({"config", "check", config});
  CAPTURE(expected.name, checked.err, read_bytes(config));
  REQUIRE(checked.code == 0);
  const Experiment experiment(short_run, config);
  const auto summary = experiment.completed("imported").summary();
  CHECK(summary.at("strategy") == expected.strategy);
  CHECK(summary.at("world_size") == expected.workers);
  CHECK(summary.at("steps") == 4);
}

} // namespace

TEST_CASE("a config imported from accelerate trains") {
  const auto expected = GENERATE(
      Case{"NO", "distributed_type: 'NO'\nuse_cpu: true\n", "single", 1},
      Case{"DDP", two_processes("MULTI_CPU"), "ddp"},
      Case{"GPUs", "distributed_type: MULTI_GPU\nnum_processes: 2\nmixed_precision: 'no'\n", "ddp"},
      Case{"FULL_SHARD", fsdp("FULL_SHARD"), "fsdp"},
      Case{"SHARD_GRAD_OP", fsdp("SHARD_GRAD_OP"), "fsdp"},
      Case{"NO_SHARD", fsdp("NO_SHARD"), "ddp"}, Case{"HYBRID_SHARD", fsdp("HYBRID_SHARD"), "hsdp"},
      Case{"ZeRO 1", deepspeed("1", ", offload_optimizer_device: cpu"), "zero1"},
      Case{"ZeRO 2", deepspeed("2", ", offload_optimizer_device: cpu"), "zero2"},
      Case{"ZeRO 3", deepspeed("3", ", offload_optimizer_device: cpu, offload_param_device: cpu"),
           "zero3"});
  const ScratchFolder folder;
  const auto file = (folder / "default_config.yaml").string();
  const auto config = (folder / "mine.yaml").string();
  write_bytes(file, expected.file);
  const auto imported = run({"config", "import", "accelerate", file, "-o", config});
  CAPTURE(imported.err);
  REQUIRE(imported.code == 0);
  CHECK(imported.out.empty());
  CHECK(has(imported.err, ":1: distributed_type: mapped to parallel.strategy: "));
  check_trains(folder, expected);
}

TEST_CASE("a config imported from DeepSpeed trains, directly and through accelerate's file") {
  const bool alone = GENERATE(true, false);
  const ScratchFolder folder;
  write_bytes(folder / "ds.json", json);
  write_bytes(folder / "a.yaml", "distributed_type: DEEPSPEED\nnum_processes: 2\nuse_cpu: true\n"
                                 "deepspeed_config: {deepspeed_config_file: ds.json}\n");
  const auto file = (folder / (alone ? "ds.json" : "a.yaml")).string();
  std::vector<std::string> command = {"config", "import", alone ? "deepspeed" : "accelerate", file};
  if (alone)
    command.insert(command.end(), {"--steps-per-epoch", "4", "--set", "devices.kind=cpu"});
  const auto imported = run(command);
  CAPTURE(imported.err);
  REQUIRE(imported.code == 0);
  CHECK(imported.out.starts_with("# Generated by troupe config import "));
  write_bytes(folder / "mine.yaml", imported.out);
  check_trains(folder, {"DeepSpeed", {}, "zero2"});
}

TEST_CASE("an existing file is only replaced with --force") {
  const ScratchFolder folder;
  const auto file = (folder / "a.yaml").string(), config = (folder / "mine.yaml").string();
  write_bytes(file, "distributed_type: 'NO'\n");
  write_bytes(config, "mine");
  const auto refused = run({"config", "import", "accelerate", file, "-o", config});
  CHECK(refused.code == 2);
  CHECK(has(refused.err, "mine.yaml already exists; --force replaces it"));
  CHECK(read_bytes(config) == "mine");
  CHECK(run({"config", "import", "accelerate", file, "-o", config, "--force"}).code == 0);
  CHECK(has(read_bytes(config), "strategy: single  # "));
  CHECK(run({"config", "import", "accelerate"}).code == 2);
  CHECK(has(run({"config", "import", "deepspeed", "--keys"}).out, "| `zero_optimization.stage` |"));
}
