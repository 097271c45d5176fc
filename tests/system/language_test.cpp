// Tests GPT-2 and LLaMA on a text of this tree.
#include "tests/system/language_runs.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Relative bound of losses for sums of the same numbers in another order, over eight steps.
constexpr double order_bound = 1e-5;

} // namespace

TEST_CASE("language models have the same losses with every strategy, also with a tied head",
          "[long]") {
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
    CHECK(largest_difference(together.losses(), alone.losses()) < order_bound);
  }
}

TEST_CASE("a language model has the same bits on one worker and sharded, in every precision",
          "[long]") {
  const std::string mode = GENERATE("fp32", "amp_bf16", "amp_fp16", "bf16", "fp16");
  const std::string model = GENERATE("gpt2-mini", "llama-mini");
  CAPTURE(mode, model);
  Settings settings = {"precision.mode=" + mode, "data.slices=2"};
  if (mode == "fp16")
    settings.emplace_back(
        "train.optimizer.eps=1e-3"); // squares of small gradients underflow in f16
  const auto experiment = on_text(model, settings);
  const auto alone = experiment.completed("alone");
  CHECK(alone.losses().back() < alone.losses().front());
  for (const char* strategy : {"ddp", "zero1", "zero2", "fsdp"}) { // fsdp is another name of zero3
    CAPTURE(strategy);
    check_same(experiment.completed(strategy, workers(strategy, 2)), alone);
  }
}

TEST_CASE("a language model with recomputed blocks has the same bits") {
  const std::string mode = GENERATE("fp32", "amp_bf16", "amp_fp16");
  const std::string model = GENERATE("gpt2-mini", "llama-mini");
  CAPTURE(mode, model);
  Settings settings = {"precision.mode=" + mode};
  if (model == "gpt2-mini")
    settings.emplace_back("model.dropout=0.2"); // its masks are drawn again
  const auto experiment = on_text(model, settings);
  check_same(experiment.completed("again", {"train.recompute=block"}),
             experiment.completed("plain"));
}

TEST_CASE("a run on texts reports tokens per sample and evaluates the held-out part") {
  const auto experiment = on_text("gpt2-mini");
  const auto run = experiment.completed("run");
  CHECK(run.summary().at("tokens_per_sample") == 32);
  CHECK(run.summary().at("accuracy").is_null());
  const double test_loss = run.epochs().back().at("test_loss");
  CHECK(test_loss > 1);
  CHECK(test_loss < std::log(257.0));
}

TEST_CASE("evaluate gives the run's test loss") {
  const std::string model = GENERATE("gpt2-mini", "llama-mini");
  CAPTURE(model);
  const auto experiment = on_text(model);
  const auto run = experiment.completed("run");
  const double test_loss = run.epochs().back().at("test_loss");
  const auto ended = ask_about("evaluate", run.checkpoints().back(), {"--json"});
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  const auto score = nlohmann::json::parse(ended.out);
  const double tokens = score.at("tokens"), bytes = score.at("bytes");
  CHECK(std::abs(score.at("loss").get<double>() - test_loss) < order_bound * test_loss);
  CHECK(std::abs(score.at("perplexity").get<double>() / std::exp(test_loss) - 1) < 1e-4);
  CHECK(tokens == 32 * score.at("windows").get<double>());
  CHECK((bytes == tokens || bytes == tokens - 1)); // the document may end in the last window
  CHECK(std::abs(score.at("bits_per_byte").get<double>() -
                 test_loss * tokens / bytes / std::log(2.0)) < 1e-4);
}

TEST_CASE("evaluate accepts another text and reads all of it") {
  const auto experiment = on_text("gpt2-mini");
  const auto run = experiment.completed("run");
  const auto text = (experiment / "other.txt").string();
  write_bytes(text, std::string(100, 'a'));
  const auto ended = ask_about("evaluate", run.folder(), {"--json", "--data", text});
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  CHECK(nlohmann::json::parse(ended.out).at("tokens") == 96);
}

TEST_CASE("generate continues a prompt, reproducibly for a seed") {
  const std::string model = GENERATE("gpt2-mini", "llama-mini");
  CAPTURE(model);
  const auto experiment = on_text(model);
  const auto run = experiment.completed("run");
  const auto answer = [&](const std::string& seed) {
    const auto ended = ask_about("generate", run.folder(),
                                 {"The actors", "--json", "--tokens", "40", "--seed", seed});
    CAPTURE(ended.err);
    REQUIRE(ended.code == 0);
    return nlohmann::json::parse(ended.out);
  };
  const auto first = answer("1");
  CHECK(first.at("prompt") == "The actors");
  CHECK(first.at("prompt_tokens").size() == 10);
  CHECK((first.at("tokens").size() == 40 || first.at("ending") == "document"));
  CHECK(first.at("tokens_per_second") > 0);
  CHECK(answer("1").at("text") == first.at("text"));
  CHECK(answer("2").at("text") != first.at("text"));
}

