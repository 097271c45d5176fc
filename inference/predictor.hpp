/// A saved model on one device, for prediction batch by batch.
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

/// The model's outputs for one batch. Written asynchronously, until Predictor::finish().
struct Answer {
  std::vector<float> logits; ///< (batch samples, outputs), with padding; empty for language models
  StepOutputs sums;          ///< "loss", "loss.counted" and, with labels, "correct"
};

/// Not thread-safe. Reads the weights once, one tensor at a time, and then keeps them only in the
/// device's memory.
class Predictor {
public:
  /// Takes batches of data.eval_batch_size samples from `adapter`. Blocks. Errors: invalid_input
  /// (weights of another model); those of reading the weights; out_of_memory; unsupported (this
  /// machine lacks the device or the precision).
  static Result<std::unique_ptr<Predictor>>
  create(const SavedModel& model, const data::Adapter& adapter, const training::SayLine& say = {});
  /// Blocks until all streams are idle.
  ~Predictor();
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;

  /// Creates a producer of batches for this predictor, with memory for `slots` of them. It uses the
  /// predictor's host and device streams.
  Result<std::shared_ptr<training::BatchProducer>> make_producer(data::AdapterPtr adapter,
                                                                 std::int64_t slots);

  std::int64_t batch() const { return batch_; }
  /// 0 for a language model: computing its loss never stores all logits.
  std::int64_t outputs() const { return outputs_; }
  /// Enqueues the computation of a batch. `answer` must live until finish().
  Status ask(const training::MicroBatch& batch, Answer& answer);
  /// Blocks until all enqueued batches are computed.
  Status finish() { return stream_->synchronize(); }
  /// Blocks until nothing is filled or computed, even after failures.
  void drain();

private:
  explicit Predictor(const SavedModel& model);
  Status compile(const SavedModel& model, const data::Adapter& adapter);
  Status load(const SavedModel& model);

  std::int64_t batch_, outputs_;
  std::unique_ptr<training::PlatformDevices> devices_;
  std::shared_ptr<Device> device_;
  nn::InputFormat format_;
  std::vector<nn::BatchNormFolding> foldings_;
  DeviceWeights weights_;
  std::unique_ptr<Executable> executable_;
  std::vector<training::LoaderStream> loaders_;
  std::unique_ptr<Stream> stream_;
};

} // namespace troupe::inference
