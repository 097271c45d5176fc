// Tests the way from a run to other uses of its model: predictions, and files.
#include "core/checkpoint/safetensors.hpp"
#include "tests/support/image_files.hpp"
#include "tests/system/experiment.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>

using namespace troupe;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;
using Json = nlohmann::json;

namespace {

using Words = std::vector<std::string>;

Ended program(const Words& words) {
  Words command{TROUPE_PROGRAM};
  command.insert(command.end(), words.begin(), words.end());
  return RunningProgram{command}.wait();
}

std::string printed(const Words& words) {
  const auto ended = program(words);
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  return ended.out;
}

Json json_of(Words words) {
  words.insert(words.end(), {"--format", "json"});
  return Json::parse(printed(words));
}

std::string refusal(const Words& words) {
  const auto ended = program(words);
  CHECK(ended.code == 2);
  CHECK(ended.out.empty());
  return ended.err;
}

/// Photographs of two kinds, one of them dark: three of each for training, two for testing.
class TwoKinds : public Experiment {
public:
  TwoKinds()
      : Experiment{{"data.dataset=image_folder", "data.batch_size=2", "data.eval_batch_size=3",
                    "model.num_classes=2", "train.epochs=4", "train.evaluate_every=1"}} {
    for (const auto* const split : {"train", "val"})
      for (int number = 0; number < (split == std::string{"train"} ? 3 : 2); ++number)
        for (const auto* const kind : {"dark", "light"}) {
          auto pixels = testing::pattern(9 + number, 12, 3);
          for (auto& pixel : pixels)
            pixel = static_cast<std::uint8_t>(pixel / 4 + (kind == std::string{"light"} ? 150 : 0));
          const auto folder = photos() / split / kind;
          std::filesystem::create_directories(folder);
          testing::write_png(folder / fmt::format("{}.png", number), pixels, 9 + number, 12, 3);
        }
  }

  std::filesystem::path photos() const { return *this / "photos"; }
  std::string trained(const std::string& name, const Settings& more = {}) const {
    return completed(name, Settings{"data.root=" + photos().string()} + more).folder().string();
  }
};

/// Returns the probabilities of each prediction, by label.
std::vector<std::vector<double>> probabilities(const Json& document) {
  std::vector<std::vector<double>> all;
  for (const auto& prediction : document.at("predictions")) {
    auto& one = all.emplace_back(prediction.at("classes").size());
    for (const auto& entry : prediction.at("classes"))
      one.at(entry.at("label").get<std::size_t>()) = entry.at("probability");
  }
  return all;
}

} // namespace

TEST_CASE("the accuracy of a split equals the run's evaluation, for every kind of model",
          "[long]") {
  const auto settings = GENERATE(Settings{}, Settings{"model.name=resnet18", "model.width=8"},
                                 Settings{"model.name=resnet50", "model.width=8"},
                                 Settings{"model.name=mlp"}, Settings{"model.name=linear"},
                                 Settings{"precision.mode=amp_bf16", "devices.engine=interpreter"});
  const Experiment experiment;
  const auto run = experiment.completed("run", settings + Settings{"train.epochs=2"});
  const auto folder = run.folder().string();
  const auto split = json_of({"predict", folder, "--split", "test"}).at("split");
  CHECK(split.at("samples") == 16);
  CHECK(split.at("top5_accuracy").is_number());
  CHECK(split.at("accuracy") == run.epochs().back().at("test_accuracy"));
  CHECK(split.at("loss").get<double>() ==
        Catch::Approx(run.epochs().back().at("test_loss").get<double>()).epsilon(0.02));

  const auto weights = (experiment / "w.safetensors").string();
  printed({"export", folder, "--format", "safetensors", "-o", weights});
  CHECK(json_of({"predict", weights, "--split", "test"}).at("split") == split);
  printed({"export", folder, "--format", "onnx", "-o", (experiment / "m.onnx").string()});
  CHECK(std::filesystem::file_size(experiment / "m.onnx") > 1000);
}

TEST_CASE("two classes have no top-5 accuracy") {
  const TwoKinds experiment;
  const auto folder = experiment.trained("run");
  CHECK(json_of({"predict", folder, "--split", "test"}).at("split").at("top5_accuracy").is_null());
  const auto text = printed({"predict", folder, "--split", "test"});
  CHECK_THAT(text, ContainsSubstring("accuracy") && !ContainsSubstring("top-5"));
}

