// Tests standardization and classes of tables, which are derived from the training rows.
#include "core/config/config.hpp"
#include "data/table_dataset.hpp"
#include "tests/support/image_files.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <fmt/format.h>

#include <cmath>

using namespace troupe;
using namespace troupe::data;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;

namespace {

class TableFiles {
public:
  TableFiles() {
    config.data.dataset = "csv";
    config.data.root = folder_.path().string();
    config.data.table.features = {"x"};
    config.data.table.targets = {"y"};
    config.model.num_classes = 1;
    config.model.loss = LossKind::mean_squared_error;
  }
  void write(const std::string& split, const std::string& text) const {
    write_bytes(folder_ / (split + ".csv"), std::string_view{text});
  }
  void expect_classes(std::int64_t count) {
    config.model.loss = LossKind::cross_entropy;
    config.model.num_classes = count;
  }
  Result<TablePtr> open(Split split = Split::train,
                        const std::optional<TableTraits>& known = {}) const {
    return open_csv(config.data, config.model, split, known);
  }
  std::vector<float> features(Split split = Split::train) const {
    const auto table = open(split).value();
    std::vector<float> values;
    for (std::int64_t row = 0; row < table->size(); ++row)
      values.push_back(table->features(row)[0]);
    return values;
  }
  static std::vector<float> labels(const TableDataset& table) {
    std::vector<float> values;
    for (std::int64_t row = 0; row < table.size(); ++row)
      values.push_back(table.targets(row)[0]);
    return values;
  }
  std::string refusal(Split split = Split::train) const {
    const auto opened = open(split);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().exit_code() == 2);
    return opened.error().message;
  }

  Config config;

private:
  ScratchFolder folder_;
};

} // namespace

TEST_CASE_METHOD(TableFiles, "standardized Unix times keep their differences") {
  // In this range, floats are multiples of 128.
  write("train", "x,y\n1700000000,0\n1700000001,1\n1700000002,2\n1700000003,3\n");
  const auto far = static_cast<float>(1.5 / std::sqrt(1.25)),
             near = static_cast<float>(0.5 / std::sqrt(1.25));
  CHECK(features() == std::vector<float>{-far, -near, near, far});
}

TEST_CASE_METHOD(
    TableFiles,
    "a constant column is 0 in training and its difference from that in the test split") {
  for (const auto* const value : {"14.62", "0.1", "1e300", "3"}) {
    INFO(value);
    std::string rows = "x,y\n";
    for (int i = 0; i < 7; ++i)
      rows += fmt::format("{},1\n", value);
    write("train", rows);
    CHECK(features() == std::vector<float>(7, 0.0f));
    CHECK(open().value()->columns().traits.standardization.deviation[0] == 1);
  }
  write("train", "x,y\n14.62,1\n14.62,1\n14.62,1\n");
  write("test", "x,y\n14.63,1\n");
  CHECK(features(Split::test) == std::vector<float>{static_cast<float>(14.63 - 14.62)});
}

TEST_CASE_METHOD(TableFiles, "columns of very large and very small numbers are standardized") {
  for (const auto* const rows :
       {"1e300,0\n-1e300,0\n", "1e-200,0\n-1e-200,0\n", "1e39,0\n-1e39,0\n"}) {
    INFO(rows);
    write("train", std::string{"x,y\n"} + rows);
    CHECK(features() == std::vector<float>{1, -1});
  }
}

TEST_CASE_METHOD(TableFiles, "a value outside of the range of floats is refused with its line") {
  config.data.table.standardize = false;
  write("train", "x,y\n1,1\n1e39,1\n");
  CHECK_THAT(refusal(),
             EndsWith("train.csv:3: column \"x\": 1e+39 is too large for a 32-bit float; "
                      "set data.table.standardize: true"));
  write("train", "x,y\n1,1\n2,-1e39\n");
  CHECK_THAT(refusal(), ContainsSubstring("train.csv:3: column \"y\": -1e+39 is too large"));
  config.data.table.standardize = true;
  write("train", "x,y\n1,1\n2,1\n");
  write("test", "x,y\n1e300,1\n");
  CHECK_THAT(refusal(Split::test), EndsWith("even after standardization"));
}

TEST_CASE_METHOD(TableFiles, "words become labels in byte order, the same in both files") {
  expect_classes(3);
  write("train", "x,y\n1,dog\n2,\"cat, big\"\n3,Zebra\n4,dog\n");
  write("test", "x,y\n1,Zebra\n2,dog\n");
  const auto training = open().value(), test = open(Split::test).value();
  CHECK(training->class_names() == std::vector<std::string>{"Zebra", "cat, big", "dog"});
  CHECK(labels(*training) == std::vector<float>{2, 1, 0, 2});
  CHECK(labels(*test) == std::vector<float>{0, 2});
  config.data.limit = 1;
  CHECK(open().value()->class_names() == training->class_names());
  CHECK(labels(*open().value()) == std::vector<float>{2});
}

