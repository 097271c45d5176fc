#include "core/suggestion.hpp"

#include <catch2/catch_test_macros.hpp>

#include <vector>

using namespace troupe;

TEST_CASE("edit distance counts insertions, deletions, replacements and swaps") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("resnet21", "resnet20") == 1);
  CHECK(edit_distance("epohcs", "epochs") == 1);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("ca", "abc") == 3); // optimal string alignment: no edit inside a swap
}

TEST_CASE("edit distance ignores case") {
  CHECK(edit_distance("SGD", "sgd") == 0);
}

TEST_CASE("the nearest name is suggested if it is close enough") {
  const std::vector<std::string> names = {"epochs", "max_steps", "optimizer", "lr"};
  CHECK(suggest("epoch", names) == "epochs");
  CHECK(suggest("epohcs", names) == "epochs");
  CHECK(suggest("optimiser", names) == "optimizer");
  CHECK(suggest("max-step", names) == "max_steps");
  CHECK(suggest("lr_", names) == "lr");
  CHECK(suggest("banana", names).empty());
  CHECK(suggest("x", names).empty());
  CHECK(suggest("xy", names).empty());
  CHECK(suggest("", names).empty());
}

TEST_CASE("the first of equally near names is suggested") {
  const std::vector<std::string> names = {"resnet18", "resnet20", "resnet32"};
  CHECK(suggest("resnet19", names) == "resnet18");
}
