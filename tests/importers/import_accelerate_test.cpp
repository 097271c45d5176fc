// Tests config files of accelerate.
#include "tests/importers/import_fixture.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Imports FSDP over four processes on two machines.
Config fsdp(const std::string& keys, const std::string& more = {}) {
  return config_of(from_accelerate("distributed_type: FSDP\nnum_processes: 4\nnum_machines: 2\n" +
                                   more + "fsdp_config:\n" + keys));
}

} // namespace

TEST_CASE("the strategies of distributed_type are mapped") {
  CHECK(config_of(from_accelerate("distributed_type: 'NO'\n")).parallel.strategy ==
        StrategyKind::single);
  const auto ddp = config_of(from_accelerate("distributed_type: MULTI_GPU\nnum_processes: 4\n"
                                             "mixed_precision: fp16\nuse_cpu: false\n"));
  CHECK(ddp.parallel.strategy == StrategyKind::ddp);
  CHECK(ddp.devices.count == 4);
  CHECK(ddp.devices.kind == DeviceKind::automatic);
  CHECK(ddp.precision.mode == Precision::amp_fp16);
  CHECK(ddp.parallel.mixed_precision.reduce == DType::f32);
  const auto npu = from_accelerate("distributed_type: MULTI_NPU\nnum_processes: 4\n");
  CHECK(said_of(npu, "distributed_type").starts_with("not supported: "));
  CHECK(config_of(npu).parallel.strategy == StrategyKind::ddp);
}

TEST_CASE("a file with a missing or wrong distributed_type is refused, like in accelerate") {
  CHECK(problems_of(from_accelerate("num_processes: 4\n")) ==
        Lines{"a.yaml: distributed_type: is missing; allowed: NO, MULTI_GPU, MULTI_CPU, FSDP, "
              "DEEPSPEED"});
  const auto typo = problems_of(from_accelerate("distributed_type: FSPD\n"));
  REQUIRE(typo.size() == 1);
  CHECK(
      typo[0].starts_with("a.yaml:1:1: distributed_type: \"FSPD\" is not allowed; allowed: NO, "));
  CHECK(typo[0].ends_with("did you mean \"FSDP\"?"));
}

TEST_CASE("the sharding strategies of FSDP are mapped") {
  const std::string key = "  fsdp_sharding_strategy: ";
  CHECK(fsdp(key + "FULL_SHARD\n").parallel.strategy == StrategyKind::fsdp);
  CHECK(fsdp(key + "1\n").parallel.reshard_after_forward);
  const auto kept = fsdp(key + "SHARD_GRAD_OP\n");
  CHECK(kept.parallel.strategy == StrategyKind::fsdp);
  CHECK(!kept.parallel.reshard_after_forward);
  CHECK(fsdp(key + "NO_SHARD\n").parallel.strategy == StrategyKind::ddp);
  const auto hybrid = fsdp(key + "HYBRID_SHARD\n");
  CHECK(hybrid.parallel.strategy == StrategyKind::hsdp);
  CHECK(hybrid.parallel.shard_group == 2); // number of processes on a machine
  CHECK(!fsdp(key + "5\n").parallel.reshard_after_forward);
  CHECK(fsdp("  sharding_strategy: 3\n").parallel.strategy ==
        StrategyKind::ddp); // the number form of old files
}

TEST_CASE("FSDP2 is mapped, with reshard_after_forward as a boolean and separate groups") {
  const auto kept = fsdp("  fsdp_version: 2\n  fsdp_reshard_after_forward: false\n");
  CHECK(kept.parallel.strategy == StrategyKind::fsdp);
  CHECK(!kept.parallel.reshard_after_forward);
  const auto groups = fsdp("  fsdp_version: 2\n", "parallelism_config:\n"
                                                  "  parallelism_config_dp_replicate_size: 2\n"
                                                  "  parallelism_config_dp_shard_size: 2\n"
                                                  "  parallelism_config_tp_size: 1\n");
  CHECK(groups.parallel.strategy == StrategyKind::hsdp);
  CHECK(groups.parallel.shard_group == 2);
}

