/// Runs attention on a GPU in two ways, with cuDNN's plans and with the project's kernels, on the
/// same values, and computes the reference of both.
#pragma once

#include "gpu/cudnn/attention.hpp"
#include "gpu/cudnn/plan_search.hpp"
#include "gpu/kernels/attention.hpp"
#include "tests/gpu/reference.hpp"

namespace troupe::testing {

struct AttentionCase {
  std::int64_t head_dim, heads, kv_heads, sequence;
  bool packed; ///< q, k and v lie side by side in one tensor, as do their gradients
  DType dtype;
  std::int64_t sequences = 2;

  AttentionAttributes attributes() const { return {sequence, heads, kv_heads, head_dim}; }
  std::int64_t rows() const { return sequences * sequence; }
  std::int64_t columns() const { return heads * head_dim; }
  std::int64_t kv_columns() const { return kv_heads * head_dim; }
  /// Elements from one row to the next.
  std::int64_t q_distance() const { return packed ? columns() + 2 * kv_columns() : columns(); }
  std::int64_t kv_distance() const { return packed ? q_distance() : kv_columns(); }
  gpu::cudnn::AttentionProblem problem() const;
  gpu::AttentionShape shape() const;
  std::string to_string() const;
};

/// Rows of q, k and v, or of their gradients.
struct HeadValues {
  Floats q, k, v;
};

/// Random values that are rounded to the case's type, and the interpreter's results.
struct AttentionReference {
  HeadValues inputs;
  Floats dy;
  Floats y; ///< rounded to the case's type, as backward reads it
  Floats log_sum_exp;
  HeadValues gradients;
};
AttentionReference attention_reference(const AttentionCase& shape);

class AttentionFixture : public GpuFixture {
public:
  /// Skips the test when there is no cuDNN.
  AttentionFixture();

  /// Addresses of q, k and v, or of their gradients.
  struct Heads {
    void *q, *k, *v;
  };
  Heads upload_heads(const AttentionCase& shape, const HeadValues& values);
  Heads room_for_heads(const AttentionCase& shape);
  HeadValues download_heads(const AttentionCase& shape, const Heads& heads);

  struct Forward {
    void* y;
    float* log_sum_exp;
  };
  Forward room_for_forward(const AttentionCase& shape);

  /// Returns all plans of cuDNN's heuristics. Requires that there is one, except on GPUs older than
  /// Hopper, where it skips the test.
  std::vector<gpu::cudnn::Plan> plans(const gpu::cudnn::OperationGraph& graph,
                                      bool deterministic = false);
  Status run(const gpu::cudnn::Plan& plan, const Heads& heads, const Forward& results);
  Status run_backward(const gpu::cudnn::Plan& plan, const Heads& heads, const Forward& results,
                      void* dy, const Heads& gradients);

  const gpu::cudnn::Target& target() const { return *target_; }

private:
  Status execute(const gpu::cudnn::Plan& plan, const std::vector<gpu::cudnn::Binding>& bindings);

  std::optional<gpu::cudnn::Target> target_;
};

} // namespace troupe::testing
