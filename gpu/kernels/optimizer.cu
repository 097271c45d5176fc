#include "gpu/kernels/detail/each.cuh"
#include "gpu/kernels/detail/update_gate.cuh"
#include "gpu/kernels/flat.hpp"

namespace troupe::gpu {

namespace {

/// Number of states: 0 (SGD), 1 (SGD with momentum) or 2 (Adam, AdamW).
template <int States>
struct Update {
  OptimizerArguments arguments;
  AdamCorrections corrections;
  OptimizerViews views;

  template <int Width>
  __device__ void run(std::size_t at) const {
    float parameter[Width], gradient[Width], state0[Width] = {}, state1[Width] = {};
    load_floats(views.parameters + at, parameter);
    load_floats(views.gradients + at, gradient);
    if constexpr (States >= 1)
      load_floats(views.state0 + at, state0);
    if constexpr (States == 2)
      load_floats(views.state1 + at, state1);
#pragma unroll
    for (int i = 0; i < Width; ++i)
      if constexpr (States == 2)
        adam_update(arguments, corrections, parameter[i], gradient[i], state0[i], state1[i]);
      else
        sgd_update(arguments, parameter[i], gradient[i], state0[i]);
    if (arguments.stored != DType::f32) {
      round_floats(arguments.stored, parameter);
      round_floats(arguments.stored, state0);
      round_floats(arguments.stored, state1);
    }
    store_floats(views.parameters + at, parameter);
    if constexpr (States >= 1)
      store_floats(views.state0 + at, state0);
    if constexpr (States == 2)
      store_floats(views.state1 + at, state1);
    if (views.copies)
      copy(at, parameter);
  }

  template <int Width>
  __device__ void copy(std::size_t at, const float (&parameter)[Width]) const {
    if (views.copied == DType::f16)
      store_floats(reinterpret_cast<__half*>(views.copies) + at, parameter);
    else
      store_floats(reinterpret_cast<__nv_bfloat16*>(views.copies) + at, parameter);
  }
};

template <int States, int Width>
__global__ void __launch_bounds__(each_threads)
    optimizer_kernel(OptimizerArguments arguments, OptimizerViews views, const float* clip,
                     const LossScaleState* scaler, UpdateGate gate) {
  if (is_closed(gate))
    return;
  if (scaler) {
    if (scaler->found_inf != 0)
      return;
    arguments = unscaled(arguments, *scaler);
  }
  if (clip)
    arguments.clip_factor = *clip;
  // One thread computes the powers, in double, for all threads.
  __shared__ AdamCorrections corrections;
  if constexpr (States == 2) {
    if (threadIdx.x == 0)
      corrections = adam_corrections(arguments);
    __syncthreads();
  }
  const Update<States> update{arguments, States == 2 ? corrections : AdamCorrections{}, views};
  const std::size_t packs = views.elements / Width;
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * each_threads;
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * each_threads + threadIdx.x;
  for (std::size_t i = first; i < packs; i += stride)
    update.template run<Width>(i * Width);
  for (std::size_t i = packs * Width + first; i < views.elements; i += stride)
    update.template run<1>(i);
}

template <int States, int Width>
void launch_update(cudaStream_t stream, const OptimizerArguments& arguments,
                   const OptimizerViews& views, const float* clip, const LossScaleState* scaler,
                   const UpdateGate& gate) {
  constexpr auto kernel = optimizer_kernel<States, Width>;
  kernel<<<grid_for<kernel>((views.elements + Width - 1) / Width), each_threads, 0, stream>>>(
      arguments, views, clip, scaler, gate);
}

template <int States>
void launch(cudaStream_t stream, const OptimizerArguments& arguments, const OptimizerViews& views,
            const float* clip, const LossScaleState* scaler, const UpdateGate& gate) {
  const auto* const state0 = States >= 1 ? views.state0 : nullptr;
  const auto* const state1 = States == 2 ? views.state1 : nullptr;
  if (aligned_for_packs(views.parameters, views.gradients, state0, state1, views.copies))
    launch_update<States, 4>(stream, arguments, views, clip, scaler, gate);
  else
    launch_update<States, 1>(stream, arguments, views, clip, scaler, gate);
}

} // namespace

void launch_optimizer_step(cudaStream_t stream, const OptimizerArguments& arguments,
                           const OptimizerViews& views, const float* clip,
                           const LossScaleState* scaler, const UpdateGate& gate) {
  if (views.elements == 0)
    return;
  switch (arguments.state_slots()) {
  case 0:
    return launch<0>(stream, arguments, views, clip, scaler, gate);
  case 1:
    return launch<1>(stream, arguments, views, clip, scaler, gate);
  default:
    return launch<2>(stream, arguments, views, clip, scaler, gate);
  }
}

} // namespace troupe::gpu
