// Tests training on a folder of images as users have them: several kinds of files, one of them
// damaged.
#include "tests/support/image_files.hpp"
#include "tests/system/experiment.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cmath>

using namespace troupe;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

namespace images = troupe::testing;

/// Two classes, dark and bright, of JPEG, PNG and WebP images of several sizes: 24 for training in
/// train/, 9 for evaluation in val/.
class Photos : public Experiment {
public:
  Photos()
      : Experiment{{"data.dataset=image_folder", "model.num_classes=2", "data.image_size=16",
                    "data.augment=[resized_crop, flip]", "data.batch_size=8",
                    "data.eval_batch_size=4", "data.loader_threads=2", "train.epochs=3",
                    "train.evaluate_every=1",
                    "data.normalize={mean: [0.5, 0.5, 0.5], "
                    "std: [0.25, 0.25, 0.25]}"}} {
    for (int i = 0; i < 24; ++i)
      write("train", i);
    for (int i = 0; i < 9; ++i)
      write("val", i);
    root_ = {"data.root=" + (*this / "photos").string()};
  }

  const Settings& root() const { return root_; }
  std::filesystem::path file(const std::string& split, int image) const {
    constexpr const char* kinds[] = {".jpg", ".png", ".webp"};
    return *this / ("photos/" + split + (image % 2 == 0 ? "/dark/" : "/light/") +
                    std::to_string(image) + kinds[image % 3]);
  }
  void damage(const std::string& split, int image) const {
    const auto path = file(split, image);
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  }

private:
  void write(const std::string& split, int image) const {
    const int height = 14 + image % 7, width = 30 - image % 5;
    auto pixels = images::pattern(height, width, 3);
    for (auto& value : pixels)
      value = static_cast<std::uint8_t>(value / 4 + (image % 2 == 0 ? 0 : 180));
    const auto path = file(split, image);
    if (image % 3 == 0)
      images::write_jpeg(path, pixels, height, width, 3);
    else if (image % 3 == 1)
      images::write_png(path, pixels, height, width, 3);
    else
      images::write_webp(path, pixels, height, width, 3, images::WebpKind::lossy);
  }

  Settings root_;
};

Ended check_data(const Photos& photos, const Settings& more = {}) {
  auto command = photos.command("data", "check", photos.root() + more);
  command.insert(command.begin() + 2, "check");
  return RunningProgram{command}.wait();
}

} // namespace

TEST_CASE("a folder of JPEG, PNG and WebP images is trained on, with val as the test set") {
  const Photos photos;
  const auto run = photos.completed("photos", photos.root());
  CHECK(run.summary().at("unreadable_samples") == 0);
  REQUIRE(run.epochs().size() == 3);
  CHECK(run.epochs().back().at("test_accuracy") > 0.9);
  const auto again = photos.completed("again", photos.root() + Settings{"data.loader_threads=1"});
  check_same(run, again);
}

TEST_CASE("unreadable files are skipped and counted, equally for any number of workers") {
  const Photos photos;
  photos.damage("train", 4);
  photos.damage("train", 11);
  photos.damage("val", 2);
  const Settings skipping = photos.root() + Settings{"data.skip_unreadable=true"};
  const auto ended = photos.train("skipped", skipping);
  CAPTURE(ended.out, ended.err);
  REQUIRE(ended.code == 0);
  const auto said = ended.out + ended.err;
  for (const auto& file :
       {photos.file("train", 4), photos.file("train", 11), photos.file("val", 2)})
    CHECK(has(said, "skipped (data.skip_unreadable): " + file.string()));
  const auto run = photos.run("skipped");
  CHECK(run.summary().at("unreadable_samples") ==
        3 * 3); // each of the three in each of three epochs
  CHECK(run.summary().at("unreadable_files") == 3);
  // The evaluation counts 8 images: the accuracy is a multiple of an eighth.
  const double right = run.epochs().back().at("test_accuracy").get<double>() * 8;
  CHECK(std::abs(right - std::round(right)) < 1e-9);

  check_same(run, photos.completed("threads", skipping + Settings{"data.loader_threads=1"}));
  const Settings mlp = skipping + Settings{"model.name=mlp"}; // without batch norm
  const auto one = photos.completed("one", mlp),
             two = photos.completed("two", mlp + workers("ddp", 2));
  CHECK(two.summary().at("unreadable_samples") == 9);
  CHECK(two.losses().front() == Catch::Approx(one.losses().front()).epsilon(1e-5));
}

TEST_CASE("a run that skips files resumes as if it had not been interrupted") {
  const Photos photos;
  photos.damage("train", 4);
  const Settings skipping = photos.root() + Settings{"data.skip_unreadable=true"};
  const auto whole = photos.completed("whole", skipping);
  photos.completed("parts", skipping + Settings{"train.max_steps=4"});
  check_same(photos.completed("parts", skipping), whole);
}

TEST_CASE("data check reads all files before training") {
  const Photos photos;
  auto ended = check_data(photos);
  CAPTURE(ended.out, ended.err);
  CHECK(ended.code == 0);
  CHECK_THAT(ended.out, ContainsSubstring("train: 24 of 24 images read from ") &&
                            ContainsSubstring("/photos/train") &&
                            ContainsSubstring("test: 9 of 9 images read from ") &&
                            ContainsSubstring("height 14 to 20, width 26 to 30") &&
                            ContainsSubstring("normalization: mean 0.5, 0.5, 0.5, std 0.25"));
  photos.damage("train", 4);
  photos.damage("val", 2);
  ended = check_data(photos);
  CHECK(ended.code == 2);
  CHECK_THAT(ended.out,
             ContainsSubstring("train: 23 of 24 images read") &&
                 ContainsSubstring("cannot be read: " + photos.file("train", 4).string()) &&
                 ContainsSubstring("cannot be read: " + photos.file("val", 2).string()));
  ended = check_data(photos, {"--json"});
  CHECK(ended.code == 2);
  const auto report = nlohmann::json::parse(ended.out);
  CHECK(report.at("splits").at(0).at("unreadable_count") == 1);
  CHECK(report.at("splits").at(0).at("classes").at(0) ==
        nlohmann::json{{"name", "dark"}, {"samples", 11}});
  CHECK(report.at("splits").at(1).at("height") == nlohmann::json{14, 20});
  CHECK(report.at("normalization").at("std") == nlohmann::json{0.25, 0.25, 0.25});
}

TEST_CASE("a run does not resume with another normalization") {
  const Photos photos;
  photos.completed("photos", photos.root() + Settings{"train.max_steps=4"});
  const auto ended =
      photos.train("photos", photos.root() + Settings{"data.normalize.std=[0.5, 0.25, 0.25]"});
  CHECK(ended.code == 2);
  CHECK_THAT(ended.err, ContainsSubstring("\"std\":[0.25,0.25,0.25]") &&
                            ContainsSubstring("the data set has inputs normalized by") &&
                            ContainsSubstring("\"std\":[0.5,0.25,0.25]"));
}
