// Tests unreadable files: they are skipped when the config says so, and found before training.
#include "core/config/config.hpp"
#include "core/fail.hpp"
#include "data/batch.hpp"
#include "data/check.hpp"
#include "data/file_notes.hpp"
#include "tests/support/image_files.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace troupe;
using namespace troupe::data;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Two classes of five images, each of one colour; the third image of class a is damaged.
class DamagedFolder {
public:
  explicit DamagedFolder(const char* second = "val") : second_{second} {
    for (const std::string split : {"train", second})
      for (int i = 0; i < 10; ++i)
        write_png(folder_ / file_of(split, i), Bytes(8 * 8 * 3, colour_of(i)), 8, 8, 3);
    damage("train", 2);
    damage(second_, 2);
  }

  void damage(const std::string& split, int sample) const {
    write_bytes(folder_ / file_of(split, sample), Bytes{0x89, 'P', 'N', 'G'});
  }
  static std::uint8_t colour_of(int sample) { return static_cast<std::uint8_t>(20 * sample); }

  Config config() const {
    Config config;
    config.model.num_classes = 2;
    config.data = {.dataset = "image_folder",
                   .root = folder_.path().string(),
                   .image_size = 8,
                   .batch_size = 5};
    config.data.loader_threads = 3;
    config.data.skip_unreadable = true;
    return config;
  }

private:
  static std::string file_of(const std::string& split, int sample) {
    return split + (sample < 5 ? "/a/" : "/b/") + std::to_string(sample) + ".png";
  }

  ScratchFolder folder_;
  std::string second_;
};

struct Filled {
  std::vector<float> images;
  std::vector<std::int32_t> labels;

  float first_value(std::size_t sample) const { return images[sample * 8 * 8 * 3]; }
};

Result<Filled> filled(const Adapter& adapter, const std::vector<std::int64_t>& samples) {
  Filled batch{std::vector<float>(samples.size() * 8 * 8 * 3),
               std::vector<std::int32_t>(samples.size())};
  const std::array fields = {std::as_writable_bytes(std::span{batch.images}),
                             std::as_writable_bytes(std::span{batch.labels})};
  TROUPE_TRY(adapter.fill(samples, 0, fields));
  return batch;
}

} // namespace

TEST_CASE(
    "an unreadable file is replaced by the next one in training and by padding in evaluation") {
  const DamagedFolder folder;
  const auto train = open_adapter(folder.config(), Split::train).value();
  const auto batch = filled(*train, {1, 2, 3, 2});
  REQUIRE(batch);
  CHECK(batch->labels == std::vector<std::int32_t>{0, 0, 0, 0});
  CHECK(batch->first_value(1) == batch->first_value(2));
  CHECK(batch->first_value(0) != batch->first_value(1));
  CHECK(train->unreadable()->counts().samples == 2);
  CHECK(train->unreadable()->counts().files == 1);
  const auto lines = train->unreadable()->take_lines();
  REQUIRE(lines.size() == 1);
  CHECK_THAT(lines[0], ContainsSubstring("train/a/2.png"));
  CHECK(train->unreadable()->take_lines().empty());

  const auto test = open_adapter(folder.config(), Split::test).value();
  const auto tested = filled(*test, {1, 2, 3});
  REQUIRE(tested);
  CHECK(tested->labels == std::vector<std::int32_t>{0, -1, 0});
  CHECK(tested->first_value(1) == 0);
}

TEST_CASE("the last file is replaced by the first one, with its label") {
  const DamagedFolder folder;
  folder.damage("train", 9);
  folder.damage("train", 0);
  const auto train = open_adapter(folder.config(), Split::train).value();
  const auto batch = filled(*train, {9, 1, 4});
  REQUIRE(batch);
  CHECK(batch->labels == std::vector<std::int32_t>{0, 0, 0});
  CHECK(batch->first_value(0) == batch->first_value(1));
}

TEST_CASE("a folder without any readable file ends the run") {
  const DamagedFolder folder;
  for (int sample = 0; sample < 10; ++sample)
    folder.damage("train", sample);
  const auto train = open_adapter(folder.config(), Split::train).value();
  const auto batch = filled(*train, {4});
  REQUIRE_FALSE(batch);
  CHECK(batch.error().code == Errc::data);
  CHECK_THAT(batch.error().message,
             ContainsSubstring("train/a/4.png") &&
                 ContainsSubstring("the next 9 files cannot be read either"));
}

TEST_CASE("without the option an unreadable file ends the run") {
  const DamagedFolder folder;
  auto config = folder.config();
  config.data.skip_unreadable = false;
  const auto train = open_adapter(config, Split::train).value();
  CHECK(train->unreadable() == nullptr);
  CHECK(filled(*train, {1, 3}));
  CHECK_FALSE(filled(*train, {2}));
}

TEST_CASE("only the first unreadable files are named") {
  const auto files = unreadable_files();
  for (int i = 0; i < 100; ++i)
    files->add(i, "file " + std::to_string(i));
  const auto lines = files->take_lines();
  REQUIRE(lines.size() == FileNotes::most_named + 1);
  CHECK_THAT(lines[19], ContainsSubstring("file 19"));
  CHECK_THAT(lines[20], ContainsSubstring("more than 20 files"));
  CHECK(files->counts().files == 100);
  files->add(100, "");
  CHECK(files->take_lines().empty());
}

TEST_CASE("data check reads every file and names the unreadable ones in order") {
  const DamagedFolder folder{"test"};
  folder.damage("train", 7);
  auto config = folder.config();
  config.data.skip_unreadable = GENERATE(false, true);
  const auto check = check_split(config, Split::train);
  REQUIRE(check);
  CHECK(check->samples == 10);
  CHECK(check->class_names == std::vector<std::string>{"a", "b"});
  CHECK(check->per_class == std::vector<std::int64_t>{4, 4});
  CHECK(check->least == Extent{8, 8});
  REQUIRE(check->unreadable.size() == 2);
  CHECK_THAT(check->unreadable[0], ContainsSubstring("train/a/2.png"));
  CHECK_THAT(check->unreadable[1], ContainsSubstring("train/b/7.png"));
  CHECK_THAT(check_split(config, Split::test)->source, ContainsSubstring("/test"));
}

TEST_CASE("data check also reads data sets that are not image folders") {
  Config config;
  config.data.dataset = "synthetic";
  config.data.limit = 40;
  auto check = check_split(config, Split::train);
  REQUIRE(check);
  CHECK((check->samples == 40 && check->unreadable.empty()));
  CHECK(check->per_class == std::vector<std::int64_t>(10, 4));
  CHECK(check->largest == Extent{32, 32});

  const ScratchFolder folder;
  write_bytes(folder / "train.csv", "x,kind\n1,0\n2,1\n3,0\n");
  config.model.num_classes = 2;
  config.data = {.dataset = "csv", .root = folder.path().string()};
  config.data.table.features = {"x"};
  config.data.table.targets = {"kind"};
  check = check_split(config, Split::train);
  REQUIRE(check);
  CHECK((check->samples == 3 && check->sample_name == "rows" && !check->least));
  write_bytes(folder / "train.csv", "x,kind\n1,0\nno,1\n");
  CHECK_THAT(check_split(config, Split::train).error().message, ContainsSubstring("train.csv"));
}
