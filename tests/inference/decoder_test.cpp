// Compares a model with caches to the same model without caches.
#include "core/float16.hpp"
#include "core/graph/precision.hpp"
#include "cpu/host_device.hpp"
#include "inference/continuation.hpp"
#include "inference/decoder.hpp"
#include "nn/compile.hpp"
#include "tests/inference/saved_language_model.hpp"
#include "tests/support/tokenizer_files.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

using namespace troupe;
using namespace troupe::inference;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr std::int64_t bytes_and_end = 257;

/// Config of two blocks over bytes; heads share keys and values when the model supports it.
Config decoder_config(const std::string& name, HeadWeight head = HeadWeight::usual) {
  Config config;
  config.model.name = name;
  config.model.width = 32;
  config.model.layers = 2;
  config.model.heads = 4;
  config.model.head = head;
  if (name.starts_with("gpt2"))
    config.model.positions = 300;
  else
    config.model.kv_heads = 2;
  config.data.dataset = "text";
  config.data.root = "text";
  config.data.sequence_length = 16;
  config.devices.kind = DeviceKind::cpu;
  config.devices.threads_per_worker = 2;
  return config;
}

SavedModel lively_model(const Config& config) {
  return testing::saved_language_model(config, 8);
}

/// Returns bytes whose neighbours differ.
std::vector<data::TokenId> some_tokens(std::int64_t count) {
  std::vector<data::TokenId> tokens;
  for (std::int64_t i = 0; i < count; ++i)
    tokens.push_back(static_cast<data::TokenId>((i * i + 17 * i + 31) % 256));
  return tokens;
}

float rounded(Precision precision, float value) {
  return compute_type(precision) == DType::bf16 ? float_from_bf16(bf16_from_float(value)) : value;
}

/// Returns (rows, width) times the transpose of (vocabulary, width), rounded as in a model of this
/// precision.
std::vector<float> products(const std::vector<float>& x, const std::vector<float>& table,
                            std::size_t width, Precision precision) {
  std::vector<float> logits;
  for (std::size_t row = 0; row < x.size(); row += width)
    for (std::size_t id = 0; id < table.size(); id += width) {
      double sum = 0;
      for (std::size_t c = 0; c < width; ++c)
        sum += double{rounded(precision, x[row + c])} * double{rounded(precision, table[id + c])};
      logits.push_back(static_cast<float>(sum));
    }
  return logits;
}

/// Returns the logits of all positions, (tokens, vocabulary), from one pass without caches.
std::vector<float> uncached(const SavedModel& model, std::vector<data::TokenId> tokens) {
  auto config = model.config;
  config.data.sequence_length = std::ssize(tokens);
  const auto precision = config.precision.mode;
  const bool gpt2 = config.model.name.starts_with("gpt2");
  const std::string norm = gpt2 ? "transformer.ln_f" : "model.norm";
  const auto prepared =
      nn::prepare_model(config, 1, nn::PassMode::evaluation, {.memory = {.keep = {norm}}});
  REQUIRE(prepared);
  const auto device = cpu::make_host_device(0, 2);
  const auto stream = device->create_stream({.name = "compute", .threads = 2});
  const auto executable =
      device->compile(prepared->graph, {.threads = 2, .memory = prepared->memory});
  REQUIRE(executable);
  const auto weights = weights_of(model);
  REQUIRE(weights);
  const auto loaded = DeviceWeights::load(*device, *stream, (*executable)->layout(), *weights,
                                          stored_type(precision));
  REQUIRE(loaded);
  REQUIRE(loaded->bind(**executable, *stream));
  REQUIRE((*executable)
              ->set_batch(at_addresses((*executable)->batch(), {tokens.data(), tokens.data()})));
  (*executable)->run(*stream);
  const auto width = static_cast<std::size_t>(*config.model.width);
  std::vector<float> x(tokens.size() * width);
  REQUIRE((*executable)->read_tensor(*stream, norm, x));
  REQUIRE(stream->synchronize());
  const std::string table = gpt2 ? "transformer.wte.weight" : "model.embed_tokens.weight";
  const auto head = weights->has("lm_head.weight") ? "lm_head.weight" : table;
  return products(x, *weights->read(head), width, precision);
}

std::unique_ptr<Decoder> decoder_of(const SavedModel& model, std::int64_t places) {
  auto decoder = Decoder::create(model, places);
  INFO((decoder ? "" : decoder.error().to_string()));
  REQUIRE(decoder);
  return std::move(*decoder);
}

