#include "gpu/cudnn/plan.hpp"

#include "core/fail.hpp"
#include "gpu/alignment.hpp"

#include <algorithm>
#include <utility>

namespace troupe::gpu::cudnn {

namespace {

Result<Descriptor> engine_of(const Target& target, const Descriptor& configuration) {
  TROUPE_TRY(auto engines,
             descriptor_attribute(target.library(), configuration, CUDNN_ATTR_ENGINECFG_ENGINE,
                                  CUDNN_BACKEND_ENGINE_DESCRIPTOR));
  if (engines.size() != 1)
    return fail(Errc::device, "cuDNN: a configuration with {} engines", engines.size());
  return std::move(engines.front());
}

template <class T>
Result<T> single(const Target& target, const Descriptor& descriptor,
                 cudnnBackendAttributeName_t name) {
  TROUPE_TRY(const auto values, get_attribute<T>(target.library(), descriptor, name));
  if (values.size() != 1)
    return fail(Errc::device, "cuDNN: attribute {} has {} values", static_cast<int>(name),
                values.size());
  return values.front();
}

} // namespace

Result<NumericalNotes> numerical_notes(const Target& target, const Descriptor& configuration) {
  TROUPE_TRY(const auto engine, engine_of(target, configuration));
  return get_attribute<cudnnBackendNumericalNote_t>(target.library(), engine,
                                                    CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
}

bool compiles_at_run_time(const Target& target, const Descriptor& configuration) {
  const auto engine = engine_of(target, configuration);
  if (!engine)
    return false;
  const auto notes = get_attribute<cudnnBackendBehaviorNote_t>(target.library(), *engine,
                                                               CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE);
  return notes && std::ranges::count(*notes, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) > 0;
}

Result<std::string> describe_engine(const Target& target, const Descriptor& configuration) {
  TROUPE_TRY(const auto engine, engine_of(target, configuration));
  TROUPE_TRY(const auto index,
             single<std::int64_t>(target, engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
  TROUPE_TRY(const auto choices, descriptor_attribute(target.library(), configuration,
                                                      CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                                      CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR));
  auto text = fmt::format("eng{}", index);
  for (const auto& choice : choices) {
    TROUPE_TRY(const auto knob,
               single<cudnnBackendKnobType_t>(target, choice, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE));
    TROUPE_TRY(const auto value,
               single<std::int64_t>(target, choice, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
    text += fmt::format(" k{}={}", static_cast<int>(knob), value);
  }
  return text;
}

Result<Descriptor> variant_pack(const CudnnLibrary& library, std::span<const Binding> bindings,
                                void* workspace) {
  std::vector<Uid> uids;
  std::vector<void*> pointers;
  for (const auto& binding : bindings) {
    uids.push_back(binding.uid);
    pointers.push_back(binding.data);
  }
  return DescriptorBuilder(library, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, "pointers")
      .set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, std::span<const Uid>(uids))
      .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, std::span<void* const>(pointers))
      .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, workspace)
      .finalize();
}

Result<Plan> Plan::from_configuration(const Target& target,
                                      std::shared_ptr<const LoweredGraph> graph,
                                      Descriptor configuration) {
  TROUPE_TRY(auto tag, describe_engine(target, configuration));
  DescriptorBuilder builder(target.library(), CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, tag);
  builder.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
  target.set(builder, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
  TROUPE_TRY(auto plan, finalize(target, builder, std::move(tag)));
  plan.own_ = graph->own;
  plan.graph_ = std::move(graph);
  plan.compiled_ = compiles_at_run_time(target, configuration);
  plan.configuration_ = std::move(configuration);
  return plan;
}

Result<Plan> Plan::from_json(const Target& target, const OperationGraph& graph,
                             const std::string& json, std::string tag, bool compiled) {
  DescriptorBuilder builder(target.library(), CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR,
                            "plan from JSON");
  target.set(builder, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
  builder.set(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
              std::span<const char>(json.c_str(), json.size() + 1));
  TROUPE_TRY(auto plan, finalize(target, builder, std::move(tag)));
  plan.own_ = OwnTensors{graph};
  plan.compiled_ = compiled;
  return plan;
}

Result<Plan> Plan::finalize(const Target& target, DescriptorBuilder& builder, std::string tag) {
  Plan plan;
  TROUPE_TRY(plan.plan_, builder.finalize());
  TROUPE_TRY(const auto bytes,
             single<std::int64_t>(target, plan.plan_, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
  plan.engine_workspace_bytes_ = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 0));
  plan.tag_ = std::move(tag);
  return plan;
}

Result<std::string> Plan::json(const Target& target) const {
  TROUPE_TRY(
      const auto characters,
      get_attribute<char>(target.library(), plan_, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION));
  const std::string text(characters.begin(), characters.end());
  return text.substr(0, text.find('\0')); // the count includes the terminating zero
}

std::size_t Plan::workspace_bytes() const {
  return own_.scratch_bytes() > 0 ? aligned(engine_workspace_bytes_) + own_.scratch_bytes()
                                  : engine_workspace_bytes_;
}

Result<Descriptor> Plan::pack(const Target& target, std::span<const Binding> bindings,
                              void* workspace) const {
  std::vector<Binding> all{bindings.begin(), bindings.end()};
  own_.bind(all, static_cast<std::byte*>(workspace) + aligned(engine_workspace_bytes_));
  return variant_pack(target.library(), all, workspace);
}

Status Plan::execute(const Target& target, std::span<const Binding> bindings,
                     void* workspace) const {
  if (target.handle() == nullptr)
    return fail(Errc::unsupported, "{} is not in this machine: its plans cannot run", target.key());
  TROUPE_TRY(const auto packed, pack(target, bindings, workspace));
  return execute(target, packed);
}

Status Plan::execute(const Target& target, const Descriptor& packed) const {
  const auto& library = target.library();
  const auto status = library.execute(target.handle(), plan_.get(), packed.get());
  if (status != CUDNN_STATUS_SUCCESS)
    return cudnn_failure(library, status, "running " + tag_);
  return {};
}

} // namespace troupe::gpu::cudnn