TEST_CASE_METHOD(TableFiles,
                 "classes that do not match the model or the training rows are refused") {
  expect_classes(3);
  write("train", "x,y\n1,0\n2,dog\n3,cat\n4,bird\n");
  CHECK_THAT(refusal(), ContainsSubstring("column \"y\" has 4 classes (\"0\", \"bird\", \"cat\", "
                                          "\"dog\"; line 3 has the first that is not a number)") &&
                            EndsWith("set model.num_classes: 4"));
  config.model.num_classes = 4;
  write("test", "x,y\n1,dog\n2,dgo\n");
  CHECK_THAT(refusal(Split::test),
             EndsWith("test.csv:3: column \"y\": \"dgo\" is not a class; the classes are \"0\", "
                      "\"bird\", \"cat\", \"dog\"; did you mean \"dog\"?"));
  write("train", "x,y\n1,0\n2,4\n");
  CHECK_THAT(refusal(), EndsWith("train.csv:3: column \"y\": \"4\" is not a class; the classes are "
                                 "0 to 3"));
  write("train", "x,y\n1,0\n2,\n");
  CHECK_THAT(refusal(), ContainsSubstring("train.csv:3: column \"y\": the cell is empty"));
}

TEST_CASE_METHOD(TableFiles, "a missing class among numbers is refused with its line and column") {
  expect_classes(3);
  write("train", "x,y\n1,0\n2,1\n3,2\n");
  for (const std::string word : {"NA", "N/A", "nan", "NaN", "NULL", "None", "<NA>"}) {
    INFO(word);
    write("test", "x,y\n1,0\n2," + word + "\n");
    CHECK_THAT(refusal(Split::test),
               EndsWith("test.csv:3: column \"y\": " + word +
                        " is a missing value; fill it in or leave the row out"));
  }
  for (const std::int64_t count : {3, 4}) {
    expect_classes(count);
    write("train", "x,y\n1,0\n2,1\n3,2\n4,NA\n");
    CHECK_THAT(refusal(), ContainsSubstring("train.csv:5: column \"y\": NA is a missing value"));
  }
}

TEST_CASE_METHOD(TableFiles,
                 "a word for missing values is a class only if num_classes includes it") {
  write("train", "x,y\n1,cat\n2,NA\n3,dog\n");
  expect_classes(2);
  CHECK_THAT(refusal(), ContainsSubstring("train.csv:3: column \"y\": NA is a missing value"));
  expect_classes(3);
  CHECK(open().value()->class_names() == std::vector<std::string>{"NA", "cat", "dog"});
  expect_classes(4);
  CHECK_THAT(refusal(), ContainsSubstring("has 2 classes (\"cat\", \"dog\";"));
}

TEST_CASE_METHOD(TableFiles, "numbered classes may be written in any notation of whole numbers") {
  expect_classes(3);
  write("train", "x,y\n1,0\n2,1.0\n3,+2\n");
  CHECK(labels(*open().value()) == std::vector<float>{0, 1, 2});
}

TEST_CASE_METHOD(TableFiles,
                 "with the traits of a trained model, a split is opened without training rows") {
  expect_classes(2);
  write("test", "x,y\n5,cat\n7,dog\n");
  const TableTraits known{{{3}, {2}}, {"dog", "cat"}};
  const auto test = open(Split::test, known);
  REQUIRE(test);
  CHECK(labels(**test) == std::vector<float>{1, 0});
  CHECK((*test)->features(0)[0] == 1.0f);
  // Names that the export gave to numbers.
  write("test", "x,y\n5,1\n7,0\n");
  CHECK(labels(*open(Split::test, known).value()) == std::vector<float>{1, 0});
}

TEST_CASE_METHOD(TableFiles,
                 "data.table.delimiter applies to training files and to files to predict") {
  config.data.table.delimiter = Delimiter::semicolon;
  config.data.table.standardize = false;
  write("train", "x;y;z\n1;2;a,b\n");
  CHECK(features() == std::vector<float>{1});
  std::vector<std::int64_t> rows;
  const std::vector<std::filesystem::path> files = {std::filesystem::path{config.data.root} /
                                                    "train.csv"};
  const auto table = open_csv_rows(files, config.data, config.model, {}, rows);
  REQUIRE(table);
  CHECK((*table)->features(0)[0] == 1.0f);
}
