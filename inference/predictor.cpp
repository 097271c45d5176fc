#include "inference/predictor.hpp"

#include "core/fail.hpp"
#include "core/graph/precision.hpp"
#include "cpu/host_stream.hpp"
#include "data/image_adapter.hpp"
#include "nn/compile.hpp"
#include "nn/models/input.hpp"
#include "training/platforms/platforms.hpp"

#include <tuple>

namespace troupe::inference {

namespace {

constexpr const char* logits = "logits";

} // namespace

Predictor::Predictor(const SavedModel& model)
    : batch_{model.config.data.eval_batch_size}, outputs_{nn::input_spec(model.config).vocabulary >
                                                                  0
                                                              ? 0
                                                              : model.config.model.num_classes} {}

Predictor::~Predictor() {
  drain();
}

void Predictor::drain() {
  for (const auto& loader : loaders_)
    std::ignore = loader.stream->synchronize();
  if (stream_)
    std::ignore = stream_->synchronize();
}

Result<std::unique_ptr<Predictor>> Predictor::create(const SavedModel& model,
                                                     const data::Adapter& adapter,
                                                     const training::SayLine& say) {
  const int threads = training::threads_per_worker(model.config.devices);
  std::unique_ptr<Predictor> made{new Predictor{model}};
  made->devices_ = training::platform_of(model.config.devices).make_devices(model.config, say);
  TROUPE_TRY(made->device_, made->devices_->add());
  made->stream_ = made->device_->create_stream({.name = "compute", .threads = threads});
  for (int i = 0; i < threads; ++i)
    made->loaders_.push_back(
        {std::make_shared<cpu::HostStream>(StreamOptions{.name = "loader"}), {}});
  TROUPE_TRY(made->compile(model, adapter));
  TROUPE_TRY(made->load(model));
  return made;
}

Status Predictor::compile(const SavedModel& model, const data::Adapter& adapter) {
  TROUPE_TRY(auto engine, devices_->engine_options(0));
  engine.passes.input = devices_->preferred_input(data::may_augment_on_device(adapter));
  if (outputs_ > 0)
    engine.passes.memory.keep.emplace_back(logits);
  engine.passes.fold_batch_norm = true;
  TROUPE_TRY(auto prepared,
             nn::prepare_model(model.config, batch_, nn::PassMode::evaluation, engine.passes));
  engine.compile.memory = std::move(prepared.memory);
  format_ = nn::input_format(prepared.graph);
  foldings_ = std::move(prepared.foldings);
  TROUPE_TRY(executable_, device_->compile(prepared.graph, engine.compile));
  return {};
}

Status Predictor::load(const SavedModel& model) {
  TROUPE_TRY(auto weights, weights_of(model));
  weights.fold(foldings_);
  const auto stored = stored_type(model.config.precision.mode);
  TROUPE_TRY(weights_,
             DeviceWeights::load(*device_, *stream_, executable_->layout(), weights, stored));
  return weights_.bind(*executable_, *stream_);
}

Result<std::shared_ptr<training::BatchProducer>> Predictor::make_producer(data::AdapterPtr adapter,
                                                                          std::int64_t slots) {
  TROUPE_TRY(const auto sampler, data::DistributedSampler::create(
                                     data::evaluation_sampler(adapter->dataset().size(), batch_)));
  return devices_->make_producer(
      0, {.assembler = std::make_shared<const data::BatchAssembler>(std::move(adapter), sampler),
          .slice = {},
          .slots = slots,
          .format = format_,
          .host = training::HostLoader{loaders_},
          .streams = &loaders_,
          .trace = {}});
}

Status Predictor::ask(const training::MicroBatch& batch, Answer& answer) {
  answer.logits.resize(static_cast<std::size_t>(batch_ * outputs_));
  stream_->wait(batch.ready);
  TROUPE_TRY(executable_->set_batch(batch.view));
  for (UnitId unit = 0; unit < weights_.units(); ++unit)
    executable_->forward(*stream_, unit);
  executable_->read_outputs(*stream_, &answer.sums);
  return outputs_ > 0 ? executable_->read_tensor(*stream_, logits, answer.logits) : Status{};
}

} // namespace troupe::inference
