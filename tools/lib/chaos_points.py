"""Points of the program's code at which tools/chaos kills a daemon: functions, by their names in the source."""
import dataclasses

TRAINING, RECOVERY = "while all train", "after a loss, while the others rebuild the generation"
JOINING, ARRIVAL = "while it joins", "while another node joins"
STOPPED = "while all train, and continues when another node leads"
# Victims besides followers, which are numbered from 1: the leader, a node that is not chosen yet,
# and the successor of a lost leader.
LEADER, FREE, HEIR = 0, -1, -2
TRAIN, ACTORS, COLLECTIVES = "troupe::training::", "troupe::actors::", "troupe::collectives::"
# The roles of a generation begin. Functions entered after this belong to its first step.
BEGIN = ACTORS + "LocalRoles::spawn_workers"
VOTE = TRAIN + "ModelState::vote"
HASH = "troupe::Sha256::update"  # of each chunk of a state that is sent


@dataclasses.dataclass(frozen=True)
class Point:
    name: str
    when: str
    functions: tuple  # any of them, the first one that is entered
    what: str
    strategy: str = "ddp"
    settings: dict = dataclasses.field(default_factory=dict)
    check: str = "samples"
    after: str = ""  # the victim is held here first, so that the point is the first entry after this one
    split: bool = False  # the first node is lost in its vote, so that others are a step ahead of the leader
    victim: int = 2  # default
    leads: bool = True  # a leader reaches the point, too


def training(name, function, what, **more):
    return Point(name, TRAINING, (function,), what, **more)


def recovery(name, function, what, **more):
    return Point(name, RECOVERY, (function,), what, **more)


def arrival(name, function, what, **more):
    return Point(name, ARRIVAL, (function,), what, **more)


def joining(name, function, what, **more):
    return Point(name, JOINING, (function,), what, **more)


def stopped(name, function, what, **more):
    """A point with steps left when the victim continues, and with weights that have not converged by then."""
    slow = {"train.optimizer.lr": 0.05, "train.max_steps": 8000, "cluster.timeouts.detection": "2s"}
    return Point(name, STOPPED, (function,), what, settings=slow, **{"victim": LEADER, **more})


