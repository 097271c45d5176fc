#include "core/device/rounded_executable.hpp"

namespace troupe {

namespace {

class RoundedExecutable final : public Executable {
public:
  RoundedExecutable(std::unique_ptr<Executable> executable, Device& device,
                    const RoundedTypes& types)
      : executable_{std::move(executable)}, device_{device}, types_{types},
        gradients_(layout().unit_elements.size()) {}

  const StorageLayout& layout() const override { return executable_->layout(); }
  void bind(UnitId unit, float* parameters, float* gradients) override {
    gradients_[static_cast<std::size_t>(unit)] = gradients;
    executable_->bind(unit, parameters, gradients);
  }
  void bind_statistics(float* statistics) override {
    statistics_ = statistics;
    executable_->bind_statistics(statistics);
  }
  void bind_loss_scale(const float* scale) override { executable_->bind_loss_scale(scale); }
  void bind_sum_over_ranks(SumOverRanks sum) override {
    executable_->bind_sum_over_ranks(std::move(sum));
  }
  void refresh(Stream& stream, UnitId unit) override { executable_->refresh(stream, unit); }
  void refresh_all(Stream& stream) override { executable_->refresh_all(stream); }
  ParameterCopies copies() const override { return executable_->copies(); }
  const BatchView& batch() const override { return executable_->batch(); }
  Status set_batch(const BatchView& batch) override { return executable_->set_batch(batch); }

  /// Rounded gradients are rounded again after each addition.
  bool adds_gradients() const override {
    return types_.gradients == DType::f32 && executable_->adds_gradients();
  }
  void set_gradient_mode(GradientMode mode) override { executable_->set_gradient_mode(mode); }
  void forward(Stream& stream, UnitId unit) override {
    executable_->forward(stream, unit);
    if (static_cast<std::size_t>(unit) + 1 == gradients_.size())
      round_statistics(stream);
  }
  void backward(Stream& stream, UnitId unit) override {
    executable_->backward(stream, unit);
    round_gradients(stream, static_cast<std::size_t>(unit));
  }
  void run(Stream& stream) override {
    executable_->run(stream);
    round_results(stream);
  }

  Result<PassTimes> time_steps(Stream& stream) override {
    auto times = executable_->time_steps(stream);
    round_results(stream);
    return times;
  }

  void read_outputs(Stream& stream, StepOutputs* host) override {
    executable_->read_outputs(stream, host);
  }
  Status read_tensor(Stream& stream, std::string_view name, std::span<float> host) override {
    return executable_->read_tensor(stream, name, host);
  }

private:
  void round_results(Stream& stream) const {
    round_statistics(stream);
    for (std::size_t unit = 0; unit < gradients_.size(); ++unit)
      round_gradients(stream, unit);
  }
  void round_statistics(Stream& stream) const {
    device_.round(stream, statistics_, types_.statistics, layout().statistic_elements);
  }
  void round_gradients(Stream& stream, std::size_t unit) const {
    device_.round(stream, gradients_[unit], types_.gradients, layout().unit_elements[unit]);
  }

  std::unique_ptr<Executable> executable_;
  Device& device_;
  RoundedTypes types_;
  std::vector<float*> gradients_; ///< by UnitId
  float* statistics_ = nullptr;
};

} // namespace

std::unique_ptr<Executable> with_rounded_results(std::unique_ptr<Executable> executable,
                                                 Device& device, const RoundedTypes& types) {
  return std::make_unique<RoundedExecutable>(std::move(executable), device, types);
}

} // namespace troupe
