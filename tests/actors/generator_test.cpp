// Tests a GENERATOR that receives the parameters of a real rank.
#include "actors/caf_error.hpp"
#include "actors/roles/generator.hpp"
#include "inference/continuation.hpp"
#include "tests/actors/deterministic.hpp"
#include "tests/actors/small_job.hpp"
#include "tests/support/scratch_folder.hpp"
#include "training/reducer/reducer.hpp"
#include "training/sampling/training_sample.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <optional>
#include <string>

using namespace troupe;
using namespace troupe::actors;

namespace {

/// Config of a language model on bytes, whose samples have `tokens` tokens.
Config job_that_writes(const testing::ScratchFolder& folder, const std::string& model,
                       std::int64_t tokens) {
  auto config = test::small_job();
  config.model = {};
  config.model.name = model;
  config.model.layers = 2;
  config.model.width = 32;
  config.model.heads = 4;
  if (model.starts_with("gpt2"))
    config.model.positions = 2000;
  config.data = {};
  config.data.dataset = "text";
  config.data.root = (folder / "text").string();
  config.data.sequence_length = 16;
  config.data.batch_size = 4;
  config.data.augment.clear();
  config.train.sample = {{Interval::Unit::steps, 1}, "And God", tokens};
  testing::write_bytes(folder / "text", std::string(1000, 'a'));
  return config;
}

struct Author : test::Deterministic {
  explicit Author(const std::string& model, std::int64_t tokens = 20)
      : config{job_that_writes(folder, model, tokens)} {
    generator = spawn(config);
  }
  ~Author() {
    self->send_exit(generator, caf::exit_reason::kill);
    scheduler.run();
  }

  generator_actor spawn(const Config& of) {
    return test::spawn_state<GeneratorState, generator_actor>(
        system, GeneratorSetup{.state = rank_state->state, .config = of});
  }
  void give_parameters(const generator_actor& to) {
    const auto count = rank_state->state->layout().whole().parameter_chunks();
    for (std::size_t index = 0; index < count; ++index) {
      auto chunk = std::make_shared<training::StateChunk>();
      reducer.copier().gather(index, chunk.get());
      REQUIRE(rank_state->communication->synchronize());
      auto asked = self->request(to, caf::infinite, atom::snapshot_v, StateChunkPtr{chunk});
      scheduler.run();
      asked.receive([&](bool is_last) { CHECK(is_last == (index + 1 == count)); },
                    [](const caf::error& error) { FAIL(caf::to_string(error)); });
    }
  }
  /// Writes a sample. Returns null on an error, which is then in `refused`.
  GeneratedRecordPtr write(const generator_actor& by, std::int64_t steps) {
    give_parameters(by);
    GeneratedRecordPtr written;
    auto asked = self->request(by, caf::infinite, atom::generate_v, steps);
    scheduler.run();
    asked.receive([&](const GeneratedRecordPtr& record) { written = record; },
                  [&](const caf::error& error) { refused = from_caf_error(error, {}); });
    return written;
  }
  /// Returns the text that `troupe generate` writes with the job's initial state.
  std::string expected(std::int64_t steps) const {
    std::string text;
    const auto result = inference::generate(
        {"initial", training::sample_config(config), {}, initial},
        training::sample_options(config, steps), [&](std::string_view chunk) -> Status {
          text += chunk;
          return {};
        });
    INFO((result ? "" : result.error().to_string()));
    REQUIRE(result);
    return text;
  }

  testing::ScratchFolder folder;
  Config config;
  std::shared_ptr<training::CompiledJob> host = test::compile_job(config, 1);
  StateSourcePtr initial = host->initial;
  std::shared_ptr<training::Generation> generation =
      training::build_generation(host, training::single_node_assignment(1, "here")).value();
  std::shared_ptr<training::RankState> rank_state = generation->rank_states.front();
  training::GradientReducer reducer{{.rank_state = rank_state}};
  generator_actor generator;
  std::optional<Error> refused;
};

} // namespace

TEST_CASE(
    "a sample equals the output of generate for the same parameters and the seed of its step") {
  const std::string model = GENERATE("gpt2-mini", "llama-mini");
  CAPTURE(model);
  Author author{model};
  const auto record = author.write(author.generator, 3);
  REQUIRE(record);
  CHECK(record->step == 3);
  CHECK(record->prompt == "And God");
  CHECK(record->text == author.expected(3));
  CHECK(record->tokens > 0);
  CHECK(record->tokens <= 20);
  CHECK(record->seconds > 0);
  CHECK(record->time > std::chrono::system_clock::time_point{});
  CHECK(author.expected(4) != author.expected(3));
}

TEST_CASE("each sample uses the latest parameters") {
  Author author{"llama-mini"};
  const auto first = author.write(author.generator, 3);
  REQUIRE(first);
  auto& state = *author.rank_state->state;
  std::fill_n(state.buffers().parameters(0), state.layout().plan().elements, 0.0f);
  const auto other = author.write(author.generator, 3);
  REQUIRE(other);
  CHECK(other->text != first->text);
}

TEST_CASE("a sample that cannot begin is an error, and the next one is written") {
  Author author{"gpt2-mini"};
  auto config = author.config;
  config.train.sample.prompt = std::string(2001, 'a');
  const auto hopeless = author.spawn(config);
  CHECK_FALSE(author.write(hopeless, 1));
  REQUIRE(author.refused);
  CHECK(author.refused->code == Errc::invalid_input);
  author.self->send_exit(hopeless, caf::exit_reason::kill);
  CHECK(author.write(author.generator, 1));
}

TEST_CASE("ending a generator waits for one token at most") {
  Author author{"llama-mini", 1000};
  author.give_parameters(author.generator);
  auto asked =
      author.self->request(author.generator, caf::infinite, atom::generate_v, std::int64_t{1});
  author.scheduler.run(3); // generation has begun
  author.self->send_exit(author.generator, caf::exit_reason::user_shutdown);
  CHECK(author.scheduler.run() < 3);
  bool has_ended = false;
  asked.receive([](const GeneratedRecordPtr&) {}, [&](const caf::error&) { has_ended = true; });
  CHECK(has_ended);
}
