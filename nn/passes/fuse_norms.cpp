#include "nn/passes/fuse_training.hpp"

#include "nn/passes/detail/fusion_draft.hpp"

#include <algorithm>

namespace troupe::nn {

namespace {

class NormFuser : FusionDraft {
public:
  NormFuser(const Graph& graph, const FusionSupport& support, NormSums sums,
            const std::vector<std::string>& keep)
      : FusionDraft{graph, support, keep}, sums_{sums} {}

  Graph run() && {
    for (NodeIndex i = 0; i < nodes_.size(); ++i)
      if (nodes_[i].op == Op::layer_norm || nodes_[i].op == Op::rms_norm) {
        narrow_result(i);
        add_before(i);
        read_narrow_addend(i);
      } else if (nodes_[i].op == Op::layer_norm_backward || nodes_[i].op == Op::rms_norm_backward) {
        read_narrow_gradient(i);
        add_gradients(i);
        write_narrow_gradient(i);
      }
    return std::move(*this).take();
  }

private:
  static NormFusion& fusion(Node& norm) {
    if (auto* const layer = std::get_if<LayerNormAttributes>(&norm.attributes))
      return layer->fusion;
    return std::get<RmsNormAttributes>(norm.attributes).fusion;
  }

  bool is_f32(TensorId id) const { return graph_[id].dtype == DType::f32; }

  /// Returns the cast to f32 that writes a tensor, if only one node needs its result.
  std::optional<NodeIndex> cast_before(TensorId id) const {
    const auto cast = maker(id, Op::cast);
    return cast && is_f32(id) && has_one_reader(id) && !is_kept(id) ? cast : std::nullopt;
  }

  /// Returns a cast from f32 that reads a tensor.
  std::optional<NodeIndex> cast_after(TensorId id) const {
    const auto found = std::ranges::find_if(readers(id), [this](NodeIndex reader) {
      return nodes_[reader].op == Op::cast && !is_dropped(reader);
    });
    return is_f32(id) && found != readers(id).end() ? std::optional{*found} : std::nullopt;
  }

  /// Replaces a norm and the node that it absorbs by `fused`, if the device is not slower with it.
  void replace(std::string_view what, NodeIndex norm, Node fused, NodeIndex absorbed) {
    if (!choose(what, nodes_[norm].outputs[0],
                {time(fused), time(nodes_[norm]) + time(nodes_[absorbed])}))
      return;
    nodes_[norm] = std::move(fused);
    drop(absorbed);
  }

  void narrow_result(NodeIndex norm) {
    const auto y = nodes_[norm].outputs[0];
    const auto cast = cast_after(y);
    if (!cast || is_kept(y) || !has_one_reader(y))
      return;
    auto fused = nodes_[norm];
    fused.outputs[0] = nodes_[*cast].outputs[0];
    fusion(fused).type = graph_[fused.outputs[0]].dtype;
    replace("narrow norm", norm, std::move(fused), *cast);
  }

  void add_before(NodeIndex norm) {
    const auto sum = nodes_[norm].inputs[0];
    const auto add = maker(sum, Op::add);
    auto fused = nodes_[norm];
    if (fusion(fused).add || !add || !is_f32(sum) || readers(sum).front() != norm ||
        !may_move(nodes_[*add], norm))
      return;
    auto [x, addend] = std::pair{nodes_[*add].inputs[0], nodes_[*add].inputs[1]};
    if (cast_before(x) && !cast_before(addend))
      std::swap(x, addend);
    fusion(fused).add = true;
    fused.inputs[0] = x;
    fused.inputs.push_back(addend);
    fused.outputs.push_back(sum);
    replace("add and norm", norm, std::move(fused), *add);
  }

  bool may_move(const Node& add, NodeIndex norm) const {
    return sums_ == NormSums::of_any_unit || add.unit == nodes_[norm].unit;
  }

  void read_narrow_addend(NodeIndex norm) {
    auto fused = nodes_[norm];
    const auto cast = cast_before(fused.inputs.back());
    if (!fusion(fused).add || !cast)
      return;
    fused.inputs.back() = nodes_[*cast].inputs[0];
    replace("narrow addend", norm, std::move(fused), *cast);
  }

  void read_narrow_gradient(NodeIndex norm) {
    auto fused = nodes_[norm];
    const auto cast = cast_before(fused.inputs[0]);
    if (!cast)
      return;
    fused.inputs[0] = nodes_[*cast].inputs[0];
    fusion(fused).type = graph_[fused.inputs[0]].dtype;
    replace("narrow gradient of a norm", norm, std::move(fused), *cast);
  }

  void add_gradients(NodeIndex norm) {
    auto fused = nodes_[norm];
    const auto dx = fused.outputs[0];
    if (fusion(fused).add_gradient || !is_f32(dx) || is_kept(dx) || !has_one_reader(dx))
      return;
    const auto add = readers(dx).front();
    if (nodes_[add].op != Op::add)
      return;
    const auto other = nodes_[add].inputs[nodes_[add].inputs[0] == dx ? 1 : 0];
    if (maker(other).value_or(0) > norm)
      return;
    fusion(fused).add_gradient = true;
    fused.inputs.push_back(other);
    fused.outputs[0] = nodes_[add].outputs[0];
    replace("sum of gradients", norm, std::move(fused), add);
  }

  void write_narrow_gradient(NodeIndex norm) {
    auto fused = nodes_[norm];
    const auto cast = cast_after(fused.outputs[0]);
    if (fusion(fused).narrow || !cast)
      return;
    fusion(fused).narrow = true;
    fused.outputs.push_back(nodes_[*cast].outputs[0]);
    replace("narrow gradient of a stream", norm, std::move(fused), *cast);
  }

  NormSums sums_;
};

} // namespace

Graph fuse_norms(const Graph& training, const FusionSupport& support, NormSums sums,
                 const std::vector<std::string>& keep) {
  return support.microseconds ? NormFuser{training, support, sums, keep}.run() : training;
}

} // namespace troupe::nn
