#include "core/config/validate.hpp"
#include "tests/core/config_fixture.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fmt/ranges.h>

#include <algorithm>

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;

namespace {

std::string conflict(const std::vector<std::string>& overrides,
                     const Capabilities& capabilities = Capabilities::all()) {
  return only_conflict(synthetic, overrides, capabilities);
}

} // namespace

TEST_CASE("a conflict is reported at the first of its keys in the file") {
  CHECK(
      problems("data:\n  batch_size: 10\n  dataset: synthetic\ntrain:\n  accumulate: 3\n") ==
      Lines{
          "a.yaml:2:15: data.batch_size: 10 samples do not divide into 1 worker x 3 micro-batches "
          "of equal size, which the batch norm of resnet20 requires; allowed: 9 or 12"});
  CHECK(problems(synthetic + "train:\n  accumulate: 3\n")
            .at(0)
            .starts_with("a.yaml:3:15: data.batch_size: 128 samples do not divide"));
  CHECK(problems(synthetic, {"train.accumulate=3"})
            .at(0)
            .starts_with("--set train.accumulate=3: data.batch_size: 128 samples do not divide"));
}

TEST_CASE("a conflict is not reported if one of its keys is invalid by itself") {
  const auto lines = problems(synthetic + "devices: {count: 0}\ntrain: {accumulate: -3}\n");
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].starts_with("a.yaml:2:18: devices.count: 0 is out of range"));
  CHECK(lines[1].starts_with("a.yaml:3:21: train.accumulate: -3 is out of range"));
}

TEST_CASE("an invalid divisor is reported without dividing by it") {
  for (const std::string key : {"devices.count", "cluster.nodes.min", "train.accumulate",
                                "parallel.shard_group", "data.batch_size"}) {
    const auto lines = problems(synthetic, {"parallel.strategy=hsdp", key + "=0"});
    CHECK(std::ranges::any_of(lines, [&](const std::string& line) {
      return line.find(key + ": 0 is out of range") != std::string::npos;
    }));
  }
}

TEST_CASE("workers and micro-batches must divide the batch if there is batch norm") {
  CHECK(conflict({"parallel.strategy=ddp", "devices.count=3"}) ==
        "data.batch_size: 128 samples do not divide into 3 workers x 1 micro-batch of equal size, "
        "which the batch norm of resnet20 requires; allowed: 126 or 129");
  CHECK(problems(synthetic, {"parallel.strategy=ddp", "devices.count=4", "train.accumulate=8"})
            .empty());
  for (const auto* model : {"model.name=mlp", "model.name=linear"})
    CHECK(problems(synthetic, {model, "parallel.strategy=ddp", "devices.count=3"}).empty());
}

TEST_CASE("synchronized batch norm needs batch norm, but not several workers") {
  for (const std::string model : {"mlp", "linear"})
    CHECK(conflict({"model.sync_batch_norm=true", "model.name=" + model})
              .starts_with(
                  "model.sync_batch_norm: " + model +
                  " has no batch norm; allowed: false, or a model with batch norm: resnet18, "));
  for (const auto* strategy : {"single", "dp", "ddp", "zero3"})
    CHECK(problems(synthetic,
                   {"model.sync_batch_norm=true", std::string{"parallel.strategy="} + strategy})
              .empty());
}

TEST_CASE("batch norm cannot be synchronized across GPUs of several nodes") {
  CHECK(conflict({"model.sync_batch_norm=true", "parallel.strategy=ddp", "devices.kind=cuda",
                  "devices.count=2", "cluster.nodes.max=2"}) ==
        "model.sync_batch_norm: CUDA workers of several nodes cannot synchronize batch norm yet; "
        "allowed: false; devices.kind: cpu; one node");
}

TEST_CASE("synchronized batch norm across nodes is refused if devices.kind auto selects GPUs") {
  const std::vector<std::string> nodes = {"model.sync_batch_norm=true", "parallel.strategy=ddp",
                                          "cluster.nodes.max=2"};
  const auto refused = [&](const Capabilities& machine) {
    return conflict(nodes, machine).starts_with("model.sync_batch_norm: CUDA workers of several");
  };
  CHECK(refused({.cuda_build = true, .cuda_devices = 1}));
  CHECK_FALSE(refused({.cuda_build = true, .cuda_devices = 0}));
  CHECK_FALSE(refused(Capabilities::all()));
}