/// Returns the largest difference between the decoder's logits of the last token and the expected
/// logits, relative to the largest logit.
double difference_at(const std::vector<float>& all, std::int64_t place,
                     std::span<const float> logits) {
  const std::span expected{all.data() + place * bytes_and_end, logits.size()};
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    largest = std::max(largest, std::abs(double{expected[i]}));
    difference = std::max(difference, std::abs(double{expected[i]} - double{logits[i]}));
  }
  return difference / largest;
}

/// Feeds the tokens in these chunks, which the decoder splits into passes of other sizes, and
/// compares the logits.
void check_chunks(const Config& config, const std::vector<std::int64_t>& chunks, double most) {
  const auto model = lively_model(config);
  std::int64_t length = 0;
  for (const auto chunk : chunks)
    length += chunk;
  const auto tokens = some_tokens(length);
  const auto expected = uncached(model, tokens);
  const auto decoder = decoder_of(model, length);
  std::int64_t fed = 0;
  for (const auto chunk : chunks) {
    REQUIRE(decoder->feed(
        std::span{tokens}.subspan(static_cast<std::size_t>(fed), static_cast<std::size_t>(chunk))));
    fed += chunk;
    CAPTURE(fed);
    CHECK(difference_at(expected, fed - 1, decoder->logits()) < most);
  }
  CHECK(decoder->room() == 0);
}

/// Returns the text of bytes.
std::string text_of(const std::vector<data::TokenId>& tokens) {
  std::string text;
  for (const auto token : tokens)
    text += static_cast<char>(token);
  return text;
}

/// Appends the likeliest token `count` times, each time with a new pass over all earlier tokens.
std::string greedy_text(const SavedModel& model, const std::string& prompt, std::int64_t count) {
  std::vector<data::TokenId> tokens;
  for (const char c : prompt)
    tokens.push_back(static_cast<unsigned char>(c));
  for (std::int64_t i = 0; i < count; ++i) {
    const auto logits = uncached(model, tokens);
    const auto last = logits.end() - bytes_and_end;
    const auto next = static_cast<data::TokenId>(std::max_element(last, logits.end()) - last);
    if (next == bytes_and_end - 1)
      break;
    tokens.push_back(next);
  }
  return text_of(tokens).substr(prompt.size());
}

struct Answer {
  std::string text;
  Generated result;
};

Answer answer_of(const SavedModel& model, const training::GenerateOptions& options) {
  Answer answer;
  const auto result = generate(model, options, [&](std::string_view chunk) -> Status {
    answer.text += chunk;
    return {};
  });
  INFO((result ? "" : result.error().to_string()));
  REQUIRE(result);
  answer.result = *result;
  return answer;
}

Error refusal_of(const SavedModel& model, const training::GenerateOptions& options) {
  const auto result = generate(model, options, [](std::string_view) { return Status{}; });
  REQUIRE_FALSE(result);
  return result.error();
}

} // namespace

TEST_CASE("a decoder's logits match the uncached model, token by token") {
  const std::string name = GENERATE("gpt2-mini", "llama-mini");
  const auto head = GENERATE(HeadWeight::tied, HeadWeight::own);
  CAPTURE(name, to_string(head));
  check_chunks(decoder_config(name, head), std::vector<std::int64_t>(24, 1), 1e-4);
}

// The decoder computes 3 of 290 positions one by one, 37 and 170 in passes of at least that many
// positions, and the last ones in a pass that begins earlier.
TEST_CASE("a decoder's logits match the uncached model for chunks of any size") {
  const std::string name = GENERATE("gpt2-mini", "llama-mini");
  CAPTURE(name);
  check_chunks(decoder_config(name), {3, 1, 37, 1, 170, 1, 1, 76}, 1e-4);
  check_chunks(decoder_config(name), {280}, 1e-4);
}

TEST_CASE("in bf16 a decoder's logits match the uncached model up to its rounding") {
  const std::string name = GENERATE("gpt2-mini", "llama-mini");
  const auto mode = GENERATE(Precision::amp_bf16, Precision::bf16);
  CAPTURE(name, to_string(mode));
  auto config = decoder_config(name);
  config.precision.mode = mode;
  check_chunks(config, {3, 1, 37, 1, 1, 30}, 0.08);
}

TEST_CASE("the interpreter's caches give the same logits") {
  auto config = decoder_config("llama-mini");
  config.devices.engine = Engine::interpreter;
  check_chunks(config, {2, 1, 34, 1}, 1e-4);
}

