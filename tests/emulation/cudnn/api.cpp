// Emulates libcudnn's backend API as gpu/libraries.hpp requests it.
#include "tests/emulation/cudnn/arguments.hpp"
#include "tests/emulation/cudnn/compute.hpp"
#include "tests/emulation/cudnn/descriptor.hpp"
#include "tests/emulation/runtime/loading.hpp"
#include "tests/emulation/runtime/memory.hpp"
#include "tests/emulation/runtime/stream.hpp"

#include <algorithm>
#include <cstring>

using namespace emulation;
using namespace emulation::cudnn;

struct cudnnContext {
  int device;
  cudaStream_t stream = nullptr;
};

namespace {

/// Returns as many values as fit.
template <class T>
cudnnStatus_t give(const std::vector<T>& values, std::int64_t room, std::int64_t* count, void* to) {
  const auto given = std::min(room, static_cast<std::int64_t>(values.size()));
  if (to)
    std::memcpy(to, values.data(), static_cast<std::size_t>(given) * sizeof(T));
  *count = to ? given : static_cast<std::int64_t>(values.size());
  return CUDNN_STATUS_SUCCESS;
}

/// Copies into descriptors that the caller created.
cudnnStatus_t give(const std::vector<Descriptor>& values, std::int64_t room, std::int64_t* count,
                   void* to) {
  const auto given = std::min(room, static_cast<std::int64_t>(values.size()));
  for (std::int64_t i = 0; to && i < given; ++i) {
    auto& target = *held(static_cast<cudnnBackendDescriptor_t*>(to)[i]).descriptor;
    if (target.type != values[static_cast<std::size_t>(i)].type)
      return refuse(CUDNN_STATUS_BAD_PARAM, "a descriptor of another type");
    target = values[static_cast<std::size_t>(i)];
  }
  *count = to ? given : static_cast<std::int64_t>(values.size());
  return CUDNN_STATUS_SUCCESS;
}

std::vector<Descriptor> configurations(const Descriptor& heuristics) {
  const auto& graph = heuristics.find(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)->descriptors[0]->graph;
  const auto mode =
      heuristics.find(CUDNN_ATTR_ENGINEHEUR_MODE)->as<cudnnBackendHeurMode_t>().front();
  std::vector<Descriptor> all;
  for (const auto index : propose(*graph, mode))
    all.push_back({CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, true, {}, graph, engine_at(index, *graph)});
  return all;
}

std::vector<char> text_of(const Descriptor& plan) {
  const auto text = to_text(*plan.graph, plan.engine.index);
  return {text.c_str(), text.c_str() + text.size() + 1}; // includes the terminating zero
}

cudnnStatus_t finalize_plan(Descriptor& plan) {
  if (const auto* const configuration = plan.find(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)) {
    plan.graph = configuration->descriptors[0]->graph;
    plan.engine = configuration->descriptors[0]->engine;
    return CUDNN_STATUS_SUCCESS;
  }
  const auto* const json = plan.find(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
  Graph graph;
  std::int64_t index = 0;
  if (!json || !from_text(json->as<char>().data(), graph, index))
    return refuse(CUDNN_STATUS_BAD_PARAM, "a plan of no engine and no text");
  plan.engine = engine_at(index, graph);
  plan.graph = std::make_shared<const Graph>(std::move(graph));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t execute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan_handle,
                      cudnnBackendDescriptor_t pack_handle) {
  const auto &plan = *held(plan_handle).descriptor, &pack = *held(pack_handle).descriptor;
  if (!has_context()) // launches through the driver API need a context
    return refuse(CUDNN_STATUS_EXECUTION_FAILED, "CUDA_ERROR_INVALID_CONTEXT");
  if (!plan.finalized || !pack.finalized || handle->device != current_device())
    return refuse(CUDNN_STATUS_BAD_PARAM, "a plan, or a device, that is not ready");
  if (!plan.engine.launches)
    return refuse(CUDNN_STATUS_EXECUTION_FAILED, "the engine's kernel");
  auto arguments = arguments_of(pack, *plan.graph);
  auto* const workspace = pack.find(CUDNN_ATTR_VARIANT_PACK_WORKSPACE)->as<void*>().front();
  const auto bytes = static_cast<std::size_t>(plan.engine.workspace_bytes);
  if (bytes > 0 && !Memory::instance().covers(workspace, bytes))
    return refuse(CUDNN_STATUS_BAD_PARAM, "the workspace");
  if (!arguments)
    return CUDNN_STATUS_BAD_PARAM;
  if (bytes > 0 && has_tensor_in(*plan.graph, *arguments, workspace, bytes))
    return refuse(CUDNN_STATUS_BAD_PARAM, "a tensor in the workspace");
  load(handle->device, &plan, "a plan of cuDNN");
  const auto code =
      enqueue_operation(handle->stream, [graph = plan.graph, arguments = std::move(*arguments),
                                         tf32 = plan.engine.tf32, workspace, bytes] {
        if (bytes > 0)
          std::memset(workspace, 0xff, bytes);
        compute(*graph, arguments, tf32);
      });
  return code == cudaSuccess ? CUDNN_STATUS_SUCCESS
                             : refuse(CUDNN_STATUS_EXECUTION_FAILED, cudaGetErrorString(code));
}

} // namespace

extern "C" {

std::size_t cudnnGetVersion() {
  return CUDNN_VERSION;
}

const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
  case CUDNN_STATUS_SUCCESS:
    return "CUDNN_STATUS_SUCCESS";
  case CUDNN_STATUS_BAD_PARAM:
    return "CUDNN_STATUS_BAD_PARAM";
  case CUDNN_STATUS_NOT_SUPPORTED:
    return "CUDNN_STATUS_NOT_SUPPORTED";
  default:
    return "CUDNN_STATUS_EXECUTION_FAILED";
  }
}

