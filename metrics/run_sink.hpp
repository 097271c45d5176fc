/// Receives the records of a run.
#pragma once

namespace troupe::metrics {

struct StepRecord;
struct EpochRecord;
struct GeneratedRecord;
struct RecoveryRecord;
struct CheckpointRecord;
struct WorkerSummary;

/// An output of a run: console, log, files, page or metrics. METRICS hands each record to every
/// sink once. A sink takes the records that it shows, and ignores the others.
class RunSink {
public:
  virtual ~RunSink() = default;

  virtual void record(const StepRecord& /*step*/) {}
  virtual void record(const EpochRecord& /*epoch*/) {}
  virtual void record(const GeneratedRecord& /*text*/) {}
  virtual void record(const RecoveryRecord& /*recovery*/) {}
  virtual void record(const CheckpointRecord& /*checkpoint*/) {}
  virtual void record(const WorkerSummary& /*worker*/) {}
};

} // namespace troupe::metrics