TEST_CASE("predicting files gives the same result as predicting their split") {
  const TwoKinds experiment;
  const auto folder = experiment.trained("run");
  const auto split = json_of({"predict", folder, "--split", "test", "--each"});
  const auto files = json_of({"predict", folder, (experiment.photos() / "val").string()});
  CHECK(files.at("predictions").size() == 4);
  CHECK(probabilities(files) == probabilities(split));
  CHECK(split.at("split").at("accuracy").get<double>() >= 0.5);
  const auto& first = files.at("predictions").at(0);
  CHECK(first.at("input") == (experiment.photos() / "val/dark/0.png").string());
  const auto& classes = first.at("classes");
  CHECK(classes.at(0).at("class") == (classes.at(0).at("label") == 0 ? "dark" : "light"));
  CHECK(classes.at(0).at("probability").get<double>() +
            classes.at(1).at("probability").get<double>() ==
        Catch::Approx(1));

  // A single file, twice, and in another precision.
  const auto one = (experiment.photos() / "val/light/1.png").string();
  const auto text = printed({"predict", folder, one, one, "--top", "1", "--precision", "amp_bf16"});
  CHECK(std::ranges::count(text, '\n') == 2);
  CHECK_THAT(text, ContainsSubstring(one + ": ") && ContainsSubstring("%\n"));
  const auto csv = printed({"predict", folder, one, "--format", "csv", "--logits"});
  CHECK_THAT(csv, ContainsSubstring("input,rank,label,class,score\n") &&
                      ContainsSubstring(one + ",1,") && ContainsSubstring(one + ",2,"));
}

TEST_CASE("an unreadable file is named, and the others are predicted") {
  const TwoKinds experiment;
  const auto folder = experiment.trained("run");
  const auto broken = experiment.photos() / "val/dark/broken.png";
  write_bytes(broken, "\x89PNG and nothing else");
  const auto file = experiment / "said.json";
  const auto some = program({"predict", folder, (experiment.photos() / "val").string(), "--format",
                             "json", "-o", file.string()});
  CHECK(some.code == 1);
  CHECK_THAT(some.err, ContainsSubstring("broken.png") &&
                           ContainsSubstring("1 of 5 inputs could not be read"));
  int errors = 0;
  const auto said = Json::parse(read_bytes(file));
  for (const auto& prediction : said.at("predictions"))
    errors += prediction.contains("error") ? 1 : 0;
  CHECK(errors == 1);
  CHECK(program({"predict", folder, broken.string()}).code == 2);
  // Also for a run that skipped such files.
  for (const auto* const skipped : {"data.skip_unreadable=false", "data.skip_unreadable=true"}) {
    const auto split =
        program({"predict", folder, "--split", "test", "--batch", "2", "--set", skipped});
    CHECK(split.code == 1);
    CHECK_THAT(split.out, ContainsSubstring("test: 5 images, 1 unreadable, accuracy "));
  }
}

TEST_CASE("rows of a table are predicted, without their targets") {
  const Experiment experiment{
      {"data.dataset=csv", "data.table.features=[length,width]", "data.table.targets=[price,area]",
       "data.augment=[]", "model.name=linear", "model.num_classes=2",
       "model.loss=mean_squared_error", "train.optimizer.lr=0.05", "train.epochs=20"}};
  for (const auto* const name : {"train", "test"}) {
    std::ofstream out{experiment / (std::string{name} + ".csv")};
    out << "length,width,price,area\n";
    for (int i = 0; i < 32; ++i)
      out << fmt::format("{},{},{},{}\n", i % 7, i % 5, 3 * (i % 7) - (i % 5), i % 7 + i % 5);
  }
  const auto root = "data.root=" + (experiment / "").string();
  const auto run = experiment.completed("run", {root});
  write_bytes(experiment / "new.csv", "width,length\n1,2\n4,0\n");
  const auto asked = (experiment / "new.csv").string();
  // Uses only the exported file: the training rows are not read again.
  const auto weights = (experiment / "w.safetensors").string();
  printed({"export", run.folder().string(), "--format", "safetensors", "-o", weights});
  std::filesystem::remove(experiment / "train.csv");
  const auto said = json_of({"predict", weights, asked});
  CHECK(said.at("predictions").at(0).at("input") == asked + ":1");
  CHECK(said.at("predictions").at(0).at("values").at("price").get<double>() ==
        Catch::Approx(5).margin(0.5));
  CHECK(said.at("predictions").at(1).at("values").at("area").get<double>() ==
        Catch::Approx(4).margin(0.5));
  const auto csv = printed({"predict", weights, asked, "--format", "csv"});
  CHECK_THAT(csv, ContainsSubstring("input,price,area\n" + asked + ":1,"));
}