TEST_CASE("every worker's micro-batch needs a sample") {
  CHECK(conflict({"train.accumulate=1000000"}).starts_with("data.batch_size: "));
  CHECK(conflict({"model.name=mlp", "data.batch_size=5", "train.accumulate=6"}) ==
        "data.batch_size: 5 samples are too few for 1 workers x 6 micro-batches; allowed: at least "
        "devices.count x cluster.nodes.min x train.accumulate");
}

TEST_CASE("strategy single needs exactly one worker") {
  CHECK(conflict({"devices.count=2"}) ==
        "parallel.strategy: strategy single is for one worker, but there are 2; allowed: ddp, or "
        "devices.count: 1 and cluster.nodes: 1");
  CHECK(problems(synthetic, {"devices.count=1", "parallel.strategy=ddp"}).empty());
}

TEST_CASE("CUDA is refused without a CUDA build or device") {
  CHECK(conflict({"devices.kind=cuda"}, {}) ==
        "devices.kind: this build has no CUDA backend; allowed: auto, cpu");
  CHECK(conflict({"devices.kind=cuda"}, {.cuda_build = true}) ==
        "devices.kind: no CUDA device on this machine; allowed: auto, cpu");
  CHECK(
      problems(synthetic, {"devices.kind=cuda"}, {.cuda_build = true, .cuda_devices = 1}).empty());
  // Workers may share a GPU.
  CHECK(problems(synthetic, {"devices.kind=cuda", "devices.count=2", "parallel.strategy=ddp"},
                 {.cuda_build = true, .cuda_devices = 1})
            .empty());
  CHECK(conflict({"devices.kind=cuda", "devices.engine=interpreter"}) ==
        "devices.engine: the interpreter runs only on the CPU; allowed: fastest");
}

TEST_CASE("every precision except tf32 works on every processor") {
  for (const std::string mode : {"fp32", "fp16", "bf16", "amp_fp16", "amp_bf16"})
    CHECK(problems(synthetic, {"precision.mode=" + mode}, {}).empty());
}

TEST_CASE("a precision that only CUDA devices support is refused on a CPU") {
  CHECK(
      conflict({"precision.mode=tf32"}, {}) ==
      "precision.mode: tf32 requires a CUDA device; allowed: fp32, fp16, bf16, amp_fp16, amp_bf16");
  CHECK(problems(synthetic, {"precision.mode=tf32"}, {.cuda_build = true, .cuda_devices = 1})
            .empty());
}

TEST_CASE("fp16 has no requirements on a CPU") {
  for (const auto* mode : {"precision.mode=amp_fp16", "precision.mode=fp16"})
    for (const auto* engine : {"devices.engine=interpreter", "devices.engine=fastest"})
      CHECK(problems(synthetic, {mode, engine}, {}).empty());
}

TEST_CASE("the model must fit the data") {
  const auto with = [](std::vector<std::string> overrides) {
    overrides.insert(overrides.begin(), "data.root=x");
    return conflict(overrides);
  };
  CHECK(with({"data.dataset=cifar10", "model.num_classes=100"}) ==
        "model.num_classes: 100 classes, but cifar10 has 10; allowed: 10");
  CHECK(with({"data.dataset=cifar10", "model.in_channels=1"}) ==
        "model.in_channels: images of cifar10 have 3 channels; allowed: 3");
  CHECK(problems("data: {dataset: mnist, root: x}\nmodel: {in_channels: 1}\n").empty());
  CHECK(problems("data: {dataset: mnist, root: x}\n").empty()); // grey is replicated
  CHECK(conflict({"model.in_channels=2"}) ==
        "model.in_channels: no image has 2 channels; allowed: 1, 3");
}

TEST_CASE("the imagenet stem needs a large ResNet and large images") {
  CHECK(conflict({"model.stem=imagenet"}) ==
        "model.stem: resnet20 has no imagenet stem; allowed: cifar, or a model that takes it: "
        "resnet18, resnet34, resnet50, resnet101, resnet152");
  CHECK(
      conflict({"model.stem=imagenet", "model.name=resnet18", "data.image_size=28"}) ==
      "model.stem: the imagenet stem shrinks images too much for image_size 28; allowed: imagenet "
      "for an image_size of at least 32");
  CHECK(problems(synthetic, {"model.stem=imagenet", "model.name=resnet50"}).empty());
}

