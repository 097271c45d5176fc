// Tests config files of DeepSpeed.
#include "tests/importers/import_fixture.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

using namespace troupe;
using namespace troupe::testing;

namespace {

Config made(const std::string& text, const ImportOptions& options = {}) {
  return config_of(from_deepspeed(text, options));
}

} // namespace

TEST_CASE("missing batch sizes are derived from the others, like in DeepSpeed") {
  const auto all = made(R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4,
                            "gradient_accumulation_steps": 2})");
  CHECK(all.devices.count == 8);
  CHECK(all.data.batch_size == 64);
  CHECK(all.train.accumulate == 2);
  CHECK(all.parallel.strategy == StrategyKind::ddp);
  const ImportOptions four{.processes = 4};
  const auto without_total =
      made(R"({"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2})", four);
  CHECK(without_total.data.batch_size == 32);
  CHECK(without_total.devices.count == 4);
  const auto without_steps =
      made(R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4})", four);
  CHECK(without_steps.train.accumulate == 4);
  CHECK(made(R"({"train_batch_size": 4096})").data.limit == 4096);
  CHECK(problems_of(from_deepspeed(R"({"train_batch_size": 65,
    "train_micro_batch_size_per_gpu": 4})",
                                   four)) ==
        Lines{"ds.json:1:2: train_batch_size: 65 is not train_micro_batch_size_per_gpu 4 x "
              "gradient_accumulation_steps 4 x 4 processes"});
}

TEST_CASE("optimizers of DeepSpeed are mapped, with its defaults") {
  const auto optimizer = [](const std::string& type, const std::string& params) {
    return made(R"({"optimizer": {"type": ")" + type + R"(", "params": {)" + params + "}}}")
        .train.optimizer;
  };
  const auto adam = optimizer("Adam", R"("betas": [0.8, 0.95], "eps": 1e-6, "weight_decay": 3e-7)");
  CHECK(adam.name == OptimizerKind::adamw); // decoupled by default
  CHECK(adam.lr == 0.001);
  CHECK(adam.betas == std::array{0.8, 0.95});
  CHECK(adam.eps == 1e-6);
  CHECK(adam.weight_decay == 3e-7);
  CHECK(optimizer("Adam", R"("adam_w_mode": false)").name == OptimizerKind::adam);
  CHECK(optimizer("AdamW", R"("torch_adam": true)").weight_decay == 0.01);
  const auto sgd = optimizer("SGD", R"("lr": 0.1)");
  CHECK(sgd.name == OptimizerKind::sgd);
  CHECK(sgd.lr == 0.1);
  CHECK(sgd.momentum == 0); // PyTorch's default, not ours
  const auto lamb = from_deepspeed(R"({"optimizer": {"type": "Lamb", "params": {"lr": 1}}})");
  REQUIRE(lamb.problems.size() == 1);
  CHECK(lamb.problems[0].what == "not supported: \"Lamb\": troupe has SGD, Adam and AdamW");
}

TEST_CASE("schedules in steps keep steps or are converted to epochs") {
  const auto file = [](const std::string& type, const std::string& more) {
    return R"({"optimizer": {"type": "AdamW", "params": {"lr": 0.01}},
               "scheduler": {"type": ")" +
           type + R"(", "params": {"warmup_num_steps": 50, "warmup_type": "linear")" + more + "}}}";
  };
  const ImportOptions converted{.steps_per_epoch = 100};
  const auto warm =
      made(file("WarmupLR", R"(, "warmup_max_lr": 0.2, "warmup_min_lr": 0)"), converted);
  CHECK(warm.train.schedule.name == ScheduleKind::constant);
  CHECK(warm.train.schedule.warmup == Length{0.5});
  CHECK(warm.train.optimizer.lr == 0.2); // the scheduler's, not the optimizer's
  const auto cosine = made(file("WarmupCosineLR", R"(, "total_num_steps": 250)"), converted);
  CHECK(cosine.train.schedule.name == ScheduleKind::cosine);
  CHECK(cosine.train.max_steps == 250);
  CHECK(cosine.train.epochs == 3);
  CHECK(cosine.train.schedule.min_lr == 0.0001 * 0.01);
  const auto linear = made(file("WarmupDecayLR", R"(, "total_num_steps": 250)"));
  CHECK(linear.train.schedule.name == ScheduleKind::linear);
  CHECK(linear.train.schedule.warmup == Length{50, Length::Unit::steps});
  CHECK(linear.train.max_steps == 250);
  CHECK_FALSE(linear.train.epochs);
  for (const auto* type : {"OneCycle", "LRRangeTest"})
    CHECK(from_deepspeed(file(type, ""), converted).problems.size() == 1);
  const auto log = from_deepspeed(R"({"scheduler": {"type": "WarmupLR"}})", converted);
  REQUIRE(log.problems.size() == 1);
  CHECK(log.problems[0].what.find("warmup_type: linear") != std::string::npos);
}

