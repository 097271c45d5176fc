// GPT-2 and LLaMA on a text of this tree.
#include "experiment.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cmath>
#include <string>

using namespace troupe;
using namespace troupe::testing;

namespace {

// For sums of the same numbers in another order, through eight steps.
constexpr double loss_bound = 1e-5; // relative

Experiment on_text(const std::string& model, const Settings& more = {}) {
  const Settings usual = {"data.dataset=text",
                          "data.root=" + (source_tree() / "docs/architecture.md").string(),
                          "data.sequence_length=32",
                          "data.augment=[]",
                          "data.batch_size=8",
                          "model.name=" + model,
                          "model.layers=2",
                          "model.width=32",
                          "model.heads=4",
                          "train.max_steps=8",
                          "train.optimizer.name=adamw",
                          "train.optimizer.lr=0.003",
                          "train.optimizer.nesterov=false",
                          "train.optimizer.decay=matrices",
                          "train.schedule.warmup=0"};
  return Experiment{usual + more};
}

} // namespace

TEST_CASE("language models learn the same with every strategy, also where the head is tied") {
  const std::string model = GENERATE("gpt2-mini", "llama-mini");
  const std::string head = GENERATE("tied", "own");
  CAPTURE(model, head);
  const auto experiment = on_text(model, {"model.head=" + head});
  const auto alone = experiment.completed("alone");
  CHECK(alone.losses().back() < alone.losses().front() - 0.3);
  for (const char* strategy : {"ddp", "zero1", "zero2", "zero3", "hsdp"}) {
    CAPTURE(strategy);
    const auto together = experiment.completed(strategy, workers(strategy, 2));
    CAPTURE(alone.losses(), together.losses());
    CHECK(largest_difference(together.losses(), alone.losses()) < loss_bound);
  }
}

TEST_CASE("a run on texts says how many tokens its samples have, and evaluates what it held back") {
  const auto experiment = on_text("gpt2-mini");
  const auto run = experiment.completed("run");
  CHECK(run.summary().at("tokens_per_sample") == 32);
  CHECK(run.summary().at("accuracy").is_null());
  const double test_loss = run.epochs().back().at("test_loss");
  CHECK(test_loss > 1);
  CHECK(test_loss < std::log(257.0));
}

TEST_CASE("a language model goes on exactly where it was") {
  const auto experiment = on_text("llama-mini", {"train.schedule.name=constant"});
  const auto whole = experiment.completed("whole");
  experiment.completed("parts", {"train.max_steps=4"});
  const auto parts = experiment.completed("parts", {"checkpoint.resume=auto"});
  CHECK(parts.digest() == whole.digest());
}

TEST_CASE("the same is dropped for any number of workers and slices, and after a resume") {
  const auto experiment =
      on_text("gpt2-mini", {"model.dropout=0.2", "train.schedule.name=constant"});
  const auto alone = experiment.completed("alone");
  CHECK(largest_difference(
            on_text("gpt2-mini", {"train.schedule.name=constant"}).completed("without").losses(),
            alone.losses()) > 100 * loss_bound);
  for (const int count : {2, 4})
    CHECK(largest_difference(
              experiment.completed("of" + std::to_string(count), workers("ddp", count)).losses(),
              alone.losses()) < loss_bound);
  CHECK(largest_difference(experiment.completed("slices", {"data.slices=4"}).losses(),
                           alone.losses()) < loss_bound);
  experiment.completed("parts", {"train.max_steps=4"});
  CHECK(experiment.completed("parts", {"checkpoint.resume=auto"}).digest() == alone.digest());
}

TEST_CASE("what does not fit texts is refused with the reason") {
  const auto refusal = [](const std::string& model, const Settings& more) {
    const auto ended = on_text(model).train("run", more);
    CHECK(ended.code == 2);
    return ended.err;
  };
  CHECK(refusal("gpt2-mini", {"model.positions=16"})
            .find("sequences have 32 tokens, of which 16 have a position") != std::string::npos);
  CHECK(refusal("llama-mini", {"data.tokenizer=gpt2.tiktoken"})
            .find("how many tokens a tokenizer of files has") != std::string::npos);
  CHECK(refusal("resnet20", {}).find("does not read tokens") != std::string::npos);
}
