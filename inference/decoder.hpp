/// A language model that goes on with a sequence: each token is computed once, and its keys and
/// values are kept (nn/passes/cache_attention).
#pragma once

#include "data/tokenizer/vocabulary.hpp"
#include "inference/device_weights.hpp"
#include "inference/saved_model.hpp"
#include "training/platforms/platform.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace troupe::inference {

/// Not thread-safe. Graphs have static shapes: one goes on by a token and gives its logits, others
/// fill caches with many tokens at a time, and are made when they are first of use. All have the
/// same parameters and the same caches.
class Decoder {
public:
  /// `places`: tokens that it may be given in all. Blocks. Errors: invalid_input (a model that does
  /// not read tokens, or has no positions for so many; weights of another model); of reading them;
  /// out_of_memory; unsupported (a device or a precision that this machine lacks).
  static Result<std::unique_ptr<Decoder>> create(const SavedModel& model, std::int64_t places,
                                                 const training::SayLine& say = {});
  /// Blocks until nothing runs any more.
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  /// Goes on by these tokens. Blocks. Errors: invalid_input for more than there is room for, and
  /// then nothing has been taken; data for an id that the vocabulary lacks; of the device.
  Status feed(std::span<const data::TokenId> tokens);
  /// Of each token that may come next, by its id; of the first that was fed on.
  std::span<const float> logits() const { return logits_; }
  std::int64_t room() const { return places_ - std::ssize(tokens_); }

private:
  /// A graph for so many tokens, and where it reads them.
  struct Pass {
    std::unique_ptr<Executable> executable;
    BufferPtr tokens;
  };

  Decoder(const SavedModel& model, std::int64_t places);
  Status prepare(const SavedModel& model);
  /// Made where it is not there yet.
  Result<Pass*> pass_of(std::int64_t tokens);
  Result<Pass> compile(std::int64_t tokens);
  Result<Pass> make(std::int64_t tokens);
  std::int64_t suitable_size(std::int64_t tokens) const;
  Status advance();
  Status run(const Pass& pass, std::int64_t tokens, std::int64_t first);

  Config config_;
  std::int64_t places_;
  std::unique_ptr<training::PlatformDevices> devices_;
  std::shared_ptr<Device> device_;
  DeviceWeights weights_;                         ///< and caches
  BufferPtr first_;                               ///< the place of a pass's first token
  std::map<std::int64_t, Pass> passes_; ///< by tokens
  std::unique_ptr<Stream> stream_;

  std::vector<data::TokenId> tokens_; ///< that were fed
  std::int64_t computed_ = 0;         ///< of these
  std::vector<float> logits_;
  // What is copied to the device stays until that is done.
  std::vector<data::TokenId> copied_tokens_;
  std::int32_t copied_first_ = 0;
};

} // namespace troupe::inference
