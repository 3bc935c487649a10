"""Names and limits that the scheduler, the workers and the client must agree on.

The protocol number is part of every name. A client with another number therefore gets
its own plugins and handlers instead of talking to the wrong ones.
"""

PROTOCOL = 1
PLUGIN_NAME = f"daskdl-bus-{PROTOCOL}"

JOIN_OP = f"daskdl_bus_{PROTOCOL}_join"
LEAVE_OP = f"daskdl_bus_{PROTOCOL}_leave"
VIEW_OP = f"daskdl_bus_{PROTOCOL}_view"
REPORT_OP = f"daskdl_bus_{PROTOCOL}_report"
LINK_OP = f"daskdl_bus_{PROTOCOL}_link"

# Why a worker refuses a link.
NOT_HERE = "not here"  # the member that is asked for is not on this worker (any more)
NOT_A_MEMBER = "not a member"  # the member that asks is not in the topic

# A large array fills the window alone, so two messages are always allowed: one on the
# wire while the other is delivered.
WINDOW_MESSAGES = 64
WINDOW_BYTES = 4 * 2**20
LEAST_WINDOW_MESSAGES = 2
BATCH_BYTES = 2**20
# Of the window: what is acknowledged at once. Less is within a while.
ACK_MESSAGES = WINDOW_MESSAGES // 4
ACK_BYTES = WINDOW_BYTES // 4
ACK_WITHIN_S = 0.2

# How soon a full ring is looked at again, how often all rings of a topic are where no
# thread of a task does, and how soon again where one does.
FULL_RING_S = 0.005
LOOK_AT_RINGS_S = 0.05
LOOK_AFTER_THREAD_S = 0.2

CONNECT_TIMEOUT_S = 5.0  # Dask's own default of 30 s would hide a dead peer for as long
CONTROL_TIMEOUT_S = 10.0
FIRST_RETRY_S = 0.02
LAST_RETRY_S = 2.0
# An event loop that slept for so long was stopped, and may have been given up.
WATCH_EVERY_S = 1.0
STOPPED_S = 5.0
# How long a removed member's connection may still hand over what it had sent.
GRACE_S = 1.0