TEST_CASE("an mlp needs hidden layers") {
  CHECK(conflict({"model.name=mlp", "model.hidden=[]"}).starts_with("model.hidden: mlp needs"));
  CHECK(problems(synthetic, {"model.name=linear", "model.hidden=[]"}).empty());
}

TEST_CASE("a model without bias needs layers that can omit it") {
  for (const std::string model : {"model.name=mlp", "model.name=linear"})
    CHECK(problems(synthetic, {model, "model.bias=false"}).empty());
  CHECK(conflict({"model.bias=false"})
            .starts_with("model.bias: the head of resnet20 always has a bias; allowed: true, or a "
                         "model that takes it: mlp, linear"));
}

TEST_CASE("an unknown model is refused with the list of models and the nearest one") {
  CHECK(problems(synthetic + "model: {name: resnet51}\n") ==
        Lines{fmt::format("a.yaml:2:15: model.name: \"resnet51\" is not a choice; allowed: {}; did "
                          "you mean \"resnet50\"?",
                          fmt::join(nn::model_catalogue().names, ", "))});
}

TEST_CASE("a ResNet refuses a table") {
  const std::string table = "data: {dataset: csv, root: x, table: {features: [a, b], targets: "
                            "[c]}, drop_last: false}\n";
  CHECK(
      problems(table).at(0).starts_with("a.yaml:1:17: model.name: resnet20 takes images (H, W, C), "
                                        "but the samples have the shape 2; allowed: mlp, linear"));
  for (const std::string model : {"model.name=mlp", "model.name=linear"})
    CHECK(problems(table, {model, "model.loss=mean_squared_error"}).empty());
}

TEST_CASE("only a ResNet takes a width") {
  CHECK(conflict({"model.name=mlp", "model.width=32"})
            .starts_with("model.width: the layers of mlp have different widths; allowed: null, or "
                         "a model that takes it: resnet18, "));
  CHECK(problems(synthetic, {"model.name=resnet32", "model.width=32"}).empty());
}

TEST_CASE("augmentation must make sense for the images") {
  CHECK(conflict({"data.augment=[crop]", "data.image_size=7"}) ==
        "data.augment: crop shifts by an eighth, which is less than a pixel for image_size 7; "
        "allowed: no crop, or an image_size of at least 8");
  CHECK(conflict({"data.augment=[flip, crop, flip]"}) ==
        "data.augment: flip is listed twice; allowed: no duplicates");
  CHECK(conflict({"data.augment=[crop, resized_crop]"}) ==
        "data.augment: crop and resized_crop cannot be combined; allowed: one of them");
  CHECK(conflict({"data.image_size.eval_resize=31"}) ==
        "data.image_size.eval_resize: a centre of 32 cannot be cropped from a side of 31; allowed: "
        "at least 32");
  CHECK(problems(synthetic, {"data.augment=[resized_crop, flip]", "data.image_size.eval_resize=32"})
            .empty());
}

TEST_CASE("mean and standard deviation have a number for each channel") {
  const auto normalize = [](const std::string& values) {
    return "data.normalize={" + values + "}";
  };
  CHECK(problems(synthetic, {normalize("mean: [0.5, 0.4, 0], std: [0.2, 0.2, 1]")}).empty());
  CHECK(conflict({normalize("mean: [0.5, 0.4, 0.3]")}) ==
        "data.normalize: 3 means and 0 standard deviations; allowed: the same number of both");
  CHECK(conflict({normalize("mean: [0.5], std: [0.2]")}) ==
        "data.normalize: 1 numbers for 3 channels; allowed: one number per channel");
  CHECK(problems(synthetic, {"model.in_channels=1", normalize("mean: [0.5], std: [0.2]")}).empty());
  CHECK(conflict({normalize("mean: [0.5, 0.4, 0.3], std: [0.2, 0, 0.2]")})
            .starts_with("data.normalize.std[1]: 0 is out of range"));
  CHECK(conflict({normalize("mean: [123.7, 0.4, 0.3], std: [0.2, 0.2, 0.2]")})
            .starts_with("data.normalize.mean[0]: 123.7 is out of range"));
}

