// A substitute for NVML's library. Every GPU is 50 % busy, draws 300 W, has 65 degrees, runs at
// 1980 and 2619 MHz and uses 20 of 80 GB; the GPU named GPU-reticent reports only its memory.
#include <cstring>

struct Gpu {
  bool tells_all;
};

namespace {
Gpu whole{true}, reticent{false};
constexpr int not_found = 6, not_supported = 3;
} // namespace

extern "C" {

int nvmlInit_v2() {
  return 0;
}
int nvmlShutdown() {
  return 0;
}
int nvmlDeviceGetHandleByUUID(const char* id, Gpu** gpu) {
  *gpu = std::strcmp(id, "GPU-reticent") == 0 ? &reticent : &whole;
  return std::strncmp(id, "GPU-", 4) == 0 ? 0 : not_found;
}
int nvmlDeviceGetUtilizationRates(Gpu* gpu, unsigned* percent) {
  percent[0] = 50;
  percent[1] = 10;
  return gpu->tells_all ? 0 : not_supported;
}
int nvmlDeviceGetPowerUsage(Gpu* gpu, unsigned* milliwatts) {
  *milliwatts = 300'000;
  return gpu->tells_all ? 0 : not_supported;
}
int nvmlDeviceGetTemperature(Gpu* gpu, int sensor, unsigned* celsius) {
  *celsius = 65;
  return gpu->tells_all && sensor == 0 ? 0 : not_supported;
}
int nvmlDeviceGetClockInfo(Gpu* gpu, int type, unsigned* megahertz) {
  *megahertz = type == 1 ? 1980 : 2619;
  return gpu->tells_all && (type == 1 || type == 2) ? 0 : not_supported;
}
int nvmlDeviceGetMemoryInfo(Gpu*, unsigned long long* total_free_used) {
  total_free_used[0] = 80'000'000'000;
  total_free_used[1] = 60'000'000'000;
  total_free_used[2] = 20'000'000'000;
  return 0;
}
}
