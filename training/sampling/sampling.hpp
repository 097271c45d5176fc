/// Samples the next token from a language model's logits.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace troupe::training {

struct SamplingOptions {
  double temperature = 1; ///< logits are divided by it; 0: always the most likely token
  std::int64_t top_k = 0; ///< samples among this many of the most likely tokens; 0: all
  /// Samples among the most likely tokens that together have this probability, and at least one
  /// (Holtzman et al., "The Curious Case of Neural Text Degeneration", 2020); 1: all. Applied after
  /// top_k.
  double top_p = 1;
  std::uint64_t seed = 0;
};

/// Orders logits: the largest first, equal ones by rising id, NaN last, because sorting needs a
/// strict weak order.
inline bool is_likelier(float a, std::int32_t id_of_a, float b, std::int32_t id_of_b) {
  if (std::isnan(a) || std::isnan(b))
    return !std::isnan(a) || (std::isnan(b) && id_of_a < id_of_b);
  return a != b ? a > b : id_of_a < id_of_b;
}

/// Equal logits and an equal seed give equal tokens on every machine: the smaller id wins between
/// equal logits, and the C++ standard fixes the values of the random generator.
class Sampler {
public:
  /// `never`: ids that are never chosen, ascending.
  explicit Sampler(const SamplingOptions& options, std::vector<std::int32_t> never = {})
      : options_{options}, random_{options.seed}, never_{std::move(never)} {}

  /// Precondition: at least one logit is of an id that may be chosen. NaN is chosen only if all are
  /// NaN.
  std::int32_t choose(std::span<const float> logits);

private:
  struct Candidate {
    std::int32_t id;
    float logit;
    double weight; ///< proportional to its probability
  };

  void collect(std::span<const float> logits);
  void keep_top_k();
  /// Computes weights. `most`: the largest logit.
  void weigh(float most);
  void keep_top_p();
  double total() const;

  SamplingOptions options_;
  std::mt19937_64 random_;
  std::vector<std::int32_t> never_;
  std::vector<Candidate> candidates_;
};

} // namespace troupe::training