TEST_CASE("a batch must not be empty") {
  CHECK(conflict({"data.limit=100"}) ==
        "data.limit: 100 samples do not fill a batch of 128, and drop_last skips incomplete "
        "batches; allowed: at least 128, or drop_last: false");
  CHECK(problems(synthetic, {"data.limit=100", "data.drop_last=false"}).empty());
  CHECK(conflict({"data.batch_size=2048"})
            .starts_with("data.limit: 1024 samples do not fill a batch of 2048"));
}

TEST_CASE("optimizer and schedule must be consistent") {
  CHECK(conflict({"train.optimizer={name: adam, momentum: {nesterov: true}}"}) ==
        "train.optimizer.momentum.nesterov: adam has no Nesterov momentum; allowed: false, or "
        "train.optimizer.name: sgd");
  CHECK(conflict({"train.optimizer={momentum: {value: 0, nesterov: true}}"}) ==
        "train.optimizer.momentum.nesterov: nesterov has no effect without momentum; allowed: "
        "false, or a momentum above 0");
  CHECK(conflict({"train.schedule.warmup=10"})
            .starts_with("train.schedule.warmup: a warm-up of 10 epochs leaves nothing of 10 "
                         "epochs; allowed: below 10; for a short trial: "));
  CHECK(conflict({"train.schedule.name=step"}) ==
        "train.schedule.milestones: schedule step needs milestones; allowed: a list of epochs, "
        "steps, tokens or shares");
  CHECK(conflict({"train.schedule={name: step, milestones: [5, 5]}"}) ==
        "train.schedule.milestones: milestones must increase; allowed: ascending lengths");
  CHECK(conflict({"train.schedule={name: step, milestones: [5, 10]}"})
            .starts_with("train.schedule.milestones: milestone 10 is never reached in 10 epochs; "
                         "allowed: below 10; for a short trial: "));
  CHECK(conflict({"train.schedule={name: cosine, min_lr: 0.2}"}) ==
        "train.schedule.min_lr: 0.2 is above the learning rate 0.1; allowed: at most 0.1");
  CHECK(conflict({"train.label_smoothing=0.1", "model.loss=mean_squared_error"}) ==
        "train.label_smoothing: mean_squared_error has no label smoothing; allowed: 0, or loss: "
        "cross_entropy");
}

TEST_CASE("a config that is too short for its schedule suggests a short trial") {
  const auto advice = [](const std::vector<std::string>& overrides) {
    const auto lines = problems(synthetic, overrides);
    REQUIRE_FALSE(lines.empty());
    const std::string words = "for a short trial: ";
    const auto at = lines.front().find(words);
    REQUIRE(at != std::string::npos);
    return lines.front().substr(at + words.size());
  };
  const std::string step = "train.schedule={name: step, warmup: 5, milestones: [2, 30.5, 60]}";
  CHECK(advice({"train.epochs=1", "train.schedule={name: cosine, warmup: 5}"}) ==
        "--set train.epochs=1 --set train.schedule.warmup=0");
  CHECK(advice({"train.epochs=1", step}) ==
        "--set train.epochs=1 --set train.schedule.warmup=0 --set train.schedule.name=constant");
  CHECK(advice({"train.epochs=40", step}) ==
        "--set train.epochs=40 --set 'train.schedule.milestones=[2, 30.5]'");
  CHECK(advice({"train.epochs=3", "train.schedule={name: step, warmup: 5}"}) ==
        "--set train.epochs=3 --set train.schedule.warmup=0");
  // The suggested settings are valid.
  CHECK(problems(synthetic, {step, "train.epochs=1", "train.schedule.warmup=0",
                             "train.schedule.name=constant"})
            .empty());
  CHECK(problems(synthetic, {step, "train.epochs=40", "train.schedule.milestones=[2, 30.5]"})
            .empty());
}

