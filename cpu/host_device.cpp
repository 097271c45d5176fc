#include "cpu/host_device.hpp"

#include "core/cores.hpp"
#include "core/device/memory_advice.hpp"
#include "core/fail.hpp"
#include "cpu/engines.hpp"
#include "cpu/kernels/kernels.hpp"
#include "cpu/parallel.hpp"
#include "cpu/processor.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <numeric>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace troupe::cpu {

namespace {

static_assert(elementwise_grain % quantized_block == 0);

/// Enqueues work(begin, end) for ranges of the elements, on all threads of the stream.
template <class Work>
void enqueue_for(Stream& stream, std::size_t elements, Work work,
                 std::size_t grain = elementwise_grain) {
  host_stream(stream).enqueue([=]() -> Status {
    parallel_for(elements, grain, work);
    return {};
  });
}

constexpr std::size_t alignment = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20;

std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

tl::unexpected<Error> no_room(std::size_t bytes, MemoryKind kind) {
  return fail(Errc::out_of_memory, "the host cannot allocate {} of {}; try {}",
              describe_bytes(bytes), to_string(kind), settings_that_help(kind));
}

std::byte* first_huge_page(void* mapping) {
  const auto address = reinterpret_cast<std::uintptr_t>(mapping);
  return static_cast<std::byte*>(mapping) + (round_up(address, huge_page) - address);
}

/// Allocates zeroed, 64-byte aligned memory; large buffers use huge pages if the system has them.
Result<BufferPtr> allocate_host(std::size_t bytes, MemoryKind kind,
                                std::shared_ptr<MemoryAccount> account) {
  if (bytes < 2 * huge_page) {
    const auto rounded = round_up(std::max<std::size_t>(bytes, 1), alignment);
    void* const memory = std::aligned_alloc(alignment, rounded);
    if (!memory)
      return no_room(bytes, kind);
    std::memset(memory, 0, rounded);
    return std::make_shared<CountedBuffer>(memory, bytes, kind, std::move(account),
                                           [memory] { std::free(memory); });
  }
  // Whole huge pages, so that a step's big arena costs few page faults and few TLB misses.
  const auto mapped = round_up(bytes, huge_page) + huge_page;
  if (mapped < bytes)
    return no_room(bytes, kind);
  void* const mapping =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED)
    return no_room(bytes, kind);
  madvise(mapping, mapped, MADV_HUGEPAGE);
  return std::make_shared<CountedBuffer>(first_huge_page(mapping), bytes, kind, std::move(account),
                                         [mapping, mapped] { munmap(mapping, mapped); });
}

} // namespace

HostDevice::HostDevice(int index, int threads, Backing backing) : backing_{backing} {
  info_.index = index;
  info_.name = fmt::format("host:{} ({} thread{}, {})", index, threads, threads == 1 ? "" : "s",
                           isa_name(processor()));
  info_.pinned = true; // its own memory, counted separately
  info_.memory_bytes = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
                       static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE));
}

Result<BufferPtr> HostDevice::allocate(std::size_t bytes, MemoryKind kind) {
  if (backing_ == Backing::memory)
    return allocate_host(bytes, kind, account_);
  // An address in the first page, which is never mapped, so that access faults. Offsets of null
  // would be undefined.
  auto* const nowhere = reinterpret_cast<std::byte*>(std::uintptr_t{alignment});
  return std::make_shared<CountedBuffer>(nowhere, bytes, kind, account_);
}

std::unique_ptr<Stream> HostDevice::create_stream(const StreamOptions& options) {
  return std::make_unique<HostStream>(options);
}

Result<std::unique_ptr<Executable>> HostDevice::compile(const Graph& graph,
                                                        const CompileOptions& options) {
  return options.engine == Engine::interpreter ? compile_interpreter(*this, graph, options)
                                               : compile_onednn(*this, graph, options);
}

void HostDevice::copy(Stream& stream, void* destination, const void* source, std::size_t bytes) {
  const auto work = [=](std::size_t begin, std::size_t end) {
    std::memcpy(static_cast<std::byte*>(destination) + begin,
                static_cast<const std::byte*>(source) + begin, end - begin);
  };
  enqueue_for(stream, bytes, work, elementwise_grain * sizeof(float));
}

void HostDevice::zero(Stream& stream, void* destination, std::size_t bytes) {
  const auto work = [=](std::size_t begin, std::size_t end) {
    std::memset(static_cast<std::byte*>(destination) + begin, 0, end - begin);
  };
  enqueue_for(stream, bytes, work, elementwise_grain * sizeof(float));
}

void HostDevice::add(Stream& stream, float* destination, const float* source,
                     std::size_t elements) {
  enqueue_for(stream, elements, [=](std::size_t begin, std::size_t end) {
    kernels().add(destination + begin, source + begin, end - begin);
  });
}

void HostDevice::add_product(Stream& stream, float* sum, const float* a, const float* b,
                             std::size_t elements) {
  enqueue_for(stream, elements, [=](std::size_t begin, std::size_t end) {
    kernels().add_product(sum + begin, a + begin, b + begin, end - begin);
  });
}

void HostDevice::scale(Stream& stream, float* values, float factor, std::size_t elements) {
  enqueue_for(stream, elements, [=](std::size_t begin, std::size_t end) {
    kernels().scale(values + begin, factor, end - begin);
  });
}

void HostDevice::round(Stream& stream, float* values, DType type, std::size_t elements) {
  if (type == DType::f32)
    return;
  with_element(type, [&]<class T>(T) {
    enqueue_for(stream, elements, [=](std::size_t begin, std::size_t end) {
      kernels().of<T>().round(values + begin, end - begin);
    });
  });
}