TEST_CASE("tokens beyond the remaining room are refused without using any of it") {
  const auto decoder = decoder_of(lively_model(decoder_config("gpt2-mini")), 4);
  REQUIRE(decoder->feed(some_tokens(3)));
  const auto refused = decoder->feed(some_tokens(2));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::invalid_input);
  CHECK(decoder->room() == 1);
  CHECK(decoder->feed(some_tokens(1)));
}

TEST_CASE("greedy texts match those of the uncached model") {
  const std::string name = GENERATE("gpt2-mini", "llama-mini");
  CAPTURE(name);
  const auto model = lively_model(decoder_config(name));
  const std::string prompt = "In the beginning";
  const auto answer =
      answer_of(model, {.prompt = prompt, .tokens = 24, .sampling = {.temperature = 0}});
  CHECK(answer.text == greedy_text(model, prompt, 24));
  CHECK(text_of(answer.result.prompt) == prompt);
  CHECK(text_of(answer.result.tokens).starts_with(answer.text)); // an end token may follow
}

TEST_CASE("a seed determines the text") {
  const auto model = lively_model(decoder_config("gpt2-mini"));
  const auto text = [&](std::uint64_t seed) {
    return answer_of(model, {.prompt = "a", .tokens = 40, .sampling = {.seed = seed}}).text;
  };
  CHECK(text(1) == text(1));
  CHECK(text(1) != text(2));
}

TEST_CASE("an empty prompt is an end-of-document token, after which a document begins") {
  const auto model = lively_model(decoder_config("llama-mini"));
  const auto decoder = decoder_of(model, 1);
  REQUIRE(decoder->feed(std::vector<data::TokenId>{bytes_and_end - 1}));
  const auto logits = decoder->logits();
  const auto likeliest = std::ranges::max_element(logits) - logits.begin();
  const auto answer = answer_of(model, {.prompt = "", .tokens = 1, .sampling = {.temperature = 0}});
  CHECK(answer.result.prompt == std::vector<data::TokenId>{bytes_and_end - 1});
  CHECK(answer.text == text_of({static_cast<data::TokenId>(likeliest)}));
}

TEST_CASE("a text ends at the model's last position and reports why") {
  auto config = decoder_config("gpt2-mini");
  config.model.positions = 20;
  const auto model = lively_model(config);
  const auto answer =
      answer_of(model, {.prompt = "12345678", .tokens = 50, .sampling = {.temperature = 0}});
  CHECK(answer.result.ending == Ending::context);
  CHECK(answer.result.tokens.size() == 20 - 8 + 1); // the last token is not fed to the model
  const auto refused = refusal_of(model, {.prompt = std::string(21, 'a')});
  CHECK(refused.code == Errc::invalid_input);
  CHECK_THAT(refused.message,
             ContainsSubstring("the prompt has 21 tokens, but the model has only 20 positions"));
}

TEST_CASE("rotary positions are unlimited") {
  const auto answer = answer_of(lively_model(decoder_config("llama-mini")),
                                {.prompt = "a", .tokens = 70, .sampling = {.temperature = 0}});
  CHECK(answer.result.ending != Ending::context);
}

TEST_CASE("ids without bytes are never generated, even if the model has rows for them") {
  const testing::TokenizerFiles files;
  auto config = decoder_config("gpt2-mini");
  // After the about 260 tokens of the file, the next id is the end, 50256.
  config.data.tokenizer.path = files.write("r50k_base.tiktoken", testing::small_ranks());
  config.model.vocabulary = 50304;
  const auto answer = answer_of(testing::saved_language_model(config),
                                {.prompt = "ab", .tokens = 20, .sampling = {.seed = 3}});
  for (const auto id : answer.result.tokens)
    CHECK((id < 258 || id == 50256));
}

TEST_CASE("only models that read tokens generate text") {
  Config config;
  config.model.name = "mlp";
  const auto refused = refusal_of({"mlp.safetensors", config, {}, nullptr}, {.prompt = "a"});
  CHECK(refused.code == Errc::invalid_input);
  CHECK_THAT(refused.message, ContainsSubstring("mlp does not read tokens"));
}

TEST_CASE("the receiver of the text may stop with an error") {
  const auto model = lively_model(decoder_config("gpt2-mini"));
  const auto full = generate(model, {.prompt = "a"}, [](std::string_view) -> Status {
    return failure({Errc::no_space, "there is no room"});
  });
  REQUIRE_FALSE(full);
  CHECK(full.error().code == Errc::no_space);
}
