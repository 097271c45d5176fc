#include "tests/emulation/cudnn/arguments.hpp"

#include "tests/emulation/runtime/memory.hpp"

#include <algorithm>
#include <cstring>

namespace emulation::cudnn {

namespace {

std::string named(Uid uid) {
  return "tensor " + std::to_string(uid);
}

struct Bytes {
  std::uintptr_t first, end;
};

/// Returns the memory of every run of a tensor, in the order of addresses.
std::vector<Bytes> bytes_of(const Tensor& tensor, void* memory) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  std::vector<Bytes> all;
  for (const auto& run : runs_of(tensor.dims, tensor.strides))
    all.push_back(
        {begin + static_cast<std::uintptr_t>(run.first) * size_of(tensor.type),
         begin + static_cast<std::uintptr_t>(run.first + run.count) * size_of(tensor.type)});
  std::ranges::sort(all, {}, &Bytes::first);
  return all;
}

bool share_memory(const Tensor& a, void* a_memory, const Tensor& b, void* b_memory) {
  const auto a_first = reinterpret_cast<std::uintptr_t>(a_memory),
             b_first = reinterpret_cast<std::uintptr_t>(b_memory);
  if (a_first + a.span_bytes() <= b_first || b_first + b.span_bytes() <= a_first)
    return false;
  const auto a_bytes = bytes_of(a, a_memory), b_bytes = bytes_of(b, b_memory);
  auto next = b_bytes.begin();
  for (const auto& [first, end] : a_bytes) {
    while (next != b_bytes.end() && next->end <= first)
      ++next;
    if (next != b_bytes.end() && next->first < end)
      return true;
  }
  return false;
}

bool is_valid(const Tensor& tensor, const void* memory) {
  return reinterpret_cast<std::uintptr_t>(memory) % static_cast<std::uintptr_t>(tensor.alignment) ==
             0 &&
         Memory::instance().covers(memory, tensor.span_bytes());
}

float number_at(const void* memory, Type type) {
  if (type != Type::i32)
    return load(memory, 1, type).front();
  std::int32_t number = 0;
  std::memcpy(&number, memory, sizeof(number));
  return static_cast<float>(number);
}

/// Returns a reason; empty when no output shares memory with another tensor.
std::string sharing(const Graph& graph, const std::map<Uid, void*>& memory) {
  for (const auto output : graph.written())
    for (const auto& [uid, at] : memory)
      if (uid != output && memory.contains(output) &&
          share_memory(graph.tensors.at(uid), at, graph.tensors.at(output), memory.at(output)))
        return named(output) + " is written over " + named(uid);
  return "";
}

} // namespace

std::optional<Arguments> arguments_of(const Descriptor& pack, const Graph& graph) {
  const auto uids = pack.find(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS)->as<Uid>();
  const auto data = pack.find(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS)->as<void*>();
  std::map<Uid, void*> pointers;
  for (std::size_t i = 0; i < std::min(uids.size(), data.size()); ++i)
    pointers[uids[i]] = data[i];
  Arguments arguments;
  for (const auto& [uid, tensor] : graph.tensors) {
    auto* const at = pointers[uid];
    if (tensor.is_by_value ? !at : tensor.has_memory() && !is_valid(tensor, at)) {
      refuse(CUDNN_STATUS_BAD_PARAM, "the memory of " + named(uid));
      return std::nullopt;
    }
    if (tensor.is_by_value)
      arguments.numbers[uid] = number_at(at, tensor.type);
    else if (tensor.has_memory())
      arguments.memory[uid] = at;
  }
  if (auto reason = sharing(graph, arguments.memory); !reason.empty()) {
    refuse(CUDNN_STATUS_BAD_PARAM, std::move(reason));
    return std::nullopt;
  }
  return arguments;
}

bool has_tensor_in(const Graph& graph, const Arguments& arguments, const void* begin,
                   std::size_t bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  return std::ranges::any_of(arguments.memory, [&](const auto& entry) {
    const auto at = reinterpret_cast<std::uintptr_t>(entry.second);
    return at < first + bytes && first < at + graph.tensors.at(entry.first).span_bytes();
  });
}

} // namespace emulation::cudnn
