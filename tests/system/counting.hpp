/// A job whose weights say how often each sample was applied.
#pragma once

#include "experiment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <string>
#include <vector>

namespace troupe::testing {

/// Sample i is 1 in feature i, and to be 1: each time it is applied, it halves what weight i lacks
/// of 1, and touches no other. So weights are those of an undisturbed run, bit for bit, where each
/// sample was applied as often.
class Counting : public Experiment {
public:
  static constexpr int samples = 960;

  Counting()
      : Experiment{{"data.dataset=csv",
                    "data.standardize=false",
                    "data.targets=[y]",
                    "data.augment=[]",
                    "data.batch_size=6",
                    "data.slices=6",
                    "data.eval_batch_size=6",
                    "model.name=linear",
                    "model.bias=false",
                    "model.num_classes=1",
                    "model.loss=mean_squared_error",
                    "train.optimizer.lr=1.5",
                    "train.optimizer.momentum=0",
                    "train.optimizer.nesterov=false",
                    "train.optimizer.weight_decay=0",
                    "train.schedule.name=constant",
                    "train.schedule.warmup=0",
                    "train.epochs=20",
                    "train.evaluate_every=0",
                    "checkpoint.every=40 steps"}} {
    std::vector<std::string> names;
    names.reserve(samples);
    for (int i = 0; i < samples; ++i)
      names.push_back(fmt::format("f{}", i));
    for (const char* file : {"train.csv", "test.csv"}) {
      std::ofstream out{*this / file};
      out << fmt::format("{},y\n", fmt::join(names, ","));
      for (int i = 0; i < samples; ++i) {
        for (int feature = 0; feature < samples; ++feature)
          out << (feature == i ? "1," : "0,");
        out << "1\n";
      }
    }
    own = {"data.root=" + (*this / "").string(),
           fmt::format("data.features=[{}]", fmt::join(names, ","))};
  }
  Settings own;
};

} // namespace troupe::testing
