// Tests the figures of runs on texts.
#include "metrics/console/detail/progress.hpp"
#include "metrics/number_format.hpp"
#include "metrics/registry/registry.hpp"
#include "metrics/report/run_document.hpp"
#include "metrics/report/run_json.hpp"
#include "metrics/text_figures.hpp"
#include "tests/metrics/text.hpp"
#include "tests/support/records.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include <cmath>

using namespace troupe;
using namespace troupe::metrics;
using namespace troupe::testing;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;

namespace {

RunInfo run_on_texts() {
  auto run = small_run();
  run.sample_name = "sequences";
  run.tokens_per_sample = 256;
  return run;
}

StepRecord step_on_texts() {
  auto step = small_step(14);
  step.accuracy.reset();
  step.loss = std::log(3.5);
  return step;
}

} // namespace

TEST_CASE("only texts have tokens per second and a perplexity") {
  const auto texts = run_on_texts();
  CHECK((throughput(texts, 2).per_second == 512 && throughput(texts, 2).what == "tokens"));
  CHECK(tokens_per_second(texts, 2) == 512);
  CHECK(*perplexity(texts, std::log(3.5)) == Approx(3.5));
  CHECK_FALSE(perplexity(texts, std::nullopt));
  const auto images = small_run();
  CHECK((throughput(images, 2).per_second == 2 && throughput(images, 2).what == "images"));
  CHECK_FALSE(tokens_per_second(images, 2));
  CHECK_FALSE(perplexity(images, 1.0));
}

TEST_CASE("the progress bar for texts shows perplexity and tokens") {
  RecentSteps recent;
  recent.add(step_on_texts());
  CHECK_THAT(progress_line(progress_after(run_on_texts(), step_on_texts(), recent)),
             ContainsSubstring("loss 1.2528  perplexity 3.50  262,144 tokens/s"));
}

TEST_CASE("the last twenty generated samples are in the document") {
  RunDocument document;
  for (std::int64_t step = 1; step <= 25; ++step)
    document.history.add(small_generated(step));
  const auto texts = nlohmann::json::parse(to_json(document, {})).at("generated");
  REQUIRE(texts.size() == 20);
  CHECK(texts.front().at("step") == 6);
  CHECK(texts.back().at("step") == 25);
  CHECK(texts.back().at("prompt") == "And God");
  CHECK(texts.back().at("text") == " said,\nLet there be light.");
}

TEST_CASE("invalid UTF-8 in a generated text does not affect the rest") {
  auto generated = small_generated(1);
  generated.text = "light\xff";
  CHECK_THAT(to_json(generated), ContainsSubstring("light\xef\xbf\xbd"));
}

TEST_CASE("a large perplexity is shown as a whole number") {
  CHECK(format_perplexity(6.2149) == "6.21");
  CHECK(format_perplexity(12480.4) == "12,480");
  CHECK(format_perplexity(INFINITY) == "inf");
}

TEST_CASE("tokens are counted for Prometheus only when training on texts") {
  Registry texts{run_on_texts(), true}, images{small_run(), true};
  texts.begin(run_on_texts(), true);
  images.begin(small_run(), true);
  texts.record(step_on_texts());
  images.record(small_step(14));
  CHECK_THAT(texts.text(), ContainsSubstring("\ntroupe_tokens_total 32768\n"));
  CHECK_THAT(images.text(), ContainsSubstring("\ntroupe_tokens_total 0\n"));
}
