// Tests unlabelled samples, as for predictions: image files by their paths, and rows without
// targets.
#include "core/config/config.hpp"
#include "data/image_files.hpp"
#include "data/table_dataset.hpp"
#include "tests/support/image_files.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cmath>

using namespace troupe;
using namespace troupe::data;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("image files without labels return their pixels in the given order") {
  const ScratchFolder folder;
  const auto small = pattern(3, 4, 3), large = pattern(5, 2, 3);
  write_png(folder / "b.png", small, 3, 4, 3);
  write_png(folder / "a.png", large, 5, 2, 3);
  const auto files = open_image_files({.name = "files"}, {folder / "b.png", folder / "a.png"});
  CHECK(files->size() == 2);
  CHECK(files->label(0) == -1);
  CHECK_FALSE(files->extent());
  Bytes scratch;
  const auto first = files->read(0, scratch);
  REQUIRE(first);
  CHECK(Bytes(first->pixels.begin(), first->pixels.end()) == small);
  CHECK(files->read(1, scratch)->height == 5);
}

TEST_CASE("colour becomes grey like in Pillow, for models with one channel") {
  const ScratchFolder folder;
  // Image.new("RGB", (1, 1), colour).convert("L")
  write_png(folder / "a.png", {255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 200, 100}, 1, 4, 3);
  const auto files = open_image_files({.name = "files", .channels = 1}, {folder / "a.png"});
  Bytes scratch;
  const auto image = files->read(0, scratch);
  REQUIRE(image);
  CHECK(image->channels == 1);
  CHECK(Bytes(image->pixels.begin(), image->pixels.end()) == Bytes{76, 150, 29, 132});
}

TEST_CASE("each unreadable image file has its own error") {
  const ScratchFolder folder;
  write_bytes(folder / "a.png", Bytes{1, 2, 3});
  const auto files = open_image_files({.name = "files"}, {folder / "a.png", folder / "none.png"});
  Bytes scratch;
  CHECK_THAT(files->read(0, scratch).error().message, ContainsSubstring("a.png"));
  CHECK_THAT(files->read(1, scratch).error().message, ContainsSubstring("none.png"));
}

TEST_CASE("image files below a folder are found in torchvision's order") {
  const ScratchFolder folder;
  for (const auto* const name : {"z.png", "b/2.jpg", "b/10.PNG", "a/1.jpeg", "a/notes.txt"})
    write_bytes(folder / name, Bytes{1});
  const auto files = image_files_below(folder.path());
  REQUIRE(files);
  std::vector<std::string> names;
  for (const auto& file : files->files)
    names.push_back(std::filesystem::relative(file, folder.path()).string());
  CHECK(names == std::vector<std::string>{"z.png", "a/1.jpeg", "b/10.PNG", "b/2.jpg"});
  CHECK(files->left_out.unread_text() == "1 file is not read: 1 .txt");
  const auto with_slash = image_files_below(folder.path() / "");
  REQUIRE(with_slash);
  CHECK(with_slash->files.size() == 4);
}

TEST_CASE("rows without targets use the given standardization") {
  const ScratchFolder folder;
  troupe::testing::write_bytes(folder / "one.csv", "b,a,name\n1,2,x\n3,4,y\n");
  troupe::testing::write_bytes(folder / "two.csv", "a,b\n6,5\n");
  Config config;
  config.data.table.features = {"a", "b"};
  config.data.table.targets = {"price", "area"};
  config.model.num_classes = 2;
  config.model.loss = LossKind::mean_squared_error;
  const std::vector<std::filesystem::path> files = {folder / "one.csv", folder / "two.csv"};
  std::vector<std::int64_t> rows;
  const auto table =
      open_csv_rows(files, config.data, config.model, {{{2, 1}, {2, 0.5}}, {}}, rows);
  REQUIRE(table);
  CHECK(rows == std::vector<std::int64_t>{2, 1});
  CHECK((*table)->size() == 3);
  CHECK(std::vector((*table)->features(1).begin(), (*table)->features(1).end()) ==
        std::vector{1.0f, 4.0f});
  CHECK((*table)->features(2)[1] == 8.0f);
  CHECK(std::isnan((*table)->targets(0)[0]));

  config.model.loss = LossKind::cross_entropy;
  config.data.table.targets = {"kind"};
  const auto classes = open_csv_rows(files, config.data, config.model, {}, rows);
  REQUIRE(classes);
  CHECK((*classes)->targets(0)[0] == -1.0f);
  CHECK((*classes)->features(0)[0] == 2.0f);
  config.data.table.features = {"c"};
  CHECK_THAT(open_csv_rows(files, config.data, config.model, {}, rows).error().message,
             ContainsSubstring("one.csv:1: there is no column \"c\""));
}