TEST_CASE("FSDP's wrapping, prefetch, offload, checkpointing and types are mapped") {
  const auto config = fsdp("  fsdp_auto_wrap_policy: SIZE_BASED_WRAP\n"
                           "  fsdp_min_num_params: 20000\n"
                           "  fsdp_backward_prefetch: BACKWARD_POST\n"
                           "  fsdp_offload_params: true\n"
                           "  fsdp_activation_checkpointing: true\n",
                           "mixed_precision: bf16\n");
  CHECK(config.parallel.wrap.policy == WrapConfig::Policy::size_based);
  CHECK(config.parallel.wrap.min_num_params == 20000);
  CHECK(config.parallel.prefetch == 0);
  CHECK(config.parallel.offload.target == OffloadConfig::Target::parameters);
  CHECK(config.train.recompute.kind == RecomputeConfig::Kind::block);
  CHECK(config.precision.mode == Precision::amp_bf16);
  CHECK(config.parallel.mixed_precision == MixedPrecisionConfig{.parameters = DType::bf16,
                                                                .reduce = DType::bf16,
                                                                .buffers = DType::bf16});
  CHECK(fsdp("  fsdp_auto_wrap_policy: NO_WRAP\n").parallel.wrap.min_num_params == 1000000000000);
}

TEST_CASE("state dict types of FSDP and DeepSpeed become full or sharded checkpoints") {
  const auto state = [](const std::string& word) {
    return fsdp("  fsdp_state_dict_type: " + word + "\n").checkpoint.state;
  };
  CHECK(state("FULL_STATE_DICT") == CheckpointState::full);
  CHECK(state("1") == CheckpointState::full);
  CHECK(state("SHARDED_STATE_DICT") == CheckpointState::sharded);
  CHECK(state("LOCAL_STATE_DICT") == CheckpointState::sharded);
  const std::string file = "distributed_type: FSDP\nnum_processes: 2\nfsdp_config:\n"
                           "  fsdp_state_dict_type: ";
  CHECK(said_of(from_accelerate(file + "LOCAL_STATE_DICT\n"), "fsdp_config.fsdp_state_dict_type") ==
        "mapped to checkpoint.state: sharded (shards that any number of workers can load)");
  const auto typo = problems_of(from_accelerate(file + "SHARD_STATE_DICT\n"));
  REQUIRE(typo.size() == 1);
  CHECK(typo[0].ends_with("did you mean \"SHARDED_STATE_DICT\"?"));

  const auto deepspeed = [](const std::string& keys) {
    return from_accelerate("distributed_type: DEEPSPEED\nnum_processes: 2\ndeepspeed_config:\n" +
                           keys);
  };
  const std::string saves = "  zero3_save_16bit_model: ";
  CHECK(config_of(deepspeed("  zero_stage: 3\n" + saves + "false\n")).checkpoint.state ==
        CheckpointState::sharded);
  const auto whole = deepspeed("  zero_stage: 3\n" + saves + "true\n");
  CHECK(config_of(whole).checkpoint.state == CheckpointState::full);
  CHECK(said_of(whole, "deepspeed_config.zero3_save_16bit_model") ==
        "mapped to checkpoint.state: full (in fp32)");
  const auto second = deepspeed("  zero_stage: 2\n" + saves + "false\n");
  CHECK(config_of(second).checkpoint.state == CheckpointState::full);
  CHECK(said_of(second, "deepspeed_config.zero3_save_16bit_model") ==
        "no effect: it goes with ZeRO stage 3");
}

