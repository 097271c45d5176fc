/// CONSENSUS: this daemon's proposer and acceptor. With those of other nodes it decides the records
/// of generations. It outlives generations and their leaders, and stores the last decided record.
#pragma once

#include "actors/consensus/peers.hpp"
#include "actors/interfaces.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace troupe::actors {

struct ConsensusSetup {
  training::Voter self;                ///< of this daemon
  std::chrono::milliseconds detection; ///< a node that is silent for longer is lost
  /// Connects this actor with the CONSENSUS of the daemon at an address, on another thread: must
  /// not block. Sends atom::introduce to this actor after the attempt.
  Peers::Dial connect;
  /// Called when nodes gather at a node other than the leader that this node knows.
  std::function<void(const std::string& address)> moved = [](const std::string&) {};
  /// Called when this node learns that the end of its job was decided.
  std::function<void(const JobEnd& end)> ended = [](const JobEnd&) {};
};

///     led --(the leader is lost)--> leaderless --(a quorum promises)--> elected, or another is
///      ^                                                                         |
///      +--------------------(the record of the next generation is decided)-------+
///
/// The elected node gathers the others (MEMBERSHIP), and only then has a record to propose. Each
/// record is decided by a separate Paxos instance. The last record names the voters. A record is a
/// generation, a revision of one with other voters, or the end of the job; the end is also sent to
/// peers, and no record follows it.
class ConsensusState {
public:
  static inline const char* name = "consensus";

  ConsensusState(consensus_actor::pointer self, ConsensusSetup setup);
  consensus_actor::behavior_type make_behavior();

private:
  using Record = training::GenerationRecord;
  /// A record of this node that waits for its decision.
  struct PendingProposal {
    Record record;
    caf::typed_response_promise<void> decided;
  };
  /// A request of this node for the leader after a generation.
  struct LeaderRequest {
    std::int64_t generation;
    caf::typed_response_promise<std::string, Record> leader;
  };
  /// A request for this voter's promise. It waits until this voter has lost the leader too.
  struct Candidate {
    std::pair<std::int64_t, std::int32_t> last; ///< order of the record
    Ballot ballot;
    caf::typed_response_promise<VoteReply> vote_reply;
  };

  // Requests of other nodes.
  caf::result<VoteReply> vote(const Record& last, Ballot ballot);
  VoteReply vote_reply(Ballot ballot);
  Ballot accept(const Record& last, const RecordProposal& proposal);
  void learn(const Record& record);
  void tell_all(const Record& record);
  void gather_at(const Record& last, const std::string& address, Ballot ballot);
  caf::result<training::Voter, peer_actor> add_peer(const training::Voter& who,
                                                    const peer_actor& peer);
  void tell(const training::Voter& who, const peer_actor& peer);
  // Requests of this node.
  caf::result<void> propose(const Record& record);
  void announce();
  caf::result<std::string, Record> leader_after(std::int64_t generation);
  bool is_known_after(std::int64_t generation) const;
  caf::result<void> leave();
  void end();
  Record last_record() const;
  std::string status() const;

  void adopt(const Record& record);
  void begin_instance();
  void follow_leader();
  void close();
  bool is_last(const Record& record) const;
  bool is_about(const Record& last);
  void lose_leader();
  void campaign_in(std::chrono::milliseconds delay);
  void campaign();
  void count(std::size_t voter, const VoteReply& vote_reply);
  void go_on_if_elected();
  void put_to_vote(const Record& record);
  void ask_to_accept(std::size_t voter);
  void lose_vote();
  const Record* decided() const;
  std::set<std::size_t> replaced_voters() const;
  void look_for_replaced();
  void settle_if_decided();
  void refuse_pending_proposal();
  void move_to(const std::string& address, Ballot ballot);
  void forget_place();
  void answer_candidates();
  void peer_down(const caf::down_msg& down);
  bool gathers_here() const { return last_ && !leads() && gathers_at_ == setup_.self.address; }
  bool leads() const { return last_ && last_->leader() == setup_.self.address; }
  std::chrono::milliseconds campaign_delay() const;

  consensus_actor::pointer self_;
  ConsensusSetup setup_;
  Peers peers_;
  std::optional<Record> last_;                    ///< decided
  std::optional<PaxosInstance<Record>> instance_; ///< of the next record; empty: no vote in it
  Ballot heard_ = 0;        ///< the highest ballot in the others' answers about the next record
  bool was_frozen_ = false; ///< while its proposal for the next record was open
  bool has_lost_leader_ = false;
  bool has_left_ = false;                    ///< this node led, and has left
  caf::typed_response_promise<void> leaver_; ///< waits for its successor
  int yielded_ = 0;                          ///< promises to other nodes since the leader was lost
  std::string gathers_at_;                   ///< where the next generation is built; empty: unknown
  Ballot gathers_by_ = 0;                    ///< the ballot that elected that node
  std::vector<Candidate> candidates_;
  std::optional<LeaderRequest> leader_request_;
  std::optional<PendingProposal> pending_proposal_;
  std::int64_t campaigns_ = 0;      ///< number of planned campaigns; only the last one runs
  bool has_ended_ = false;          ///< the job of the last record
  std::set<std::string> left_jobs_; ///< earlier jobs in which it had a vote
  std::set<std::string> elsewhere_; ///< processes of other nodes that take part in another job
};

} // namespace troupe::actors
