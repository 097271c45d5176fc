#include "gpu/cublas/matmul_plan_registry.hpp"

#include "core/fail.hpp"
#include "gpu/alignment.hpp"
#include "gpu/cuda_error.hpp"
#include "gpu/detail/cache_entry.hpp"
#include "gpu/detail/measure.hpp"
#include "gpu/device_guard.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <chrono>
#include <numeric>

namespace troupe::gpu {

namespace {

using Clock = std::chrono::steady_clock;

/// The same number as for cuDNN's plans: the library orders algorithms by expected time, and is
/// seldom wrong by more than a few places.
constexpr int measured_candidates = 8;

Result<std::string> name_of(int device, const CublasLtLibrary& library) {
  cudaDeviceProp properties = {};
  int driver = 0;
  TROUPE_TRY(
      cuda_status(cudaGetDeviceProperties(&properties, device), "querying the properties", device));
  TROUPE_TRY(cuda_status(cudaDriverGetVersion(&driver), "querying the driver version", device));
  return fmt::format("{}, sm_{}{}, driver {}, cuBLASLt {}", properties.name, properties.major,
                     properties.minor, driver, library.version());
}

/// Bytes of the operands, in the order of MatmulMemory without the workspace.
std::array<std::size_t, 5> operand_bytes(const MatmulOptions& o) {
  const auto of = [](std::int64_t elements, DType type) {
    return aligned(static_cast<std::size_t>(elements) * size_of(type));
  };
  const auto x = o.rows * o.in, y = o.rows * o.out, weight = o.out * o.in;
  const bool forward = o.product == Product::forward,
             of_weight = o.product == Product::backward_weight;
  const auto result = of(forward ? y : of_weight ? weight : x, o.result);
  return {of(forward ? x : y, o.operands), of(of_weight ? x : weight, o.operands), result,
          of(o.bias ? o.out : 0, o.result), o.gelu ? result : 0};
}

constexpr std::size_t digits = 16; ///< per word

std::string to_text(const cublasLtMatmulAlgo_t& algorithm) {
  std::string text;
  for (const auto word : algorithm.data)
    text += fmt::format("{:0{}x}", word, digits);
  return text;
}

/// Inverse of to_text().
cublasLtMatmulAlgo_t from_text(const std::string& text) {
  cublasLtMatmulAlgo_t algorithm = {};
  const auto* at = text.data();
  for (auto& word : algorithm.data) {
    std::from_chars(at, at + digits, word, 16);
    at += digits;
  }
  return algorithm;
}

} // namespace

Result<std::unique_ptr<MatmulPlanRegistry>>
MatmulPlanRegistry::open(CudaDevice& device, MatmulPlanRegistryOptions options) {
  TROUPE_TRY(const auto library, open_cublas_lt(library_places_of_process()));
  TROUPE_TRY(auto handle, CublasLt::create(library, device.info().index));
  TROUPE_TRY(auto name, name_of(device.info().index, library));
  return std::unique_ptr<MatmulPlanRegistry>{
      new MatmulPlanRegistry{device, std::move(handle), std::move(options), std::move(name)}};
}

Result<ChosenMatmul> MatmulPlanRegistry::product(const MatmulOptions& options, bool deterministic) {
  auto key = fmt::format("{} {} {}", deterministic, options.workspace_bytes, to_string(options));
  if (const auto found = chosen_.find(key); found != chosen_.end())
    return found->second;
  TROUPE_TRY(auto chosen, choose(options, deterministic));
  return chosen_.emplace(std::move(key), std::move(chosen)).first->second;
}

Result<ChosenMatmul> MatmulPlanRegistry::choose(const MatmulOptions& options, bool deterministic) {
  const DeviceGuard guard{device_.info().index};
  if (deterministic)
    return first(options);
  if (auto found = known(options))
    return found;
  return measured(options);
}

Result<ChosenMatmul> MatmulPlanRegistry::first(const MatmulOptions& options) const {
  TROUPE_TRY(auto candidates, Matmul::candidates(handle_, options, 1));
  auto& only = candidates.front();
  say(fmt::format("plan of {}: {}, not measured", to_string(options), only.tag()));
  return ChosenMatmul{std::move(only)};
}

Result<ChosenMatmul> MatmulPlanRegistry::known(const MatmulOptions& options) const {
  const auto entry = read_entry(options_.cache, key_of(options));
  const auto text = value_of(entry, "algorithm"), time = value_of(entry, "microseconds");
  if (!text.is_string() || !time.is_number() ||
      value_of(entry, "sha256") != digest(text.get<std::string>()))
    return fail(Errc::unsupported, "a {} has not been measured yet", to_string(options));
  TROUPE_TRY(auto matmul, Matmul::with(handle_, options, from_text(text.get<std::string>())));
  return ChosenMatmul{std::move(matmul), time.get<double>()};
}

Status MatmulPlanRegistry::store(const MatmulOptions& options, const ChosenMatmul& chosen) const {
  const auto text = to_text(chosen.matmul.algorithm());
  return write_entry(options_.cache, key_of(options),
                     {{"name", to_string(options)},
                      {"microseconds", chosen.microseconds},
                      {"sha256", digest(text)},
                      {"algorithm", text}});
}

std::string MatmulPlanRegistry::key_of(const MatmulOptions& options) const {
  return fmt::format("{} | {}, workspace {}", name_, to_string(options), options.workspace_bytes);
}

/// Measures on a temporary stream: a stream that stayed would occupy one of the device's hardware
/// queues, which streams that wait for the host need. The stream is destroyed before its operands
/// are freed, because a candidate that failed half-way may still write to them.
Result<ChosenMatmul> MatmulPlanRegistry::measured(const MatmulOptions& options) const {
  const auto start = Clock::now();
  TROUPE_TRY(auto candidates, Matmul::candidates(handle_, options, measured_candidates));
  const auto sizes = operand_bytes(options);
  const auto bytes = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
  TROUPE_TRY(const auto memory,
             device_.allocate(bytes + options.workspace_bytes, MemoryKind::workspace));
  const auto at = [&](std::size_t operand) {
    return std::accumulate(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(operand),
                           memory->data());
  };
  const MatmulMemory on{at(0), at(1), at(2), at(sizes.size()), at(3), at(4)};
  const auto stream = device_.create_stream({.name = "measure"});
  const auto raw = cuda_stream(*stream).handle();
  TROUPE_TRY(wake_up(raw, at(0), bytes));
  TROUPE_TRY(fill_with_random_halves(device_, *stream, at(0), bytes));
  std::vector<Result<double>> times;
  times.reserve(candidates.size());
  for (const auto& matmul : candidates)
    times.push_back(least_microseconds(raw, [&] { return matmul.run(raw, on); }));
  TROUPE_TRY(const auto best, fastest(times));
  ChosenMatmul chosen{std::move(candidates[best]), *times[best]};
  const auto kept = store(options, chosen);
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  say(fmt::format("plan of {}: {}, {:.1f} us ({:.1f} s, {} candidates){}", to_string(options),
                  chosen.matmul.tag(), chosen.microseconds, seconds, candidates.size(),
                  kept ? "" : fmt::format("; not cached: {}", kept.error().message)));
  return chosen;
}

void MatmulPlanRegistry::say(const std::string& line) const {
  if (options_.say)
    options_.say(line);
}

} // namespace troupe::gpu