TEST_CASE("loss scaling of DeepSpeed is mapped") {
  const auto scale = [](const std::string& keys) {
    const auto config = made(R"({"fp16": {"enabled": true)" + keys + "}}");
    CHECK(config.precision.mode == Precision::amp_fp16);
    return config.precision.loss_scale;
  };
  CHECK(scale("").growth_interval == 1000); // DeepSpeed's default, not ours
  const auto given = scale(R"(, "loss_scale": 0, "initial_scale_power": 12,
                               "loss_scale_window": 500, "hysteresis": 2, "min_loss_scale": 1)");
  CHECK(given.initial == 4096);
  CHECK(given.growth_interval == 500);
  const auto fixed = scale(R"(, "loss_scale": 128, "initial_scale_power": 12)");
  CHECK(fixed.initial == 128);
  CHECK(fixed.growth_interval == 2000000000);
  CHECK(made(R"({"bf16": {"enabled": true}})").precision.mode == Precision::amp_bf16);
  CHECK(made(R"({"bfloat16": {"enabled": true}})").precision.mode == Precision::amp_bf16);
  const auto off = from_deepspeed(R"({"fp16": {"enabled": "auto", "initial_scale_power": 12}})");
  CHECK(said_of(off, "fp16.initial_scale_power").starts_with("no effect: it is used only with "));
  CHECK(
      from_deepspeed(R"({"fp16": {"enabled": true}, "bf16": {"enabled": true}})").problems.size() ==
      1);
}

TEST_CASE("ZeRO's stages, buckets, groups and offload are mapped") {
  const auto zero = [](const std::string& keys) {
    return made(R"({"zero_optimization": {)" + keys + "}}", {.processes = 4}).parallel;
  };
  CHECK(zero(R"("stage": 0)").strategy == StrategyKind::ddp);
  CHECK(zero(R"("stage": 1, "reduce_bucket_size": 5e6)").bucket_size == 20000000);
  const auto two = zero(R"("stage": 2, "offload_optimizer": {"device": "cpu", "ratio": 0.3})");
  CHECK(two.strategy == StrategyKind::zero2);
  CHECK(two.offload == OffloadConfig{.target = OffloadConfig::Target::optimizer, .ratio = 0.3});
  const auto three = zero(R"("stage": 3, "offload_param": {"device": "nvme", "nvme_path": "/a"},
                              "offload_optimizer": {"device": "cpu"},
                              "stage3_prefetch_bucket_size": 0)");
  CHECK(three.strategy == StrategyKind::zero3);
  CHECK(three.offload.target == OffloadConfig::Target::parameters);
  CHECK(three.prefetch == 0);
  const auto groups = zero(R"("stage": 3, "mics_shard_size": 2)");
  CHECK(groups.strategy == StrategyKind::hsdp);
  CHECK(groups.shard_group == 2);
  CHECK(zero(R"("stage": 2, "cpu_offload": true)").offload.target ==
        OffloadConfig::Target::optimizer);
  CHECK(from_deepspeed(R"({"zero_optimization": {"stage": 4}})").problems.size() == 1);
  CHECK(from_deepspeed(R"({"zero_optimization": {"stage": 3, "zero_quantized_gradients": true}})")
            .problems.size() == 1);
}