TEST_CASE("offload needs something to offload and a device that supports it") {
  const std::string target = "parallel.offload=";
  CHECK(problems(synthetic, {target + "optimizer"}).empty());
  CHECK(problems(synthetic,
                 {target + "{parameters: 0.5}", "devices.count=2", "parallel.strategy=fsdp"})
            .empty());
  CHECK(conflict({target + "optimizer", "devices.count=2", "parallel.strategy=dp"}) ==
        "parallel.offload: dp has the optimizer only on worker 0, and offloads nothing; "
        "allowed: none, or another strategy");
  CHECK(conflict({target + "parameters", "devices.count=2", "parallel.strategy=zero2"}) ==
        "parallel.offload: zero2 keeps all parameters on each device; allowed: optimizer, "
        "or strategy zero3, fsdp, hsdp");
  CHECK(conflict({target + "optimizer", "train.optimizer.momentum=0"}) ==
        "parallel.offload: sgd without momentum has no state to offload; allowed: none, or "
        "parameters with zero3, fsdp, hsdp");
  auto shares_memory = Capabilities::all();
  shares_memory.cuda_pinned = false;
  CHECK(conflict({target + "optimizer"}, shares_memory) ==
        "parallel.offload: this CUDA device shares the host's memory: there is no separate "
        "pinned memory to offload to; allowed: none, or devices.kind: cpu");
  CHECK(problems(synthetic, {target + "optimizer", "devices.kind=cpu"}, shares_memory).empty());
}

TEST_CASE("two strategies at once are refused") {
  CHECK(conflict({"parallel.strategy=zero3+dp"})
            .starts_with("parallel.strategy: \"zero3+dp\" is not a choice; allowed: single, dp, "));
  CHECK(conflict({"parallel.strategy=[zero3, dp]"})
            .starts_with("parallel.strategy: a list has the wrong type; allowed: single, dp, "));
}

TEST_CASE("timeouts must be in ascending order") {
  CHECK(conflict({"cluster.timeouts.drain=5s"}) ==
        "cluster.timeouts.drain: 5s is less than the collective timeout: the last step may take "
        "1min; allowed: at least 1min");
  CHECK(conflict({"cluster.timeouts.heartbeat=5s"}) ==
        "cluster.timeouts.detection: 2s is not longer than heartbeat, which is 5s; allowed: "
        "heartbeat < detection");
  CHECK(problems(synthetic, {"cluster.timeouts.heartbeat=5s"})
            .at(0)
            .starts_with("--set cluster.timeouts.heartbeat=5s: cluster.timeouts.detection: 2s is"));
  CHECK(conflict({"cluster.timeouts.collective=1s"})
            .starts_with("cluster.timeouts.collective: 1s is not longer than detection"));
  CHECK(conflict({"cluster.timeouts.quorum=50s"})
            .starts_with("cluster.timeouts.quorum: 50s is not longer than collective"));
  CHECK(conflict({"cluster.timeouts.rejoin=2s"}) ==
        "cluster.timeouts.rejoin: 2s is not longer than detection, which is 2s; allowed: "
        "detection < rejoin < quorum");
  CHECK(conflict({"cluster.timeouts.handshake=100ms"}) ==
        "cluster.timeouts.handshake: 100ms is not longer than heartbeat, which is 100ms; allowed: "
        "heartbeat < handshake");
  CHECK(problems(synthetic, {"cluster.timeouts.admission=0s"}).empty());
  CHECK(problems(synthetic, {"cluster.timeouts={detection: 2ms, collective: 3ms, rejoin: 3ms, "
                             "quorum: 4ms, drain: 3ms}"})
            .empty());
}

TEST_CASE("heartbeat, handshake and admission follow from detection unless they are set") {
  TimeoutsConfig timeouts;
  CHECK(timeouts.heartbeat_interval() == 100ms);
  CHECK(timeouts.handshake_timeout() == 10s);
  CHECK(timeouts.admission_delay() == 2s);
  timeouts.detection = 4ms;
  CHECK(timeouts.heartbeat_interval() == 1ms); // 0 would switch heartbeats off
  const auto set = good(synthetic, {"cluster.timeouts={heartbeat: 7ms, handshake: 3s, admission: "
                                    "0s}"});
  CHECK(set.cluster.timeouts.heartbeat_interval() == 7ms);
  CHECK(set.cluster.timeouts.handshake_timeout() == 3s);
  CHECK(set.cluster.timeouts.admission_delay() == 0ms);
  CHECK(good(printed(set)) == set);
  CHECK(printed(good(synthetic)).find("heartbeat") == std::string::npos);
}

TEST_CASE("ports must differ") {
  CHECK(conflict({"metrics.listen=127.0.0.1:7401"}) ==
        "metrics.listen: 127.0.0.1:7401 is already used by cluster.listen; allowed: another port, "
        "0 for any free port, or \"off\"");
  CHECK(problems(synthetic, {"metrics.listen=127.0.0.1:0", "cluster.listen=127.0.0.1:0"}).empty());
}

