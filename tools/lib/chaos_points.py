"""The points of the program's code at which tools/chaos kills a daemon: functions, by their names in the source."""
import dataclasses

TRAINING, RECOVERY = "while all train", "after a loss, while the others come together again"
JOINING, ARRIVAL = "while it joins", "while another joins"
STOPPED = "while all train, and goes on when another leads"
# Victims beside followers, which are 1 and more: the node that leads, one that is not chosen yet, and who leads when the leader is lost.
LEADER, FREE, HEIR = 0, -1, -2
TRAIN, ACTORS, COLLECTIVES = "troupe::training::", "troupe::actors::", "troupe::collectives::"
# A generation's roles begin: what is entered from then on is entered by its first step.
BEGIN = ACTORS + "NodeState::spawn_workers"
VOTE = TRAIN + "ModelState::vote"
HASH = "troupe::Sha256::update"  # of each piece of a state that travels


@dataclasses.dataclass(frozen=True)
class Point:
    name: str
    when: str
    functions: tuple  # whichever is entered first
    what: str
    strategy: str = "ddp"
    settings: dict = dataclasses.field(default_factory=dict)
    check: str = "samples"
    after: str = ""  # the victim is held here first, so that it is the entry after this one
    split: bool = False  # what loses the first node: one that dies in its vote, so that others are a step ahead of the leader
    victim: int = 2  # as a rule
    leads: bool = True  # a node that leads comes there as well


def training(name, function, what, **more):
    return Point(name, TRAINING, (function,), what, **more)


def recovery(name, function, what, **more):
    return Point(name, RECOVERY, (function,), what, **more)


def arrival(name, function, what, **more):
    return Point(name, ARRIVAL, (function,), what, **more)


def joining(name, function, what, **more):
    return Point(name, JOINING, (function,), what, **more)


def stopped(name, function, what, **more):
    """With steps left when it goes on, and weights that have not settled by then."""
    slow = {"train.optimizer.lr": 0.05, "train.max_steps": 8000, "cluster.timeouts.detection": "2s"}
    return Point(name, STOPPED, (function,), what, settings=slow, **{"victim": LEADER, **more})