TEST_CASE("all three names of ZeRO stage 3's weight gathering are mapped") {
  for (const std::string name :
       {"stage3_gather_16bit_weights_on_model_save", "gather_16bit_weights_on_model_save",
        "stage3_gather_fp16_weights_on_model_save"}) {
    CAPTURE(name);
    const auto state = [&](int stage, const std::string& gathered) {
      return made(fmt::format(R"({{"zero_optimization": {{"stage": {}, "{}": {}}}}})", stage, name,
                              gathered),
                  {.processes = 2})
          .checkpoint.state;
    };
    CHECK(state(3, "true") == CheckpointState::full);
    CHECK(state(3, "false") == CheckpointState::sharded);
    CHECK(state(2, "false") == CheckpointState::full);
  }
}

TEST_CASE("a section that is switched off has no effect") {
  const auto imported = from_deepspeed(R"({
    "elasticity": {"enabled": false, "max_train_batch_size": 2000, "min_gpus": 32},
    "compression_training": {"weight_quantization": {
      "shared_parameters": {"enabled": false, "quantize_groups": 64},
      "different_groups": {"wq1": {"params": {"start_bits": 8}}}}},
    "tensorboard": {"enabled": true, "output_path": "logs"}})");
  CHECK(imported.problems.empty());
  CHECK(said_of(imported, "elasticity.min_gpus") == "no effect: elasticity.enabled is off");
  CHECK(said_of(imported,
                "compression_training.weight_quantization.different_groups.wq1.params.start_bits")
            .starts_with("no effect: "));
  CHECK(said_of(imported, "tensorboard.output_path").starts_with("not supported: "));
  CHECK(from_deepspeed(R"({"elasticity": {"enabled": true, "min_gpus": 32}})").problems.size() ==
        2);
}

TEST_CASE("the other DeepSpeed keys are mapped") {
  const auto config = made(R"({"gradient_clipping": 1.0, "communication_data_type": "bfp16",
    "dataloader_drop_last": false, "activation_checkpointing": {"partition_activations": true},
    "wall_clock_breakdown": false, "torch_autocast": {"enabled": true, "dtype": "bfloat16"}})");
  CHECK(config.train.clip_grad_norm == 1);
  CHECK(config.parallel.mixed_precision.reduce == DType::bf16);
  CHECK(!config.data.drop_last);
  CHECK(config.train.recompute.kind == RecomputeConfig::Kind::block);
  CHECK(config.precision.mode == Precision::amp_bf16);
}

TEST_CASE("comments are skipped, and lines are counted") {
  const auto imported = from_deepspeed("{\n  // how many\n  \"train_batch_size\": 8, /* of\n all */"
                                       "\"steps_per_print\": 10,\n\t\"a\\\"b\": 1\n}\n",
                                       {.allow_unsupported = true});
  REQUIRE(imported.lines.size() == 3);
  CHECK(imported.lines[0].line == 3);
  CHECK(imported.lines[1].line == 4);
  CHECK(imported.lines[2].line == 5);
}

TEST_CASE("suggestions for an optimizer or a scheduler are names that troupe has") {
  const auto problem = [](const std::string& section, const std::string& type) {
    const auto lines =
        problems_of(from_deepspeed("{\"" + section + "\": {\"type\": \"" + type + "\"}}"));
    REQUIRE(lines.size() == 1);
    return lines[0];
  };
  CHECK(problem("optimizer", "Lamb") == "ds.json:1:16: optimizer.type: not supported: \"Lamb\": "
                                        "troupe has SGD, Adam and AdamW");
  for (const std::string other : {"lamb", "Labm", "MuAdam", "RAdam", "ASGD", "OneBitAdam"})
    CHECK(problem("optimizer", other).find("did you mean") == std::string::npos);
  CHECK(problem("optimizer", "AdmaW").ends_with("did you mean \"AdamW\"?"));
  CHECK(problem("scheduler", "OneCycel").find("did you mean") == std::string::npos);
  CHECK(problem("scheduler", "WarmupL").ends_with("did you mean \"WarmupLR\"?"));
}
