#include "training/input/batch_producer.hpp"

namespace troupe::training {

MicroBatch BatchProducer::fill(std::int32_t slot, data::Position at, const data::Slice& slice,
                               const LoadFailed& failed) {
  return {.slot = slot,
          .samples = sampler().samples(at, slice),
          .view = view(slot),
          .ready = enqueue(slot, at, slice, failed)};
}

EventPtr HostProducer::enqueue(std::int32_t slot, data::Position at, const data::Slice& slice,
                               const LoadFailed& failed) {
  return host_.enqueue([assembler = assembler(), buffer = buffer(slot), at,
                        slice] { return assembler->fill(at, slice, buffer.fields()); },
                       failed);
}

} // namespace troupe::training
