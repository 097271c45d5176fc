/// A saved model on one device, which is asked batch by batch.
#pragma once

#include "core/device/executable.hpp"
#include "inference/device_weights.hpp"
#include "inference/saved_model.hpp"
#include "training/input/batch_producer.hpp"
#include "training/platforms/platform.hpp"

#include <memory>
#include <span>
#include <vector>

namespace troupe::inference {

/// What the model says of one batch; written late, until Predictor::finish().
struct Answer {
  std::vector<float> logits; ///< (samples of a batch, outputs), padding's too; none of tokens
  StepOutputs sums;          ///< "loss", "loss.counted" and, with labels, "correct"
};

/// Not thread-safe. Weights are read once, a tensor at a time, and are in the device's memory alone
/// from then on.
class Predictor {
public:
  /// Takes batches of data.eval_batch_size samples, as `adapter` makes them. Blocks. Errors:
  /// invalid_input (weights of another model); of reading them; out_of_memory; unsupported (a
  /// device or a precision that this machine lacks).
  static Result<std::unique_ptr<Predictor>>
  create(const SavedModel& model, const data::Adapter& adapter, const training::SayLine& say = {});
  /// Blocks until nothing runs any more.
  ~Predictor();
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;

  /// What makes the batches that this takes, with memory for `slots` of them. Host streams, and the
  /// device's, are the predictor's.
  Result<std::shared_ptr<training::BatchProducer>> make_producer(data::AdapterPtr adapter,
                                                                 std::int64_t slots);

  std::int64_t batch() const { return batch_; }
  /// 0 of a language model: its loss never holds all logits.
  std::int64_t outputs() const { return outputs_; }
  /// Enqueues. `answer` must stay until finish().
  Status ask(const training::Filling& batch, Answer& answer);
  /// Blocks until what was asked is answered.
  Status finish() { return stream_->synchronize(); }
  /// What computes, for profiles of it.
  Executable& executable() const { return *executable_; }
  /// Blocks until nothing is filled or computed any more, whatever has failed.
  void drain();

private:
  explicit Predictor(const SavedModel& model);
  Status compile(const SavedModel& model, const data::Adapter& adapter);
  Status load(const SavedModel& model);

  std::int64_t batch_, outputs_;
  int threads_;
  std::unique_ptr<training::PlatformDevices> devices_;
  std::shared_ptr<Device> device_;
  nn::InputFormat format_;
  std::vector<nn::BatchNormFolding> foldings_;
  DType stored_; ///< whose values parameters and statistics hold
  DeviceWeights weights_;
  std::unique_ptr<Executable> executable_;
  std::vector<training::LoaderStream> loaders_;
  std::unique_ptr<Stream> stream_;
};

} // namespace troupe::inference