void HostDevice::narrow(Stream& stream, const float* source, void* destination, DType type,
                        std::size_t elements) {
  with_element(type, [&]<class T>(T) {
    enqueue_for(stream, elements, [=](std::size_t begin, std::size_t end) {
      kernels().of<T>().narrow(source + begin, static_cast<T*>(destination) + begin, end - begin);
    });
  });
}

void HostDevice::widen(Stream& stream, const void* source, DType type, float* destination,
                       std::size_t elements) {
  with_element(type, [&]<class T>(T) {
    enqueue_for(stream, elements, [=](std::size_t begin, std::size_t end) {
      kernels().of<T>().widen(static_cast<const T*>(source) + begin, destination + begin,
                              end - begin);
    });
  });
}

void HostDevice::quantize(Stream& stream, const float* source, void* destination,
                          QuantizedType type, std::size_t elements) {
  auto* const scales = static_cast<float*>(destination);
  auto* const codes = reinterpret_cast<std::uint8_t*>(scales + quantized_blocks(elements));
  enqueue_for(stream, elements, [=](std::size_t begin, std::size_t end) {
    const auto block = begin / quantized_block;
    kernels().quantize(type, source + begin, scales + block,
                       codes + block * quantized_code_bytes(type), end - begin);
  });
}

void HostDevice::dequantize(Stream& stream, const void* source, QuantizedType type,
                            float* destination, std::size_t elements) {
  const auto* const scales = static_cast<const float*>(source);
  const auto* const codes =
      reinterpret_cast<const std::uint8_t*>(scales + quantized_blocks(elements));
  enqueue_for(stream, elements, [=](std::size_t begin, std::size_t end) {
    const auto block = begin / quantized_block;
    kernels().dequantize(type, scales + block, codes + block * quantized_code_bytes(type),
                         destination + begin, end - begin);
  });
}

void HostDevice::add_squared_norm(Stream& stream, const OptimizerArguments& arguments,
                                  const float* gradients, std::size_t elements, double* result,
                                  const LossScaleState* scaler) {
  host_stream(stream).enqueue([=]() -> Status {
    const auto taken = scaler ? unscaled(arguments, *scaler) : arguments;
    // One sum a grain, added in order: the result does not depend on the number of threads.
    std::vector<double> sums((elements + elementwise_grain - 1) / elementwise_grain);
    parallel_for(elements, elementwise_grain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t at = begin; at < end; at += elementwise_grain)
        sums[at / elementwise_grain] =
            kernels().squared_norm(taken, gradients + at, std::min(elementwise_grain, end - at));
    });
    *result += std::accumulate(sums.begin(), sums.end(), 0.0);
    return {};
  });
}

void HostDevice::clip_factor(Stream& stream, const double* squared_norm, float max_norm,
                             float* factor) {
  host_stream(stream).enqueue([=]() -> Status {
    *factor = troupe::clip_factor(*squared_norm, max_norm);
    return {};
  });
}

void HostDevice::optimizer_step(Stream& stream, const OptimizerArguments& arguments,
                                const OptimizerViews& views, const float* clip,
                                const LossScaleState* scaler) {
  host_stream(stream).enqueue([=]() -> Status {
    if (scaler && scaler->found_inf != 0.0f)
      return {};
    auto taken = scaler ? unscaled(arguments, *scaler) : arguments;
    if (clip)
      taken.clip_factor = *clip;
    parallel_for(views.elements, elementwise_grain, [&](std::size_t begin, std::size_t end) {
      kernels().optimizer_step(taken, {views.parameters + begin, views.gradients + begin,
                                       views.state0 ? views.state0 + begin : nullptr,
                                       views.state1 ? views.state1 + begin : nullptr, end - begin});
      if (views.copies)
        with_element(views.copied, [&]<class T>(T) {
          kernels().of<T>().narrow(views.parameters + begin,
                                   reinterpret_cast<T*>(views.copies) + begin, end - begin);
        });
    });
    return {};
  });
}

void HostDevice::check_finite(Stream& stream, const float* values, std::size_t elements,
                              float* found_inf) {
  host_stream(stream).enqueue([=]() -> Status {
    std::atomic<bool> finite = true;
    parallel_for(elements, elementwise_grain, [&](std::size_t begin, std::size_t end) {
      if (!kernels().all_finite(values + begin, end - begin))
        finite = false;
    });
    if (!finite)
      *found_inf = 1.0f;
    return {};
  });
}

void HostDevice::update_loss_scale(Stream& stream, const LossScaleOptions& options,
                                   LossScaleState* state) {
  host_stream(stream).enqueue([=]() -> Status {
    troupe::update_loss_scale(options, *state);
    return {};
  });
}

void HostDevice::count_update(Stream& stream, std::int64_t* steps) {
  host_stream(stream).enqueue([=]() -> Status {
    ++*steps;
    return {};
  });
}

void HostDevice::gate_updates(Stream& stream, const float* votes, float needed) {
  host_stream(stream).enqueue([=]() -> Status {
    if (*votes != needed)
      return fail(Errc::collective, "only {} of {} ranks are prepared to commit the step", *votes,
                  needed);
    return {};
  });
}

std::unique_ptr<HostDevice> make_host_device(int index, int threads, Backing backing) {
  return std::make_unique<HostDevice>(index, threads < 1 ? usable_cores().count() : threads,
                                      backing);
}

} // namespace troupe::cpu
