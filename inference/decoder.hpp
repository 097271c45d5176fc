/// Decodes with a language model: each token is computed once, and its keys and values are cached
/// (nn/passes/cache_attention).
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

/// Not thread-safe. Graphs have static shapes. One graph takes a single token and gives its logits;
/// others fill the caches with many tokens at a time, and are compiled on first use. All share the
/// same parameters and caches.
class Decoder {
public:
  /// `places`: maximum number of tokens. Blocks. Errors: invalid_input (a model that does not read
  /// tokens, or has fewer positions; weights of another model); those of reading the weights;
  /// out_of_memory; unsupported (this machine lacks the device or the precision).
  static Result<std::unique_ptr<Decoder>> create(const SavedModel& model, std::int64_t places,
                                                 const training::SayLine& say = {});
  /// Blocks until the stream is idle.
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  /// Appends tokens and computes the logits. Blocks. Errors: invalid_input for more tokens than fit
  /// (then it takes none); data for an id outside the vocabulary; those of the device.
  Status feed(std::span<const data::TokenId> tokens);
  /// Logits of the next token, by id. Valid after the first token is fed.
  std::span<const float> logits() const { return logits_; }
  std::int64_t room() const { return places_ - std::ssize(tokens_); }

private:
  /// A graph for a number of tokens, and its input buffer.
  struct Pass {
    std::unique_ptr<Executable> executable;
    BufferPtr tokens;
  };

  Decoder(const SavedModel& model, std::int64_t places);
  Status prepare(const SavedModel& model);
  /// Compiles the pass on first use.
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
  DeviceWeights weights_;               ///< and caches
  BufferPtr first_;                     ///< position of a pass's first token
  std::map<std::int64_t, Pass> passes_; ///< by number of tokens
  std::unique_ptr<Stream> stream_;

  std::vector<data::TokenId> tokens_; ///< all tokens fed
  std::int64_t computed_ = 0;         ///< number of tokens in the caches
  std::vector<float> logits_;
  // Sources of copies to the device; they must live until the copies are done.
  std::vector<data::TokenId> copied_tokens_;
  std::int32_t copied_first_ = 0;
};

} // namespace troupe::inference
