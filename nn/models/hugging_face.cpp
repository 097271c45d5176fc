#include "nn/models/hugging_face.hpp"

#include "nn/models/families.hpp"

namespace troupe::nn {

std::optional<HuggingFaceForm> hugging_face_form(const ModelConfig& model, const InputSpec& input) {
  const auto family = family_of(model);
  if (!family || !family->hugging_face)
    return std::nullopt;
  return family->hugging_face(model, input);
}

std::vector<std::string> hugging_face_models(const ModelConfig& model) {
  return names_where(model, [](const Family& family) { return family.hugging_face != nullptr; });
}

} // namespace troupe::nn
