#include "core/net/socket.hpp"
#include "tests/system/experiment.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace troupe;
using namespace troupe::testing;

namespace {

std::string big_endian(std::uint32_t number) {
  std::string bytes;
  for (const int shift : {24, 16, 8, 0})
    bytes += static_cast<char>(number >> shift);
  return bytes;
}

/// Writes files in MNIST's format, with fewer samples.
void write_mnist(const std::filesystem::path& folder, std::uint32_t samples) {
  std::filesystem::create_directories(folder);
  for (const std::string part : {"train", "t10k"}) {
    std::string labels, pixels;
    for (std::uint32_t i = 0; i < samples; ++i) {
      labels += static_cast<char>(i % 10);
      pixels += std::string(28 * 28, static_cast<char>(25 * (i % 10)));
    }
    write_bytes(folder / (part + "-images-idx3-ubyte"),
                big_endian(0x803) + big_endian(samples) + big_endian(28) + big_endian(28) + pixels);
    write_bytes(folder / (part + "-labels-idx1-ubyte"),
                big_endian(0x801) + big_endian(samples) + labels);
  }
}

Settings mnist(const std::filesystem::path& folder) {
  return {"data.dataset=mnist", "data.root=" + folder.string(), "data.image_size=28",
          "model.name=linear",  "model.in_channels=1",          "data.augment=[]",
          "data.batch_size=16"};
}

/// Returns the program's error when it refuses to begin.
std::string refused(const Experiment& experiment, const Settings& settings, int code = 2) {
  const auto ended = experiment.train("small", settings);
  CAPTURE(ended.out, ended.err);
  CHECK(ended.code == code);
  CHECK(ended.out.empty());
  return ended.err;
}

} // namespace

TEST_CASE("a missing data folder is named with the command that fetches it") {
  const Experiment experiment;
  const auto folder = experiment / "nowhere";
  const auto said = refused(experiment, mnist(folder));
  CHECK(has(said, folder.string()));
  CHECK(has(said, "tools/fetch-data mnist"));
}

TEST_CASE("a truncated data file is named, and an earlier run is unchanged") {
  const Experiment experiment;
  const auto folder = experiment / "mnist";
  write_mnist(folder, 64);
  const auto run = experiment.completed("small", mnist(folder));
  CHECK(run.epochs().size() == 5);
  const auto summary = run.summary();
  const auto file = folder / "train-images-idx3-ubyte";
  std::filesystem::resize_file(file, 1000);
  const auto said = refused(experiment, mnist(folder));
  CHECK(has(said, file.string()));
  CHECK(has(said, "truncated"));
  CHECK(run.summary() == summary);
  CHECK(run.column<std::int64_t>("step") == all_steps(20));
  CHECK(run.checkpoints().size() == 2);
}

TEST_CASE("a label outside of the classes is named with its file") {
  const Experiment experiment;
  const auto folder = experiment / "mnist";
  write_mnist(folder, 16);
  write_byte(folder / "train-labels-idx1-ubyte", 8 + 3, 11);
  const auto said = refused(experiment, mnist(folder));
  CHECK(has(said, (folder / "train-labels-idx1-ubyte").string()));
  CHECK(has(said, "label 11"));
}

TEST_CASE("a class count that does not match the data is named") {
  const Experiment experiment;
  SECTION("for a data set with a fixed number of classes") {
    auto settings = mnist(experiment / "mnist");
    settings.emplace_back("model.num_classes=7");
    const auto said = refused(experiment, settings);
    CHECK(has(said, "model.num_classes"));
    CHECK(has(said, "mnist has 10"));
  }
  SECTION("for a folder") {
    for (const char* name : {"train/cat", "train/dog", "val/cat"}) {
      std::filesystem::create_directories(experiment / name);
      write_bytes(experiment / name / "1.png", "");
    }
    const auto root = (experiment / "").string();
    const auto said = refused(
        experiment, {"data.dataset=image_folder", "data.root=" + root, "data.batch_size=2"});
    CHECK(has(said, "has 2 classes"));
    CHECK(has(said, "set model.num_classes: 2"));
  }
}