TEST_CASE("keys of a section that distributed_type does not use have no effect") {
  const auto imported = from_accelerate("distributed_type: MULTI_GPU\nnum_processes: 2\n"
                                        "fsdp_config: {fsdp_offload_params: true}\n"
                                        "deepspeed_config: {}\nmegatron_lm_config: null\n");
  CHECK(said_of(imported, "fsdp_config.fsdp_offload_params") ==
        "no effect: it is used only with distributed_type=FSDP");
  CHECK(said_of(imported, "deepspeed_config") == "no effect: it is empty");
  CHECK(said_of(imported, "megatron_lm_config") == "no effect: it is empty");
  CHECK(config_of(imported).parallel.offload.target == OffloadConfig::Target::none);
}

TEST_CASE("machines find each other by the address of the first machine") {
  const std::string file = "distributed_type: MULTI_GPU\nnum_processes: 4\nnum_machines: 2\n"
                           "main_process_ip: 10.0.0.1\nmain_process_port: 7401\nmachine_rank: ";
  const auto leader = config_of(from_accelerate(file + "0\n"));
  CHECK(leader.devices.count == 2);
  CHECK(leader.cluster.min_nodes == 2);
  CHECK(leader.cluster.max_nodes == 2);
  CHECK(leader.cluster.listen == "10.0.0.1:7401");
  CHECK(leader.cluster.tls.certificate == "certs/10.0.0.1.crt"); // off loopback, TLS is required
  CHECK(!leader.cluster.insecure);
  const auto other = config_of(from_accelerate(file + "1\n"));
  CHECK(other.cluster.join == std::vector<std::string>{"10.0.0.1:7401"});
  CHECK(other.cluster.tls.key == "certs/node-1.key");
  CHECK(problems_of(from_accelerate(file + "2\n")) ==
        Lines{"a.yaml:6:1: machine_rank: 2 is not allowed; allowed: a whole number, 0 to 1"});
  CHECK(problems_of(from_accelerate("distributed_type: MULTI_GPU\nnum_processes: 3\n"
                                    "num_machines: 2\n")) ==
        Lines{"a.yaml:2:1: num_processes: 3 processes cannot be divided among 2 machines"});
}

TEST_CASE("DeepSpeed settings in accelerate's own keys are mapped") {
  const auto config = config_of(from_accelerate("distributed_type: DEEPSPEED\nnum_processes: 2\n"
                                                "deepspeed_config:\n"
                                                "  gradient_accumulation_steps: 4\n"
                                                "  gradient_clipping: 0.5\n"
                                                "  offload_optimizer_device: cpu\n"
                                                "  offload_param_device: cpu\n"
                                                "  zero3_init_flag: true\n"
                                                "  zero_stage: 3\n"));
  CHECK(config.parallel.strategy == StrategyKind::zero3);
  CHECK(config.parallel.offload.target ==
        OffloadConfig::Target::parameters); // also offloads the optimizer
  CHECK(config.train.accumulate == 4);
  CHECK(config.train.clip_grad_norm == 0.5);
  CHECK(config_of(from_accelerate("distributed_type: DEEPSPEED\nnum_processes: 2\n"))
            .parallel.strategy == StrategyKind::zero2);
}