OPTIMIZERS = tuple(f"troupe::cpu::{level}::optimizer_step" for level in ("baseline", "v3", "v4"))
SHARDED = {"checkpoint.state": "sharded"}
ALONE = {"parallel.buddies": "off"}  # what is lost has no copy
POINTS = [
    training("data", ACTORS + "DataLoaderState::fill_one", "it asks for a batch"),
    training("forward", ACTORS + "WorkerState::begin_pass", "its pass begins"),
    training("gradients", TRAIN + "GradientReducer::accumulate", "its gradients are there"),
    training("all-reduce", COLLECTIVES + "ring_all_reduce", "its part of an all-reduce begins"),
    training("in all-reduce", COLLECTIVES + "add", "what it has received in an all-reduce is added"),
    training("reduce-scatter", COLLECTIVES + "ring_reduce_scatter", "its part of a reduce-scatter begins", strategy="zero2"),
    training("in reduce-scatter", COLLECTIVES + "add", "what it has received in a reduce-scatter is added", strategy="zero3"),
    training("all-gather", COLLECTIVES + "ring_all_gather", "its part of an all-gather begins", strategy="zero3"),
    training("publish", COLLECTIVES + "ring_all_gather", "it sends the parameters that it has updated", strategy="zero1"),
    training("buddy", TRAIN + "GradientReducer::send_to_replica", "its gradients are to go to its buddy", strategy="zero1"),
    training("statistics", COLLECTIVES + "chain_from", "it is sent the statistics that count if all vote", check="statistics"),
    training("vote", VOTE, "gradients are there, it has not voted"),
    training("in vote", COLLECTIVES + "add", "some get all votes, others do not", after=VOTE),
    training("vote, divided", VOTE, "gradients are there, it has not voted", strategy="zero3"),
    training("in vote, divided", COLLECTIVES + "add", "some get all votes, others do not", after=VOTE, strategy="zero2"),
    training("gate", "work of troupe::cpu::HostDevice::gate_updates", "all have voted, it has applied nothing"),
    Point("update", TRAINING, OPTIMIZERS, "it applies the step"),
    Point("update, divided", TRAINING, OPTIMIZERS, "it applies its part of the step", strategy="zero1"),
    training("count", "work of troupe::cpu::HostDevice::count_update", "it has applied the step, and not counted it"),
    training("report", ACTORS + "ShardManagerState::report_of", "it has counted the step, and not said so"),
    training("evaluate", ACTORS + "WorkerState::begin_evaluation", "it is to classify the test set"),
    training("in evaluation", ACTORS + "WorkerState::finish_test_batch", "it has classified a batch of the test set"),
    training("share statistics", TRAIN + "GradientReducer::share_statistics", "statistics are made equal for an evaluation", check="statistics"),
    training("save", TRAIN + "GradientReducer::copy_state", "a checkpoint is to be written"),
    training("save, divided", TRAIN + "GradientReducer::gather_saved", "it gives its part of a checkpoint", strategy="zero1"),
    training("save a part", ACTORS + "CheckpointerState::begin", "it begins its file of a checkpoint", strategy="zero3", settings=SHARDED),
    training("commit a part", "troupe::StateWriter::commit", "its file of a checkpoint has no name yet", strategy="zero3", settings=SHARDED),
    training("part is written", ACTORS + "CheckpointerState::end", "its file of a checkpoint is written", settings=SHARDED),
    recovery("halt", ACTORS + "NodeState::halt", "it is told to halt"),
    recovery("cancel", COLLECTIVES + "DataPlane::cancel", "it cancels what connects"),
    recovery("abort", ACTORS + "NodeState::abort_ranks", "it aborts its ranks"),
    recovery("aborting", COLLECTIVES + "Transport::abort", "it aborts its collectives"),
    recovery("end", ACTORS + "NodeState::end_generation", "its roles have ended"),
    recovery("keep", TRAIN + "salvage_state", "it keeps its state"),
    recovery("keep parts", TRAIN + "salvage_shards", "it keeps what it holds of the state", strategy="zero2", victim=1),
    recovery("keep statistics", TRAIN + "ModelState::revert_statistics", "it takes the statistics that count", check="statistics"),
    recovery("drop", TRAIN + "Generation::~Generation", "it drops the generation"),
    recovery("seat", ACTORS + "take_assignment", "it asks for a seat"),
    recovery("meet", COLLECTIVES + "DataPlane::meet", "it has got a seat"),
    recovery("share", ACTORS + "share_state", "who lacks the state is to get it"),
    recovery("gather parts", ACTORS + "gather_shards", "it is to read from others what it lacks", strategy="zero1", victim=1),
    recovery("serve parts", ACTORS + "to_bytes", "it says what others can read from it", strategy="zero3"),
    recovery("send a part", HASH, "others read from it, or it from them", strategy="zero2", victim=1, after=ACTORS + "gather_shards"),
    recovery("all have parts", TRAIN + "await_all_loaded", "it has what it lacked", strategy="zero2", victim=1),
    recovery("form", TRAIN + "build_generation", "it forms the generation"),
    recovery("load", TRAIN + "ModelState::load", "it loads the state"),
    recovery("groups", TRAIN + "join_groups", "its ranks are to connect"),
    recovery("groups, divided", TRAIN + "join_groups", "its ranks are to connect", strategy="zero2", victim=1),
    recovery("begin, divided", BEGIN, "its roles are to begin", strategy="zero1", victim=1),
    recovery("connect", COLLECTIVES + "ConnectionGroup::connect", "it connects with a neighbour"),
    recovery("accept", COLLECTIVES + "ConnectionGroup::accept", "it waits for a neighbour"),
    recovery("show", ACTORS + "RunView::begin_steps", "its METRICS are to begin"),
    recovery("lead", ACTORS + "NodeState::follow", "it asks for the COORDINATOR", leads=False),
    recovery("begin", BEGIN, "its roles are to begin"),
    recovery("first gradients", TRAIN + "GradientReducer::accumulate", "it is in the first step", after=BEGIN),
    recovery("first vote", VOTE, "it has not voted in the first step", after=BEGIN),
    recovery("first vote, divided", VOTE, "it has not voted in the first step", after=BEGIN, strategy="zero2"),
    Point("first update", RECOVERY, OPTIMIZERS, "it applies the first step", after=BEGIN),
    recovery("send", ACTORS + "send_checkpoint", "it is to give the leader the state", split=True, victim=1),
    recovery("sending", HASH, "it gives the leader the state", split=True, victim=1, after=ACTORS + "send_checkpoint"),
    recovery("fetch the newest", ACTORS + "fetch_checkpoint", "it is to get the newest checkpoint", strategy="zero1", settings=ALONE, leads=False),
    recovery("fetching the newest", ACTORS + "join_chunks", "it has got the newest checkpoint", strategy="zero3", settings=ALONE, leads=False),
    recovery("enter the folder", TRAIN + "enter_folder", "it opens the newest checkpoint", strategy="zero3", settings=SHARDED | ALONE),
    arrival("save for another", TRAIN + "GradientReducer::gather_saved", "it gives its part of a checkpoint", strategy="zero1", settings=ALONE),
    arrival("parts with another", ACTORS + "gather_shards", "it is to read from others what it lacks", strategy="zero3"),
    arrival("halt for another", ACTORS + "NodeState::halt", "it is told to halt"),
    arrival("keep for another", TRAIN + "salvage_state", "it keeps its state"),
    arrival("seat with another", ACTORS + "take_assignment", "it asks for a seat"),
    arrival("share with another", ACTORS + "share_state", "who has come is to get the state"),
    arrival("form with another", TRAIN + "build_generation", "it forms the generation"),
    arrival("begin with another", BEGIN, "its roles are to begin"),
    arrival("vote with another", VOTE, "it has not voted in the first step", after=BEGIN, strategy="zero3"),
    joining("open the job", TRAIN + "open_job", "it reads its data"),
    joining("prepare", TRAIN + "compile_job", "it compiles"),
    joining("first seat", ACTORS + "take_assignment", "it asks for its seat"),
    joining("first meeting", COLLECTIVES + "DataPlane::meet", "it has got its seat"),
    joining("fetch", ACTORS + "fetch_checkpoint", "it is to get the state"),
    joining("fetching", HASH, "it gets the state", after=ACTORS + "fetch_checkpoint"),
    joining("fetched", ACTORS + "join_chunks", "it has got the state"),
    joining("first parts", ACTORS + "gather_shards", "it is to read the state from others", strategy="zero2"),
    joining("first forming", TRAIN + "build_generation", "it forms its first generation"),
    joining("first view", ACTORS + "RunView::open", "its METRICS are to begin"),
    joining("first begin", BEGIN, "its roles are to begin"),
    stopped("stop: file", "troupe::AtomicFile::commit", "a file of the run is to get its name"),
    stopped("stop: checkpoint", "troupe::rename_folder_atomically", "a checkpoint is to get its name"),
    stopped("stop: begin", "troupe::CheckpointStore::begin", "it begins a checkpoint"),
    stopped("stop: prune", "troupe::CheckpointStore::prune", "older checkpoints are to be removed"),
    stopped("stop: a line", "troupe::metrics::JsonLines::append", "the line of a step is to be written"),
    stopped("stop: vote", VOTE, "gradients are there, it has not voted"),
    stopped("stop: take over", "troupe::claim_staging", "it is to take over the run's folder from the leader, which is dead", victim=HEIR),
]
BY_NAME = {point.name: point for point in POINTS}