TEST_CASE("a damaged image ends the run and is named") {
  const Experiment experiment;
  for (const char* name : {"train/cat", "train/dog"}) {
    std::filesystem::create_directories(experiment / name);
    write_bytes(experiment / name / "1.png", "this is no image");
  }
  const auto ended = experiment.train(
      "small", {"data.dataset=image_folder", "data.root=" + (experiment / "").string(),
                "data.batch_size=2", "model.num_classes=2", "train.evaluate_every=0"});
  CAPTURE(ended.out, ended.err);
  CHECK(ended.code == 2);
  CHECK(has(ended.err, "/1.png"));
  CHECK(experiment.run("small").summary().at("status") == "failed");
}

TEST_CASE("a port in use is named, and an earlier run is unchanged") {
  const Experiment experiment;
  const auto run = experiment.completed("small");
  const auto summary = run.summary();
  const auto taken = net::listen_on({"127.0.0.1", 0});
  REQUIRE(taken);
  const auto address = "127.0.0.1:" + std::to_string(taken->port);
  const std::string resume = GENERATE("auto", "never");
  CAPTURE(resume);

  const std::string key = GENERATE("metrics.listen", "cluster.listen");
  CAPTURE(key);
  auto node = experiment.start_node(
      "small", {key + "=" + address, "checkpoint.resume=" + resume, "train.epochs=9"});
  const auto ended = node.wait();
  CAPTURE(ended.out, ended.err);
  CHECK(ended.code == 1);
  CHECK(has(ended.err, key));
  CHECK(has(ended.err, address));
  CHECK(run.summary() == summary);
  CHECK(run.column<std::int64_t>("step") == all_steps(40));
  CHECK(run.has("report.html"));
}

TEST_CASE("a run in the foreground uses the next free port for its metrics and reports it") {
  const Experiment experiment;
  const auto taken = net::listen_on({"127.0.0.1", 0});
  REQUIRE(taken);
  const auto port = std::to_string(taken->port);
  const auto ended = experiment.train("small", {"metrics.listen=127.0.0.1:" + port});
  CAPTURE(ended.out, ended.err);
  CHECK(ended.code == 0);
  CHECK(has(ended.err, "metrics.listen: port " + port + " is in use; taking port "));
  CHECK(has(ended.out, "metrics at http://127.0.0.1:"));
  CHECK_FALSE(has(ended.out, "metrics at http://127.0.0.1:" + port + "/"));
}

TEST_CASE("a metrics address of another host is refused, and no other port is tried") {
  const auto ended = Experiment{}.train("small", {"metrics.listen=192.0.2.1:9000"});
  CAPTURE(ended.out, ended.err);
  CHECK(ended.code == 1);
  CHECK(has(ended.err, "cannot listen on 192.0.2.1:9000"));
  CHECK_FALSE(has(ended.err, "in use"));
}

TEST_CASE("CUDA is refused by its key on a machine or in a build without it") {
  const auto said = refused(Experiment{}, {"devices.kind=cuda"});
  CHECK(has(said, "devices.kind"));
  CHECK(has(said, "auto, cpu"));
}

TEST_CASE("a folder that cannot be created is named") {
  const Experiment experiment;
  write_bytes(experiment / "file", "");
  const auto said = refused(experiment, {"run.output=" + (experiment / "file").string()}, 1);
  CHECK(has(said, (experiment / "file").string()));
}

TEST_CASE("a run that another process writes is not touched") {
  const Experiment experiment({"train.epochs=100000", "checkpoint.every=never"});
  auto first = experiment.start("small");
  const auto run = experiment.run("small");
  REQUIRE(becomes_true([&] { return run.steps_done() >= 1; }));
  const std::string resume = GENERATE("auto", "never");
  const auto ended = experiment.train("small", {"checkpoint.resume=" + resume});
  CAPTURE(resume, ended.out, ended.err);
  CHECK(ended.code == 2);
  CHECK(has(ended.err, "another process"));
  CHECK(has(ended.err, "run.name"));
  const auto steps = run.steps_done();
  CHECK(becomes_true([&] { return run.steps_done() > steps; }));
}