TEST_CASE("generate prints the text, and its speed when the output is redirected") {
  const auto experiment = on_text("gpt2-mini");
  const auto run = experiment.completed("run");
  const auto greedy = [&](const std::vector<std::string>& more) {
    std::vector<std::string> options = {"the ", "--temperature", "0", "--tokens", "12"};
    options.insert(options.end(), more.begin(), more.end());
    return ask_about("generate", run.folder(), options);
  };
  const auto text = greedy({}), quiet = greedy({"--quiet"}), json = greedy({"--json"});
  CAPTURE(text.err, quiet.err, json.err);
  REQUIRE(text.code == 0);
  CHECK(text.err.find("prompt: ") != std::string::npos);
  CHECK(quiet.out == text.out);
  CHECK(quiet.err.empty());
  const std::string of_json = nlohmann::json::parse(json.out).at("text");
  CHECK(text.out == (of_json.ends_with('\n') ? of_json : of_json + "\n"));
}

TEST_CASE("generate reports an invalid prompt or option") {
  const auto experiment = on_text("gpt2-mini", {"model.positions=32"});
  const auto run = experiment.completed("run");
  const auto refusal = [&](const std::vector<std::string>& options) {
    const auto ended = ask_about("generate", run.folder(), options);
    CHECK(ended.code == 2);
    CHECK(ended.out.empty());
    return ended.err;
  };
  CHECK(refusal({std::string(33, 'a')})
            .find("the prompt has 33 tokens, but the model has only 32 positions") !=
        std::string::npos);
  CHECK(refusal({"a", "--top-p", "1.5"}).find("--top-p") != std::string::npos);
  CHECK(refusal({"a", "--temperature", "-1"}).find("--temperature") != std::string::npos);
  CHECK(refusal({"a", "--tokens", "0"}).find("--tokens") != std::string::npos);
}

TEST_CASE("predict refuses a language model and names the command that accepts it") {
  const auto experiment = on_text("gpt2-mini");
  const auto run = experiment.completed("run");
  const auto refused = ask_about("predict", run.folder(), {"--split", "test"});
  CHECK(refused.code == 2);
  CHECK(refused.err.find("`troupe evaluate`") != std::string::npos);
}

TEST_CASE("a language model resumes exactly where it was") {
  const auto experiment = on_text("llama-mini", {"train.schedule.name=constant"});
  const auto whole = experiment.completed("whole");
  experiment.completed("parts", {"train.max_steps=4"});
  const auto parts = experiment.completed("parts", {"checkpoint.resume=auto"});
  CHECK(parts.digest() == whole.digest());
}

TEST_CASE("dropout is the same for any number of workers and slices, and after a resume") {
  const auto experiment =
      on_text("gpt2-mini", {"model.dropout=0.2", "train.schedule.name=constant"});
  const auto alone = experiment.completed("alone");
  CHECK(largest_difference(
            on_text("gpt2-mini", {"train.schedule.name=constant"}).completed("without").losses(),
            alone.losses()) > 100 * order_bound);
  for (const int count : {2, 4})
    CHECK(largest_difference(
              experiment.completed("of" + std::to_string(count), workers("ddp", count)).losses(),
              alone.losses()) < order_bound);
  CHECK(largest_difference(experiment.completed("slices", {"data.slices=4"}).losses(),
                           alone.losses()) < order_bound);
  experiment.completed("parts", {"train.max_steps=4"});
  CHECK(experiment.completed("parts", {"checkpoint.resume=auto"}).digest() == alone.digest());
}

TEST_CASE("settings that do not fit texts are refused with the reason") {
  const auto refusal = [](const std::string& model, const Settings& more) {
    const auto ended = on_text(model).train("run", more);
    CHECK(ended.code == 2);
    return ended.err;
  };
  CHECK(refusal("gpt2-mini", {"model.positions=16"})
            .find("sequences have 32 tokens, but the model has only 16 positions") !=
        std::string::npos);
  CHECK(refusal("llama-mini", {"data.tokenizer=gpt2.tiktoken"})
            .find("does not contain the vocabulary size of a tokenizer") != std::string::npos);
  CHECK(refusal("resnet20", {}).find("does not read tokens") != std::string::npos);
}