OPTIMIZERS = tuple(f"troupe::cpu::{level}::(anonymous namespace)::optimizer_step" for level in ("baseline", "v3", "v4"))
SHARDED = {"checkpoint.state": "sharded"}
ALONE = {"parallel.replicate_shards": "off"}  # lost shards have no replica
POINTS = [
    training("data", ACTORS + "DataLoaderState::fill_one", "it asks for a batch"),
    training("forward", ACTORS + "WorkerState::begin_pass", "its pass begins"),
    training("gradients", TRAIN + "GradientReducer::accumulate", "its gradients are computed"),
    training("all-reduce", COLLECTIVES + "ring_all_reduce", "it starts an all-reduce"),
    training("in all-reduce", COLLECTIVES + "add", "it adds data received in an all-reduce"),
    training("reduce-scatter", COLLECTIVES + "ring_reduce_scatter", "it starts a reduce-scatter", strategy="zero2"),
    training("in reduce-scatter", COLLECTIVES + "add", "it adds data received in a reduce-scatter", strategy="zero3"),
    training("all-gather", COLLECTIVES + "ring_all_gather", "it starts an all-gather", strategy="zero3"),
    training("publish", COLLECTIVES + "ring_all_gather", "it sends the parameters that it has updated", strategy="zero1"),
    training("shard-replica", TRAIN + "GradientReducer::send_to_replica", "it sends its gradients to its shard replica", strategy="zero1"),
    training("statistics", COLLECTIVES + "chain_from", "it gets the statistics of the step, to apply after the commit", check="statistics"),
    training("vote", VOTE, "its gradients are computed, and it has not voted"),
    training("in vote", COLLECTIVES + "add", "some nodes get all votes, others do not", after=VOTE),
    training("vote, divided", VOTE, "its gradients are computed, and it has not voted", strategy="zero3"),
    training("in vote, divided", COLLECTIVES + "add", "some nodes get all votes, others do not", after=VOTE, strategy="zero2"),
    training("gate", "work of troupe::cpu::HostDevice::gate_updates", "all have voted, it has applied nothing"),
    Point("update", TRAINING, OPTIMIZERS, "it applies the step"),
    Point("update, divided", TRAINING, OPTIMIZERS, "it applies its shard of the step", strategy="zero1"),
    training("count", "work of troupe::cpu::HostDevice::count_update", "it has applied the step, and not counted it"),
    training("report", ACTORS + "ShardManagerState::report_of", "it has counted the step, and not reported it"),
    training("evaluate", ACTORS + "WorkerState::begin_evaluation", "it starts to classify the test set"),
    training("in evaluation", ACTORS + "WorkerState::finish_test_batch", "it has classified a batch of the test set"),
    training("share statistics", TRAIN + "GradientReducer::share_statistics", "it gets the statistics for an evaluation", check="statistics"),
    training("save", TRAIN + "StateCopier::take", "it starts to copy the state for a checkpoint"),
    training("save, divided", TRAIN + "StateCopier::gather_bucket", "it sends its shard of a checkpoint", strategy="zero1"),
    training("save a part", ACTORS + "CheckpointerState::begin", "it begins its file of a checkpoint", strategy="zero3", settings=SHARDED),
    training("commit a part", "troupe::StateWriter::commit", "its file of a checkpoint has no name yet", strategy="zero3", settings=SHARDED),
    training("part is written", ACTORS + "CheckpointerState::end", "its file of a checkpoint is written", settings=SHARDED),
    recovery("halt", ACTORS + "NodeState::halt", "it is told to halt"),
    recovery("cancel", COLLECTIVES + "DataPlane::cancel", "it cancels what connects"),
    recovery("abort", ACTORS + "LocalRoles::abort", "it aborts its ranks"),
    recovery("aborting", COLLECTIVES + "Channel::abort", "it aborts its collectives"),
    recovery("end", ACTORS + "NodeState::end_generation", "its roles have ended"),
    recovery("keep", TRAIN + "salvage_state", "it keeps its state"),
    recovery("keep parts", TRAIN + "salvage_shards", "it keeps its shards of the state", strategy="zero2", victim=1),
    recovery("keep statistics", TRAIN + "Statistics::revert", "it reverts to the statistics of the last step", check="statistics"),
    recovery("drop", TRAIN + "Generation::~Generation", "it drops the generation"),
    recovery("seat", ACTORS + "take_assignment", "it asks for a node assignment"),
    recovery("meet", COLLECTIVES + "DataPlane::join_group", "it has got a node assignment"),
    recovery("share", ACTORS + "share_state", "nodes without the state are about to get it"),
    recovery("gather parts", ACTORS + "gather_shards", "it is about to read missing shards from others", strategy="zero1", victim=1),
    recovery("serve parts", ACTORS + "to_bytes", "it tells others which shards they can read from it", strategy="zero3"),
    recovery("send a part", HASH, "others read shards from it, or it from them", strategy="zero2", victim=1, after=ACTORS + "gather_shards"),
    recovery("all have parts", TRAIN + "await_all_loaded", "it has all missing shards", strategy="zero2", victim=1),
    recovery("form", TRAIN + "build_generation", "it builds the generation"),
    recovery("load", TRAIN + "ModelState::load", "it loads the state"),
    recovery("groups", TRAIN + "join_groups", "its ranks are about to connect"),
    recovery("groups, divided", TRAIN + "join_groups", "its ranks are about to connect", strategy="zero2", victim=1),
    recovery("begin, divided", BEGIN, "its roles are about to start", strategy="zero1", victim=1),
    recovery("connect", COLLECTIVES + "ConnectionGroup::connect", "it connects to a neighbour"),
    recovery("accept", COLLECTIVES + "ConnectionGroup::accept", "it waits for a neighbour"),
    recovery("show", ACTORS + "RunView::begin_steps", "its METRICS are about to start"),
    recovery("lead", ACTORS + "NodeState::follow", "it asks for the COORDINATOR", leads=False),
    recovery("begin", BEGIN, "its roles are about to start"),
    recovery("first gradients", TRAIN + "GradientReducer::accumulate", "it is in the first step", after=BEGIN),
    recovery("first vote", VOTE, "it has not voted in the first step", after=BEGIN),
    recovery("first vote, divided", VOTE, "it has not voted in the first step", after=BEGIN, strategy="zero2"),
    Point("first update", RECOVERY, OPTIMIZERS, "it applies the first step", after=BEGIN),
    recovery("send", ACTORS + "send_checkpoint", "it is about to send the state to the leader", split=True, victim=1),
    recovery("sending", HASH, "it sends the state to the leader", split=True, victim=1, after=ACTORS + "send_checkpoint"),
    recovery("fetch the newest", ACTORS + "fetch_checkpoint", "it is about to get the newest checkpoint", strategy="zero1", settings=ALONE, leads=False),
    recovery("fetching the newest", ACTORS + "join_chunks", "it has got the newest checkpoint", strategy="zero3", settings=ALONE, leads=False),
    recovery("enter the folder", TRAIN + "enter_folder", "it opens the newest checkpoint", strategy="zero3", settings=SHARDED | ALONE),
    arrival("save for another", TRAIN + "StateCopier::gather_bucket", "it sends its shard of a checkpoint", strategy="zero1", settings=ALONE),
    arrival("parts with another", ACTORS + "gather_shards", "it is about to read missing shards from others", strategy="zero3"),
    arrival("halt for another", ACTORS + "NodeState::halt", "it is told to halt"),
    arrival("keep for another", TRAIN + "salvage_state", "it keeps its state"),
    arrival("seat with another", ACTORS + "take_assignment", "it asks for a node assignment"),
    arrival("share with another", ACTORS + "share_state", "the new node is about to get the state"),
    arrival("form with another", TRAIN + "build_generation", "it builds the generation"),
    arrival("begin with another", BEGIN, "its roles are about to start"),
    arrival("vote with another", VOTE, "it has not voted in the first step", after=BEGIN, strategy="zero3"),
    joining("open the job", TRAIN + "open_job", "it reads its data"),
    joining("prepare", TRAIN + "compile_job", "it compiles"),
    joining("first seat", ACTORS + "take_assignment", "it asks for its node assignment"),
    joining("first meeting", COLLECTIVES + "DataPlane::join_group", "it has got its node assignment"),
    joining("fetch", ACTORS + "fetch_checkpoint", "it is about to get the state"),
    joining("fetching", HASH, "it gets the state", after=ACTORS + "fetch_checkpoint"),
    joining("fetched", ACTORS + "join_chunks", "it has got the state"),
    joining("first parts", ACTORS + "gather_shards", "it is about to read the state from others", strategy="zero2"),
    joining("first forming", TRAIN + "build_generation", "it builds its first generation"),
    joining("first view", ACTORS + "RunView::open", "its METRICS are about to start"),
    joining("first begin", BEGIN, "its roles are about to start"),
    stopped("stop: file", "troupe::AtomicFile::commit", "it is about to rename a file of the run"),
    stopped("stop: checkpoint", "troupe::rename_folder_atomically", "it is about to rename a checkpoint"),
    stopped("stop: begin", "troupe::CheckpointStore::begin", "it starts a checkpoint"),
    stopped("stop: prune", "troupe::CheckpointStore::prune", "it is about to remove older checkpoints"),
    stopped("stop: a line", "troupe::metrics::JsonLines::append", "it is about to write the line of a step"),
    stopped("stop: vote", VOTE, "its gradients are computed, and it has not voted"),
    stopped("stop: take over", "troupe::claim_staging", "it is about to take over the run's folder from the dead leader", victim=HEIR),
]
BY_NAME = {point.name: point for point in POINTS}