TEST_CASE("a cluster has room for its nodes and an address that others can connect to") {
  const std::string ddp = "parallel.strategy=ddp", batch = "data.batch_size=6";
  CHECK(conflict({ddp, batch, "cluster.nodes.min=3", "cluster.nodes.max=2"}) ==
        "cluster.nodes.max: 2 is less than min, which is 3; allowed: at least 3");
  CHECK(problems(synthetic, {ddp, batch, "cluster.nodes.min=2", "cluster.nodes.max=3"}).empty());
  CHECK(conflict({"cluster.nodes=2"})
            .starts_with("parallel.strategy: strategy single is for one worker, but there are 2"));
  const std::string everywhere = "cluster.listen=0.0.0.0:7401", insecure = "cluster.insecure=true",
                    several = "cluster.nodes.max=2";
  CHECK(conflict({everywhere, insecure, several})
            .starts_with(
                "cluster.listen: 0.0.0.0 is not an address that another node can connect to"));
  CHECK(problems(synthetic, {everywhere, insecure, several, "cluster.listen.advertise=node-1:7401"})
            .empty());
  CHECK(problems(synthetic, {everywhere, insecure}).empty());
}

TEST_CASE("beyond loopback a daemon needs certificates or an explicit insecure setting") {
  const std::string open = "cluster.listen=10.0.0.1:7401";
  CHECK(conflict({open}) ==
        "cluster.listen: 10.0.0.1:7401 can be reached from other hosts, but there are no "
        "certificates: any client that connects could stop the job; allowed: a loopback address; "
        "cluster.tls (tools/make-certs makes certificates); cluster.insecure: true");
  CHECK(problems(synthetic + "cluster:\n  listen: 0.0.0.0:7401\n")
            .at(0)
            .starts_with("a.yaml:3:11: cluster.listen: 0.0.0.0:7401 can be reached"));
  CHECK(problems(synthetic, {open, "cluster.insecure=true"}).empty());
  CHECK(problems(synthetic, {open, "cluster.tls={certificate: a.crt, key: a.key, ca: ca.crt}"})
            .empty());
  CHECK(problems(synthetic, {"cluster.listen=\"[::1]:7401\""}).empty());
}

TEST_CASE("a certificate, its key and its authority must be given together") {
  CHECK(conflict({"cluster.tls.certificate=a.crt", "cluster.tls.ca=ca.crt"}) ==
        "cluster.tls: TLS requires key, which is not set; allowed: certificate, key and ca, or "
        "none of them");
  CHECK(conflict({"cluster.tls={certificate: a.crt, key: a.key}"})
            .starts_with("cluster.tls: TLS requires ca, which is not set"));
}

TEST_CASE("pinned names need certificates and must not be empty") {
  CHECK(conflict({"cluster.tls.names=[node-1]"}) ==
        "cluster.tls: without certificates there are no names to check; allowed: no names, or set "
        "certificate, key and ca");
  CHECK(problems(synthetic, {"cluster.tls={certificate: a.crt, key: a.key, ca: ca.crt, names: "
                             "[node-1]}"})
            .empty());
  CHECK(
      problems(synthetic, {"cluster.tls={certificate: a.crt, key: a.key, ca: ca.crt, names: "
                           "['']}"})
          .front()
          .ends_with("cluster.tls.names[0]: it is empty; allowed: a list; each item: text that is "
                     "not empty"));
}

TEST_CASE("impossible shard replicas are refused if they are requested") {
  CHECK(conflict({"parallel.replicate_shards=on", "parallel.strategy=ddp",
                  "cluster.nodes.max=2"}) == "parallel.replicate_shards: ddp shards no state that "
                                             "could be lost with a host; allowed: auto, or "
                                             "strategy zero1, zero2, zero3, fsdp, hsdp, async");
  CHECK(
      conflict({"parallel.replicate_shards=on", "parallel.strategy=zero1"}) ==
      "parallel.replicate_shards: a single node has no other host for replicas; allowed: auto, or "
      "cluster.nodes.max: 2 or more");
  CHECK(problems(synthetic,
                 {"parallel.replicate_shards=on", "parallel.strategy=zero1", "cluster.nodes.max=2"})
            .empty());
}
