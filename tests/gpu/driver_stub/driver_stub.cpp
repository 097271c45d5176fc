// A libcuda.so.1 without a device, for machines without a driver: cuDNN proposes engines that are
// compiled at run time only where a driver can be loaded. Every function answers as the toolkit's
// stub does.
#include <cuda.h>

extern "C" {

CUresult cuInit(unsigned) {
  return CUDA_ERROR_STUB_LIBRARY;
}

CUresult cuDriverGetVersion(int* version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}

static CUresult unavailable() {
  return CUDA_ERROR_STUB_LIBRARY;
}

#undef cuGetProcAddress
CUresult cuGetProcAddress_v2(const char*, void** function, int, cuuint64_t,
                             CUdriverProcAddressQueryResult* found) {
  *function = reinterpret_cast<void*>(&unavailable);
  if (found != nullptr)
    *found = CU_GET_PROC_ADDRESS_SUCCESS;
  return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags) {
  return cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}
}