void cudnnGetLastErrorString(char* message, std::size_t room) {
  std::strncpy(message, last_reason().c_str(), room);
  message[room - 1] = '\0';
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  *handle = new cudnnContext{current_device()};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  const auto* const of = stream_of(stream);
  if (!of || of->device != handle->device)
    return refuse(CUDNN_STATUS_BAD_PARAM, "a stream of another device");
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* descriptor) {
  auto made = std::make_shared<Descriptor>();
  made->type = type;
  *descriptor = new Held{std::move(made)};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  delete &held(descriptor);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, std::int64_t count,
                                       const void* values) {
  return set(*held(descriptor).descriptor, name, type, count, values);
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, std::int64_t room,
                                       std::int64_t* count, void* to) {
  const auto& from = *held(descriptor).descriptor;
  if (!from.finalized)
    return refuse(CUDNN_STATUS_BAD_PARAM, "the descriptor is not finalized");
  switch (name) {
  case CUDNN_ATTR_ENGINEHEUR_RESULTS:
    return give(configurations(from), room, count, to);
  case CUDNN_ATTR_ENGINECFG_ENGINE:
    return give(
        std::vector<Descriptor>{
            {CUDNN_BACKEND_ENGINE_DESCRIPTOR, true, {}, from.graph, from.engine}},
        room, count, to);
  case CUDNN_ATTR_ENGINECFG_KNOB_CHOICES:
    return give(std::vector<Descriptor>{}, room, count, to);
  case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
    return give(std::vector<std::int64_t>{from.engine.index}, room, count, to);
  case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
    return give(from.engine.notes, room, count, to);
  case CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE:
    return give(from.engine.compiled ? std::vector{CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION}
                                     : std::vector<cudnnBackendBehaviorNote_t>{},
                room, count, to);
  case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
    return give(std::vector<std::int64_t>{from.engine.workspace_bytes}, room, count, to);
  case CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION:
    return give(text_of(from), room, count, to);
  default:
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "attribute " + std::to_string(name));
  }
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t handle) {
  auto& descriptor = *held(handle).descriptor;
  auto status = check_complete(descriptor);
  if (status == CUDNN_STATUS_SUCCESS && descriptor.type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)
    status = finalize_graph(descriptor);
  if (status == CUDNN_STATUS_SUCCESS && descriptor.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
    status = finalize_plan(descriptor);
  descriptor.finalized = status == CUDNN_STATUS_SUCCESS;
  return status;
}

/// Leaves a runtime error after a refusal, as a launch does.
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  const auto status = execute(handle, plan, pack);
  if (status != CUDNN_STATUS_SUCCESS)
    remember(cudaErrorInvalidConfiguration);
  return status;
}
}
