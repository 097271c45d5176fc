#include "metrics/machine/nvml.hpp"

#include "core/fail.hpp"

#include <optional>

#include <dlfcn.h>

namespace troupe::metrics {

namespace {

// Values of NVML's enumerations.
constexpr int nvml_success = 0, temperature_of_gpu = 0, clock_of_sm = 1, clock_of_memory = 2;

} // namespace

/// NVML's functions, each of which returns 0 or an error code. The structs have NVML's layout. They
/// are nested because GCC 14.2 fails with an internal error on types of an unnamed namespace here.
struct Nvml::Functions {
  struct Utilization {
    unsigned gpu, memory; ///< percent
  };
  struct Memory {
    unsigned long long total, free, used;
  };

  int (*init)();
  int (*shutdown)();
  int (*find)(const char* uuid, Device**);
  int (*utilization)(Device*, Utilization*);
  int (*power)(Device*, unsigned* milliwatts);
  int (*temperature)(Device*, int sensor, unsigned* celsius);
  int (*clock)(Device*, int type, unsigned* megahertz);
  int (*memory)(Device*, Memory*);
};

namespace {

/// Returns false if the library lacks the function.
template <class Function>
bool load_function(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

/// Returns the value of a call in base units; empty if the GPU does not report it.
template <class Call>
std::optional<double> ask(double unit, const Call& call) {
  unsigned value = 0;
  return call(&value) == nvml_success ? std::optional{unit * value} : std::nullopt;
}

} // namespace

/// Never closes the library: NVIDIA's libraries register handlers that do not survive it.
Result<std::unique_ptr<Nvml>> Nvml::open(const std::string& name) {
  void* const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return fail(Errc::unsupported, "{} cannot be opened: {}", name, ::dlerror());
  auto f = std::make_unique<Functions>();
  const bool whole = load_function(library, "nvmlInit_v2", f->init) &&
                     load_function(library, "nvmlShutdown", f->shutdown) &&
                     load_function(library, "nvmlDeviceGetHandleByUUID", f->find) &&
                     load_function(library, "nvmlDeviceGetUtilizationRates", f->utilization) &&
                     load_function(library, "nvmlDeviceGetPowerUsage", f->power) &&
                     load_function(library, "nvmlDeviceGetTemperature", f->temperature) &&
                     load_function(library, "nvmlDeviceGetClockInfo", f->clock) &&
                     load_function(library, "nvmlDeviceGetMemoryInfo", f->memory);
  if (!whole)
    return fail(Errc::unsupported, "{} lacks a function: another version is needed", name);
  if (const int code = f->init(); code != nvml_success)
    return fail(Errc::unsupported, "{} does not start: error {}", name, code);
  return std::unique_ptr<Nvml>{new Nvml{std::move(f)}};
}

Nvml::Nvml(std::unique_ptr<Functions> functions) : functions_{std::move(functions)} {}

Nvml::~Nvml() {
  functions_->shutdown();
}

/// Returns null if the driver knows no GPU of this id.
Nvml::Device* Nvml::find(const std::string& gpu) {
  const auto [at, is_new] = devices_.try_emplace(gpu, nullptr);
  if (is_new && functions_->find(gpu.c_str(), &at->second) != nvml_success)
    at->second = nullptr;
  return at->second;
}

GpuSample Nvml::sample(const std::string& gpu) {
  GpuSample sample{.gpu = gpu};
  auto* const device = find(gpu);
  if (device == nullptr)
    return sample;
  const auto& f = *functions_;
  if (Functions::Utilization use{}; f.utilization(device, &use) == nvml_success)
    sample.busy_ratio = 0.01 * use.gpu;
  sample.power_watts = ask(1e-3, [&](unsigned* to) { return f.power(device, to); });
  sample.temperature_celsius =
      ask(1, [&](unsigned* to) { return f.temperature(device, temperature_of_gpu, to); });
  const auto clock = [&](int type) {
    return ask(1e6, [&](unsigned* to) { return f.clock(device, type, to); });
  };
  sample.sm_hertz = clock(clock_of_sm);
  sample.memory_hertz = clock(clock_of_memory);
  if (Functions::Memory memory{}; f.memory(device, &memory) == nvml_success) {
    sample.memory_bytes = static_cast<double>(memory.used);
    sample.memory_total_bytes = static_cast<double>(memory.total);
  }
  return sample;
}

} // namespace troupe::metrics
