#include "core/config/config.hpp"
#include "data/batch.hpp"
#include "tests/support/image_files.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <array>
#include <cmath>

using namespace troupe;
using namespace troupe::data;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

class Table {
public:
  Table() {
    config.data.dataset = "csv";
    config.data.root = folder_.path().string();
    config.data.table.features = {"length", "width"};
    config.data.table.targets = {"price"};
    config.data.batch_size = 2;
    config.data.eval_batch_size = 2;
    config.data.shuffle = false;
    config.data.table.standardize = false;
    config.model.name = "linear";
    config.model.num_classes = 1;
    config.model.loss = LossKind::mean_squared_error;
    write("train", "width,id,price,length\n1,a,10,2\n3,b,20,4\n5,c,30,6\n7,d,40,8\n");
  }
  void write(const std::string& split, const std::string& text) const {
    write_bytes(folder_ / (split + ".csv"), std::string_view{text});
  }

  struct Rows {
    std::vector<float> features, targets;
  };
  static Rows fill(const BatchAssembler& assembler, Position at) {
    Rows rows{std::vector<float>(4), std::vector<float>(2)};
    REQUIRE(assembler.fill(at, {},
                           std::array{std::as_writable_bytes(std::span{rows.features}),
                                      std::as_writable_bytes(std::span{rows.targets})}));
    return rows;
  }
  std::string refusal(Split split = Split::train) const {
    const auto opened = open_adapter(config, split);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().exit_code() == 2);
    return opened.error().message;
  }

  Config config;

private:
  ScratchFolder folder_;
};

} // namespace

TEST_CASE_METHOD(Table, "columns are found by name, in the configured order") {
  const auto assembler = training_batches(config);
  REQUIRE(assembler);
  CHECK(assembler->dataset().size() == 4);
  const auto rows = fill(*assembler, {0, 1});
  CHECK(rows.features == std::vector<float>{6, 5, 8, 7});
  CHECK(rows.targets == std::vector<float>{30, 40});
  const auto tensors = assembler->tensors({}).value();
  REQUIRE(tensors.size() == 2);
  CHECK((tensors[0].name == "features" && tensors[0].shape == Shape{2, 2}));
  CHECK((tensors[1].name == "targets" && tensors[1].shape == Shape{2, 1}));
}

TEST_CASE_METHOD(Table, "quotes, spaces, empty lines, CRLF and a byte order mark are read") {
  write("train",
        "\xEF\xBB\xBF\"a, \"\"b\"\"\" , length,width,price\r\nx, 1 ,2,3\r\n\r\n\"y\nz\",4,5,6e0");
  config.data.table.features = {"length", "width"};
  const auto rows = fill(*training_batches(config), {0, 0});
  CHECK(rows.features == std::vector<float>{1, 2, 4, 5});
  CHECK(rows.targets == std::vector<float>{3, 6});
}

TEST_CASE_METHOD(Table, "features of both files are standardized by the training rows") {
  config.data.table.standardize = true;
  write("test", "length,width,price\n5,4,1\n8,4,2\n");
  // -3, -1, 1, 3, divided by their standard deviation.
  const auto far = static_cast<float>(3 / std::sqrt(5.0)),
             near = static_cast<float>(1 / std::sqrt(5.0));
  const auto training = fill(*training_batches(config), {0, 0});
  CHECK(training.features == std::vector<float>{-far, -far, -near, -near});
  CHECK(training.targets == std::vector<float>{10, 20});
  const auto test = fill(*evaluation_batches(config), {0, 0});
  CHECK(test.features == std::vector<float>{0, 0, far, 0});
}

TEST_CASE_METHOD(Table, "missing rows of a test batch are ignored by the loss") {
  write("test", "length,width,price\n5,4,1\n8,4,2\n1,1,3\n");
  const auto rows = fill(*evaluation_batches(config), {0, 1});
  CHECK(rows.features == std::vector<float>{1, 1, 0, 0});
  CHECK(rows.targets[0] == 3);
  CHECK(std::isnan(rows.targets[1]));
}

TEST_CASE_METHOD(Table, "with cross-entropy a target column is a label") {
  config.model.loss = LossKind::cross_entropy;
  config.model.num_classes = 41;
  const auto adapter = open_adapter(config, Split::train).value();
  CHECK(adapter->fields()[1].name == "labels");
  CHECK(adapter->dataset().class_names().size() == 41);
  std::vector<float> features(4);
  std::vector<std::int32_t> labels(2);
  REQUIRE(adapter->fill(std::array<std::int64_t, 2>{3, -1}, 0,
                        std::array{std::as_writable_bytes(std::span{features}),
                                   std::as_writable_bytes(std::span{labels})}));
  CHECK(labels == std::vector<std::int32_t>{40, -1});
  config.model.num_classes = 40;
  CHECK_THAT(refusal(), ContainsSubstring("train.csv:5: column \"price\": \"40\" is not a class; "
                                          "the classes are 0 to 39"));
}

TEST_CASE_METHOD(Table, "invalid cells of a table are reported with file, line and column") {
  config.data.table.features = {"lenght"};
  CHECK_THAT(refusal(), ContainsSubstring("train.csv:1: there is no column") &&
                            ContainsSubstring("did you mean") && ContainsSubstring("length"));
  config.data.table.features = {"id"};
  CHECK_THAT(refusal(),
             ContainsSubstring("train.csv:2: column") && ContainsSubstring("is not a number"));
  config.data.table.features = {"length"};
  write("train", "length,price\n1,2\n3\n");
  CHECK_THAT(refusal(), ContainsSubstring("train.csv:3: the row has 1 cell, but the header has 2"));
  write("train", "length,price\n1,nan\n");
  CHECK_THAT(refusal(), ContainsSubstring("train.csv:2: column"));
  write("train", "length,price\n");
  CHECK_THAT(refusal(), ContainsSubstring("there are no rows"));
  write("train", "length,price\n1,2\n");
  CHECK_THAT(refusal(Split::test), ContainsSubstring("test.csv"));
  config.model.num_classes = 2;
  CHECK_THAT(refusal(), ContainsSubstring("set model.num_classes: 1"));
}

TEST_CASE_METHOD(Table, "tables that differ in a number or a column have different fingerprints") {
  const auto before = open_adapter(config, Split::train).value()->dataset().fingerprint();
  CHECK(open_adapter(config, Split::train).value()->dataset().fingerprint() == before);
  config.data.limit = 3;
  CHECK(open_adapter(config, Split::train).value()->dataset().fingerprint() != before);
  config.data.limit.reset();
  config.data.table.features = {"width", "length"};
  CHECK(open_adapter(config, Split::train).value()->dataset().fingerprint() != before);
}
