#include "core/config/schema.hpp"
#include "core/units.hpp"
#include "tests/core/config_fixture.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using namespace troupe::testing;
using Unit = Length::Unit;

namespace {

const std::string tokens = "data: {dataset: text, root: books}\nmodel: {name: gpt2-mini}\n";

} // namespace

TEST_CASE("lengths are a number of epochs, steps or tokens, or a share of the run") {
  CHECK(parse_length("1.5 epochs") == Length{1.5});
  CHECK(parse_length("1 epoch") == Length{1});
  CHECK(parse_length("0 steps") == Length{0, Unit::steps});
  CHECK(parse_length("200 steps") == Length{200, Unit::steps});
  CHECK(parse_length("2e6 tokens") == Length{2e6, Unit::tokens});
  CHECK(parse_length("12.5%") == Length{12.5, Unit::percent});
  CHECK(parse_length("1e15 tokens") == Length{1e15, Unit::tokens});
  for (const auto* wrong :
       {"", "1", "%", "steps", "-1 steps", "+1 steps", "inf steps", "nan%", "1  step", "1steps",
        "1 steps ", "2 %", "100.1%", "1 min", "1e16 tokens", "1e999 tokens", "0x10 steps"})
    CHECK(parse_length(wrong) == std::nullopt);
  for (const auto* text : {"200 steps", "1 step", "2000000 tokens", "12.5%", "0.5 steps"})
    CHECK(format_length(*parse_length(text)) == text);
  CHECK(format_length({0.5}) == "0.5");
}

TEST_CASE("lengths are read with their units, and a bare number counts epochs") {
  const auto c = good(tokens, {"train.schedule={warmup: 2.5e6 tokens, milestones: [0.5, 2 epochs, "
                               "300 steps, 90%], decay: 12.5%}",
                               "train.epochs=null", "train.max_tokens=2e9"});
  CHECK(c.train.schedule.warmup == Length{2.5e6, Unit::tokens});
  CHECK(c.train.schedule.milestones ==
        std::vector<Length>{{0.5}, {2}, {300, Unit::steps}, {90, Unit::percent}});
  CHECK(c.train.schedule.decay == Length{12.5, Unit::percent});
  CHECK_FALSE(c.train.epochs);
  CHECK(c.train.max_tokens == 2e9);
  CHECK(good(printed(c)) == c);
  CHECK(only_conflict(synthetic, {"train.schedule.warmup=10 min"}) ==
        "train.schedule.warmup: \"10 min\" is not a length; allowed: a number of epochs, at least "
        "0, or N steps, N tokens, N%");
  CHECK(only_conflict(synthetic, {"train.schedule.warmup='5'"})
            .starts_with("train.schedule.warmup: \"5\" is not a length; "));
  CHECK(only_conflict(synthetic, {"train.schedule.warmup=-1"})
            .starts_with("train.schedule.warmup: -1 is out of range; "));
  CHECK(only_conflict(synthetic, {"train.schedule={name: step, milestones: [1, 0 steps]}"})
            .starts_with("train.schedule.milestones[1]: 0 steps is out of range; "));
}

TEST_CASE("lengths in tokens require data with tokens") {
  CHECK(only_conflict(synthetic, {"train.max_tokens=1e6"}) ==
        "train.max_tokens: dataset synthetic has no tokens to count; allowed: null, and "
        "train.max_steps");
  CHECK(only_conflict(synthetic, {"train.schedule.warmup=1e6 tokens"}) ==
        "train.schedule.warmup: dataset synthetic has no tokens to count; allowed: epochs, steps, "
        "or a share of the run");
  CHECK(only_conflict(synthetic, {"train.schedule.decay=1 token"})
            .starts_with("train.schedule.decay: dataset synthetic has no tokens to count; "));
  CHECK(only_conflict(synthetic, {"train.schedule={name: step, milestones: [1, 1e6 tokens]}"})
            .starts_with("train.schedule.milestones: dataset synthetic has no tokens to count; "));
  CHECK(problems(tokens, {"train.max_tokens=1e6",
                          "train.schedule={name: wsd, warmup: 1e4 tokens, decay: 1e5 tokens}"})
            .empty());
}

TEST_CASE("only language models generate samples during training") {
  const std::vector<std::string> asked = {
      "train.sample={every: 500 steps, prompt: And God, tokens: 50}"};
  CHECK(only_conflict(synthetic, asked) ==
        "train.sample: a model of dataset synthetic does not generate text; allowed: never");
  const auto sample = good(tokens, asked).train.sample;
  CHECK(sample.every == Interval{Interval::Unit::steps, 500});
  CHECK(sample.prompt == "And God");
  CHECK(sample.tokens == 50);
  CHECK(only_conflict(tokens, {"train.sample.tokens=0"}).starts_with("train.sample.tokens: "));
}

TEST_CASE("a run needs a condition that ends it") {
  CHECK(
      only_conflict(synthetic, {"train.epochs=null"}) ==
      "train.epochs: the run has no end; allowed: a number, or null with max_steps or max_tokens");
  CHECK(problems(synthetic, {"train.epochs=null", "train.max_steps=5"}).empty());
  CHECK(problems(tokens, {"train.epochs=null", "train.max_tokens=5e6"}).empty());
}

TEST_CASE("shares of a run are below 100% and ascending") {
  CHECK(only_conflict(synthetic, {"train.schedule.warmup=100%"}) ==
        "train.schedule.warmup: a warm-up of 100% leaves nothing of the run; allowed: below 100%");
  CHECK(only_conflict(synthetic, {"train.schedule={name: step, milestones: [50%, 50%]}"}) ==
        "train.schedule.milestones: milestones must increase; allowed: ascending lengths");
  CHECK(only_conflict(synthetic, {"train.schedule={name: step, milestones: [5, 100%]}"}) ==
        "train.schedule.milestones: milestone 100% is never reached in the run; allowed: below "
        "100%");
  CHECK(problems(synthetic, {"train.schedule={name: step, milestones: [9, 50%, 1000 steps]}"})
            .empty());
}

TEST_CASE("schedules that end at min_lr start above it") {
  for (const std::string name : {"cosine", "linear", "wsd"}) {
    CHECK(only_conflict(synthetic, {"train.schedule={name: " + name + ", min_lr: 0.2}"}) ==
          "train.schedule.min_lr: 0.2 is above the learning rate 0.1; allowed: at most 0.1");
    CHECK(problems(synthetic, {"train.schedule={name: " + name + ", min_lr: 0.1}"}).empty());
  }
}
