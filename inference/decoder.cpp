#include "inference/decoder.hpp"

#include "core/fail.hpp"
#include "core/graph/precision.hpp"
#include "nn/compile.hpp"
#include "training/platforms/platforms.hpp"

#include <algorithm>
#include <array>
#include <tuple>

namespace troupe::inference {

namespace {

constexpr const char* logits_name = "logits";

/// `tokens`: number of tokens of a pass that fills caches. `least`: smallest number of actual
/// tokens for which it is faster than smaller passes; the rest of the pass is wasted.
struct PassSize {
  std::int64_t tokens, least;
};
constexpr std::array pass_sizes = {PassSize{256, 160}, PassSize{32, 4}};

} // namespace

Decoder::Decoder(const SavedModel& model, std::int64_t places)
    : config_{model.config}, places_{places} {}

Decoder::~Decoder() {
  if (stream_)
    std::ignore = stream_->synchronize();
}

Result<std::unique_ptr<Decoder>> Decoder::create(const SavedModel& model, std::int64_t places,
                                                 const training::SayLine& say) {
  std::unique_ptr<Decoder> made{new Decoder{model, places}};
  made->devices_ = training::platform_of(model.config.devices).make_devices(model.config, say);
  TROUPE_TRY(made->device_, made->devices_->add());
  made->stream_ = made->device_->create_stream(
      {.name = "compute", .threads = training::threads_per_worker(model.config.devices)});
  TROUPE_TRY(made->prepare(model));
  return made;
}

/// Compiles the first graph, which fixes the layout of parameters and caches.
Status Decoder::prepare(const SavedModel& model) {
  TROUPE_TRY(first_, device_->allocate(sizeof(std::int32_t), MemoryKind::data));
  TROUPE_TRY(auto step, compile(1));
  TROUPE_TRY(const auto weights, weights_of(model));
  const auto stored = stored_type(config_.precision.mode);
  TROUPE_TRY(weights_,
             DeviceWeights::load(*device_, *stream_, step.executable->layout(), weights, stored));
  TROUPE_TRY(weights_.bind(*step.executable, *stream_));
  passes_.emplace(1, std::move(step));
  return {};
}

Result<Decoder::Pass*> Decoder::pass_of(std::int64_t tokens) {
  auto found = passes_.find(tokens);
  if (found == passes_.end()) {
    TROUPE_TRY(auto pass, compile(tokens));
    TROUPE_TRY(weights_.bind(*pass.executable, *stream_));
    found = passes_.emplace(tokens, std::move(pass)).first;
  }
  return &found->second;
}

/// Buffers bound to a batch's tensors keep their addresses.
Result<Decoder::Pass> Decoder::compile(std::int64_t tokens) {
  TROUPE_TRY(auto pass, make(tokens));
  TROUPE_TRY(pass.tokens,
             device_->allocate(static_cast<std::size_t>(tokens) * sizeof(data::TokenId),
                               MemoryKind::data));
  auto batch = pass.executable->batch();
  for (auto& tensor : batch)
    tensor.data = tensor.name == nn::first_place ? first_->data() : pass.tokens->data();
  TROUPE_TRY(pass.executable->set_batch(batch));
  return pass;
}

Result<Decoder::Pass> Decoder::make(std::int64_t tokens) {
  const bool step = tokens == 1;
  TROUPE_TRY(auto engine, devices_->engine_options(0));
  engine.passes.cache = nn::CacheOptions{.places = places_, .logits = step};
  if (step)
    engine.passes.memory.keep.emplace_back(logits_name);
  else
    engine.compile.layout = &passes_.at(1).executable->layout();
  auto config = config_;
  config.data.sequence_length = tokens;
  TROUPE_TRY(auto prepared, nn::prepare_model(config, 1, nn::PassMode::evaluation, engine.passes));
  engine.compile.memory = std::move(prepared.memory);
  if (const auto logits = prepared.graph.find(logits_name))
    logits_.resize(static_cast<std::size_t>(prepared.graph[*logits].shape.elements()));
  Pass pass;
  TROUPE_TRY(pass.executable, device_->compile(prepared.graph, engine.compile));
  return pass;
}

Status Decoder::feed(std::span<const data::TokenId> tokens) {
  if (std::ssize(tokens) > room())
    return fail(Errc::invalid_input, "{} tokens do not fit: there is room for {}", tokens.size(),
                room());
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  while (computed_ < std::ssize(tokens_))
    TROUPE_TRY(advance());
  return {};
}

std::int64_t Decoder::suitable_size(std::int64_t tokens) const {
  const auto suits = [&](const PassSize& s) { return tokens >= s.least && s.tokens <= places_; };
  const auto found = std::ranges::find_if(pass_sizes, suits);
  return found == pass_sizes.end() ? 1 : found->tokens;
}

/// Runs one pass. The last token is computed by itself, for its logits. A pass that would exceed
/// the last position starts earlier and computes a few tokens again. Values that it computes after
/// the last token are overwritten before they are read.
Status Decoder::advance() {
  const auto filled = std::ssize(tokens_) - 1;
  const auto size = suitable_size(filled - computed_);
  const auto first = std::min(computed_, places_ - size);
  TROUPE_TRY(const auto* const pass, pass_of(size));
  TROUPE_TRY(run(*pass, size, first));
  computed_ = size == 1 ? first + 1 : std::min(first + size, filled);
  return {};
}

Status Decoder::run(const Pass& pass, std::int64_t tokens, std::int64_t first) {
  const auto begin = tokens_.begin() + first;
  const auto there = std::min(tokens, std::ssize(tokens_) - first);
  copied_tokens_.assign(begin, begin + there);
  copied_tokens_.resize(static_cast<std::size_t>(tokens));
  copied_first_ = static_cast<std::int32_t>(first);
  device_->copy(*stream_, pass.tokens->data(), copied_tokens_.data(), pass.tokens->bytes());
  device_->copy(*stream_, first_->data(), &copied_first_, sizeof copied_first_);
  pass.executable->run(*stream_);
  if (tokens == 1)
    TROUPE_TRY(pass.executable->read_tensor(*stream_, logits_name, logits_));
  return stream_->synchronize();
}

} // namespace troupe::inference
