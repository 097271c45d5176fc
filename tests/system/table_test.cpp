#include "tests/system/experiment.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <fmt/format.h>

#include <fstream>

using namespace troupe;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

const Settings mlp = {"model.name=mlp", "model.hidden=[16]", "train.optimizer.lr=0.02"};

/// Writes houses with the price 3 length - 2 width + 1, and with kind 1 if the price is positive.
void write_houses(const std::filesystem::path& file, int rows) {
  std::ofstream out{file};
  out << "kind,length,name,price,width\n";
  for (int i = 0; i < rows; ++i) {
    const double length = (i * 7 % 13) / 4.0, width = (i * 5 % 11) / 3.0;
    const double price = 3 * length - 2 * width + 1;
    out << fmt::format("{},{},house {},{},{}\n", price > 0 ? 1 : 0, length, i, price, width);
  }
}

class Houses : public Experiment {
public:
  Houses()
      : Experiment{{"data.dataset=csv", "data.table.features=[length,width]",
                    "data.table.targets=[price]", "data.augment=[]", "model.name=linear",
                    "model.num_classes=1", "model.loss=mean_squared_error",
                    "train.optimizer.lr=0.05", "train.optimizer.weight_decay=0", "train.epochs=10",
                    "train.evaluate_every=1", "data.eval_batch_size=4"}} {
    write_houses(*this / "train.csv", 64);
    write_houses(*this / "test.csv", 18); // half of the last batch of four is padding
    root_ = {"data.root=" + (*this / "").string()};
  }

  RunFiles trained(const std::string& name, const Settings& more = {}) const {
    return completed(name, root_ + more);
  }
  Ended ended(const std::string& name, const Settings& more = {}) const {
    return train(name, root_ + more);
  }

private:
  Settings root_;
};

} // namespace

TEST_CASE("a linear model learns a linear table and reports no accuracy") {
  const Houses houses;
  const auto run = houses.trained("prices");
  const auto summary = run.summary();
  CHECK(summary.at("accuracy").is_null());
  CHECK(run.events().front().at("accuracy").is_null());
  CHECK(run.losses().front() > 1);
  CHECK(run.epochs().back().at("test_loss").get<double>() < 1e-3);
  const auto ended = houses.ended("again", {"train.epochs=2"});
  CHECK_THAT(ended.out + ended.err, ContainsSubstring("rows/s") && !ContainsSubstring("images") &&
                                        !ContainsSubstring("accuracy"));
}

TEST_CASE("padding rows of a test batch are ignored by the loss") {
  const Houses houses;
  const auto losses = [&](const char* name, const char* batch) {
    std::vector<double> found;
    for (const auto& epoch : houses.trained(name, {batch, "train.epochs=2"}).epochs())
      found.push_back(epoch.at("test_loss"));
    return found;
  };
  const auto padded = losses("padded", "data.eval_batch_size=4"),
             whole = losses("whole", "data.eval_batch_size=18");
  REQUIRE(padded.size() == 2);
  CHECK(padded[0] == Catch::Approx(whole[0]).epsilon(1e-5));
  CHECK(padded[1] == Catch::Approx(whole[1]).epsilon(1e-5));
}

TEST_CASE("a table gives the same result on one worker and on two, in every strategy", "[long]") {
  const Houses houses;
  const auto alone = houses.trained("alone", mlp).losses();
  const std::string strategy = GENERATE("ddp", "zero2", "fsdp");
  const auto shared = houses.trained(strategy, mlp + workers(strategy, 2)).losses();
  REQUIRE(shared.size() == alone.size());
  for (std::size_t i = 0; i < alone.size(); ++i)
    CHECK(shared[i] == Catch::Approx(alone[i]).epsilon(1e-3).margin(1e-4));
}

TEST_CASE("a column of classes trains with cross-entropy and has an accuracy") {
  const Houses houses;
  const auto run =
      houses.trained("kinds", mlp + Settings{"data.table.targets=[kind]", "model.num_classes=2",
                                             "model.loss=cross_entropy"});
  CHECK(run.summary().at("class_names").size() == 2);
  CHECK(run.summary().at("accuracy").get<double>() > 0.8);
}

TEST_CASE("settings that do not fit a table are refused") {
  const Houses houses;
  const auto refused = [&](const Settings& more) {
    const auto ended = houses.ended("refused", more);
    CHECK(ended.code == 2);
    return ended.err;
  };
  CHECK_THAT(refused({"data.table.features=[lenght]"}), ContainsSubstring("did you mean"));
  CHECK_THAT(refused({"model.num_classes=3"}), ContainsSubstring("set model.num_classes: 1"));
  CHECK_THAT(refused({"data.augment=[flip]"}), ContainsSubstring("data.augment"));
  CHECK_THAT(refused({"model.name=resnet20"}), ContainsSubstring("resnet20"));
}
