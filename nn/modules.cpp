#include "nn/modules.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>

namespace troupe::nn {

std::string module_of(const Graph& graph, const Node& node) {
  const auto parameter = std::ranges::find_if(
      node.inputs, [&](TensorId id) { return graph[id].role == Role::parameter; });
  if (parameter == node.inputs.end())
    return graph[node.outputs[0]].name;
  const auto& name = graph[*parameter].name;
  return name.substr(0, name.rfind('.'));
}

bool is_within(std::string_view module, std::string_view name) {
  return module.starts_with(name) && (module.size() == name.size() || module[name.size()] == '.');
}

std::vector<std::string> with_parents(const std::vector<std::string>& modules) {
  std::vector<std::string> names;
  std::unordered_set<std::string> known;
  for (const auto& module : modules)
    for (auto dot = module.find('.');; dot = module.find('.', dot + 1)) {
      if (auto name = module.substr(0, dot); known.insert(name).second)
        names.push_back(std::move(name));
      if (dot == std::string::npos)
        break;
    }
  return names;
}

std::vector<std::string> outermost(const std::vector<std::string>& modules) {
  std::vector<std::string> names;
  std::ranges::copy_if(modules, std::back_inserter(names),
                       [](const auto& module) { return module.find('.') == std::string::npos; });
  return names;
}

std::vector<std::string> module_names(const Graph& forward) {
  std::vector<std::string> modules;
  for (const auto& node : forward.nodes)
    if (forward[node.outputs[0]].role != Role::output)
      modules.push_back(module_of(forward, node));
  return with_parents(modules);
}

} // namespace troupe::nn