TEST_CASE("a DeepSpeed file that accelerate's file names is read too, and must agree with it") {
  const ScratchFolder folder;
  write_bytes(folder / "ds.json", R"({"zero_optimization": {"stage": 1},
    "train_batch_size": 32, "train_micro_batch_size_per_gpu": 4, "bf16": {"enabled": "auto"}})");
  const auto import = [&](const std::string& more) {
    write_bytes(folder / "a.yaml", "distributed_type: DEEPSPEED\nnum_processes: 4\n"
                                   "deepspeed_config: {deepspeed_config_file: ds.json" +
                                       more);
    return import_accelerate(folder / "a.yaml", {}, nn::model_catalogue());
  };
  const auto config = config_of(import("}\nmixed_precision: bf16\n"));
  CHECK(config.parallel.strategy == StrategyKind::zero1);
  CHECK(config.data.batch_size == 32);
  CHECK(config.train.accumulate == 2); // derived from the other two, as DeepSpeed does
  CHECK(config.precision.mode == Precision::amp_bf16);
  CHECK(problems_of(import(", zero_stage: 2}\n")) ==
        Lines{"a.yaml:3:52: deepspeed_config.zero_stage: accelerate refuses it together with "
              "deepspeed_config_file, which contains it"});
  write_bytes(folder / "ds.json", R"({"train_batch_size": 30, "bf16": {"enabled": true}})");
  const auto both = problems_of(import("}\nmixed_precision: fp16\n"));
  REQUIRE(both.size() == 2);
  CHECK(both[0] == "ds.json:1:2: train_batch_size: 30 is not divisible by 4 processes x "
                   "gradient_accumulation_steps 1");
  CHECK(both[1].starts_with("ds.json:1:35: bf16.enabled: sets precision.mode: amp_bf16, but "
                            "mixed_precision in line 4 of "));
  write_bytes(folder / "a.yaml", "distributed_type: DEEPSPEED\n"
                                 "deepspeed_config: {deepspeed_config_file: d.json}\n");
  const auto missing = problems_of(import_accelerate(folder / "a.yaml", {}, nn::model_catalogue()));
  REQUIRE(!missing.empty());
  CHECK(missing[0].starts_with("d.json: cannot open: No such file"));
  CHECK(missing[0].ends_with("ds.json\"?"));
}

TEST_CASE("an unsupported key that changes training is an error, unless it may be left out") {
  const std::string file = "distributed_type: MULTI_GPU\nnum_processes: 2\nmixed_precision: fp8\n"
                           "num_proceses: 3\n";
  CHECK(problems_of(from_accelerate(file)) ==
        Lines{"a.yaml:3:1: mixed_precision: not supported: troupe has no fp8; the nearest is "
              "mixed_precision: bf16",
              "a.yaml:4:1: num_proceses: not supported: unknown key; did you mean "
              "\"num_processes\"?"});
  const auto allowed = from_accelerate(file, {.allow_unsupported = true});
  CHECK(said_of(allowed, "num_proceses") == "not supported, left out: unknown key");
  CHECK(config_of(allowed).precision.mode == Precision::fp32);
  for (const std::string type : {"XLA", "MEGATRON_LM"})
    CHECK(from_accelerate("distributed_type: " + type + "\n").problems.size() == 1);
}

TEST_CASE("missing keys are replaced by values that train, with a comment") {
  const auto imported = from_accelerate("distributed_type: MULTI_GPU\nnum_processes: -1\n",
                                        {.overrides = {"train.epochs=3"}, .processes = 200});
  const auto config = config_of(imported);
  CHECK(config.devices.count == 200);
  CHECK(config.data.batch_size == 200); // 128 would be too few
  CHECK(config.data.dataset == "synthetic");
  CHECK(config.train.epochs == 3);
  CHECK(imported.yaml.find("epochs: 3  # --set\n") != std::string::npos);
  CHECK(imported.yaml.find("dataset: synthetic  # not in the file: set yours\n") !=
        std::string::npos);
  CHECK(imported.hints.size() == 2);
}

TEST_CASE("a problem of the resulting config is reported at the key that caused it") {
  const auto imported = from_accelerate("distributed_type: MULTI_GPU\nnum_processes: 2000\n");
  const auto lines = problems_of(imported);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0] == "a.yaml:2:1: num_processes: devices.count: 2000 is out of range; allowed: a "
                    "whole number, 1 to 1024");
  CHECK(imported.yaml.empty());
}

TEST_CASE("a merge key in accelerate's file is reported with its location") {
  CHECK(problems_of(from_accelerate("a: &a {b: 1}\nfsdp_config:\n  <<: *a\n")) ==
        Lines{"a.yaml:3:3: merge keys (<<) are not supported: write the keys out in each mapping"});
}