TEST_CASE("class names that are words are kept in resumed runs, predictions and exports") {
  const Experiment experiment{{"data.dataset=csv", "data.table.features=[length]",
                               "data.table.targets=[kind]", "data.augment=[]",
                               "data.table.delimiter=semicolon", "model.name=linear",
                               "model.num_classes=3", "model.loss=cross_entropy",
                               "train.optimizer.lr=0.1", "checkpoint.resume=auto"}};
  const std::array kinds = {"worm", "snake", "sea eel"};
  for (const auto* const name : {"train", "test"}) {
    std::ofstream out{experiment / (std::string{name} + ".csv")};
    out << "kind;length;note\n";
    for (int i = 0; i < 48; ++i)
      out << fmt::format("{};{};3.5\" long\n", kinds[static_cast<std::size_t>(i % 3)], i % 3);
  }
  const auto root = "data.root=" + (experiment / "").string();
  experiment.completed("run", {root, "train.epochs=20"});
  const auto run = experiment.completed("run", {root, "train.epochs=60"});
  CHECK(run.summary().at("class_names") == Json{"sea eel", "snake", "worm"});
  const auto weights = (experiment / "w.safetensors").string();
  printed({"export", run.folder().string(), "--format", "safetensors", "-o", weights});
  // Labels and standardization come from the weights, not from other training rows.
  write_bytes(experiment / "train.csv", "kind;length\nant;900\nbee;901\ncow;902\n");
  const auto score = json_of({"predict", weights, "--split", "test"}).at("split");
  CHECK(score.at("accuracy") == 1.0);
  write_bytes(experiment / "new.csv", "note;length\n3.5\";0\n4\" of 5\";2\n\n\"a;b\";1\n");
  const auto text = printed({"predict", weights, (experiment / "new.csv").string(), "--top", "1"});
  CHECK(std::ranges::count(text, '\n') == 3);
  CHECK_THAT(text, ContainsSubstring("new.csv:1: worm ") &&
                       ContainsSubstring("new.csv:2: sea eel ") &&
                       ContainsSubstring("new.csv:3: snake "));
  // A run does not continue with other classes.
  const auto resumed = experiment.train("run", {root, "train.epochs=80"});
  CHECK(resumed.code == 2);
  CHECK_THAT(resumed.err, ContainsSubstring("the data set has"));
}

TEST_CASE("a run without a model card and weights of other programs need a config") {
  const auto old_run = source_tree() / "tests/fixtures/old_run";
  const Experiment experiment;
  const auto checkpoint = old_run / "checkpoints/step-000000006.safetensors";
  const auto by_folder = json_of({"predict", old_run.string(), "--split", "test"});
  CHECK(json_of({"predict", checkpoint.string(), "--split", "test"}).at("split") ==
        by_folder.at("split"));
  const auto alone = experiment / "alone.safetensors";
  std::filesystem::copy(checkpoint, alone);
  CHECK_THAT(refusal({"predict", alone.string(), "--split", "test"}),
             ContainsSubstring("--config FILE"));
  const Words with_config{"predict", alone.string(), "--config",
                          (old_run / "config.yaml").string()};
  CHECK(json_of(with_config + Words{"--split", "test"}).at("split") == by_folder.at("split"));
  CHECK_THAT(refusal(with_config + Words{"--split", "test", "--set", "model.name=resnet32"}),
             ContainsSubstring("not in the file, expected"));
  write_bytes(experiment / "names.txt", "one\ntwo\n");
  CHECK_THAT(refusal(with_config + Words{"--split", "test", "--class-names",
                                         (experiment / "names.txt").string()}),
             ContainsSubstring("2 names, but the model has 4 classes"));
}

TEST_CASE("the config in docs/models-out.md suffices to predict files, and --set changes it") {
  const TwoKinds experiment;
  const auto folder = experiment.trained("run", {"train.epochs=2"});
  const auto bare = experiment / "bare.safetensors", other = experiment / "other.safetensors";
  printed({"export", folder, "--format", "safetensors", "-o", bare.string()});
  auto bytes = read_bytes(bare); // from another program: without a config in its metadata
  bytes.replace(bytes.find("\"config\""), 8, "\"konfig\"");
  write_bytes(other, bytes);
  const auto config = experiment / "model.yaml";
  write_bytes(config, "model: {name: resnet20, stem: cifar, num_classes: 2}\n"
                      "data:  {dataset: image_folder, image_size: 8}\n");
  const auto photo = (experiment.photos() / "val/dark/0.png").string();
  const Words command{"predict", other.string(), photo, "--config", config.string()};
  CHECK_THAT(printed(command), ContainsSubstring("0.png: "));
  CHECK_THAT(refusal({"predict", other.string(), "--split", "test", "--config", config.string()}),
             ContainsSubstring("data.root"));
  write_bytes(config, "model: {name: resnet20, stem: cifar, num_classes: 2}\n"
                      "data:  {dataset: image_folder, image_size: 8, limit: 4}\n");
  CHECK_THAT(refusal(command), ContainsSubstring("data.limit: 4 samples do not fill a batch"));
  CHECK_THAT(printed(command + Words{"--set", "data.limit=null"}), ContainsSubstring("0.png: "));
}

TEST_CASE("a tensor of an unsupported type is named with its type") {
  const Experiment experiment;
  const auto run = experiment.completed("run", {"train.epochs=2"});
  const auto path = experiment / "w.safetensors";
  printed({"export", run.folder().string(), "--format", "safetensors", "-o", path.string()});
  auto bytes = read_bytes(path);
  const auto entry = bytes.find("\"fc.weight\"");
  bytes[bytes.find("F32", entry)] = 'I';
  write_bytes(path, bytes);
  CHECK_THAT(refusal({"predict", path.string(), "--split", "test"}),
             ContainsSubstring("fc.weight: I32 in the file, expected F32, F16, BF16 or F64"));
}

TEST_CASE("an invalid model or input is reported before anything is computed") {
  const Experiment experiment;
  const auto run = experiment.completed("run", {"train.epochs=2"});
  const auto folder = run.folder().string();
  CHECK_THAT(refusal({"predict", (experiment / "none").string(), "--split", "test"}),
             ContainsSubstring("there is no such file or folder"));
  CHECK_THAT(refusal({"predict", folder}), ContainsSubstring("--split test"));
  CHECK_THAT(refusal({"predict", folder, (experiment / "none.png").string()}),
             ContainsSubstring("none.png"));
  CHECK_THAT(refusal({"predict", folder, "--split", "test", "--set", "data.rot=x"}),
             ContainsSubstring("did you mean"));
  const auto damaged = experiment / "damaged.safetensors";
  const auto whole = read_bytes(run.checkpoints().back() / "model.safetensors");
  write_bytes(damaged, whole.substr(0, whole.size() / 2));
  const auto truncated = program({"predict", damaged.string(), "--split", "test"});
  CHECK(truncated.code == 2);
  CHECK_THAT(truncated.err, ContainsSubstring("damaged.safetensors"));
  write_bytes(damaged, std::string{"PK\x03\x04 and more"});
  CHECK_THAT(refusal({"predict", damaged.string(), "--split", "test"}),
             ContainsSubstring("is a pickle"));
}

TEST_CASE("a safetensors export contains only the weights, in the requested precision") {
  const Experiment experiment;
  const auto run = experiment.completed("run", {"train.epochs=2"});
  const auto folder = run.folder().string();
  const auto [precision, dtype] =
      GENERATE(std::pair{"fp32", "F32"}, std::pair{"fp16", "F16"}, std::pair{"bf16", "BF16"});
  const auto path = experiment / "w.safetensors";
  const Words command{"export", folder,        "--format",    "safetensors",
                      "-o",     path.string(), "--precision", precision};
  CHECK_THAT(program(command).err, ContainsSubstring("w.safetensors: "));
  const auto reader = SafetensorsReader::open(path);
  REQUIRE(reader);
  const auto checkpoint = run.newest_checkpoint();
  for (const auto& entry : reader->entries()) {
    CHECK(entry.dtype == dtype);
    CHECK_FALSE(entry.name.starts_with("optimizer."));
    REQUIRE(checkpoint.find(entry.name));
    CHECK(checkpoint.find(entry.name)->shape == entry.shape);
  }
  CHECK(std::ranges::count_if(checkpoint.tensors, [](const auto& tensor) {
          return !tensor.name.starts_with("optimizer.");
        }) == std::ssize(reader->entries()));
  const auto& metadata = reader->metadata();
  CHECK(metadata.at("format") == "pt");
  CHECK(metadata.at("image_size") == "8");
  CHECK(Json::parse(metadata.at("class_names")).size() == 10);
  CHECK(Json::parse(metadata.at("normalization")) ==
        Json{{"mean", {0.5, 0.5, 0.5}}, {"std", {0.25, 0.25, 0.25}}});
  CHECK_THAT(metadata.at("config"), ContainsSubstring("name: resnet20"));
  // The export is a model itself, and cannot overwrite itself.
  CHECK(program({"predict", path.string(), "--split", "test"}).code == 0);
  CHECK_THAT(refusal({"export", path.string(), "--format", "safetensors", "-o", path.string()}),
             ContainsSubstring("write to another"));
  CHECK_THAT(refusal({"export", folder, "--format", "onnx", "-o", (experiment / "m").string(),
                      "--precision", "bf16"}),
             ContainsSubstring("allowed: fp32, fp16"));
}
