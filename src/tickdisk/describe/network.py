"""The files of the study of network stacks."""

from tickdisk.describe.entry import Entry, Section, written

_OWN = {
    "run": ("int64", "The number of the run, from 0. A run has one life of each arm on each of its stacks."),
    "arm": (
        "string",
        (
            "The arm: `idle` and `active` on a plain pair of virtual devices, `far` on a link with a delay and losses, and the "
            "controls `again`, `near` and `delayed`."
        ),
    ),
    "stack": ("string", "The network stack."),
}

_LIVES = written(
    "",
    {
        **_OWN,
        "players": ("list<int64>", "The numbers of players of the steps of the life, from small to large."),
        "place": ("int64", "The place of the life in the order of the run, from 0."),
        "is_rising": ("bool", "Whether the numbers of players came from small to large."),
        "is_equal": ("bool", "Whether the world of every player was equal to the server's at the end."),
        "lost": ("string", "The messages of client processes that lost a player. It is empty if none did."),
        "failed": ("string", "The reason why the life has no record, and so no steps. It is empty if it has one."),
    },
    {},
)

_STEPS = written(
    "",
    {
        "players": ("int64", "The number of players."),
        "pings": ("int64", "The number of pings that players sent."),
        "unanswered": ("int64", "The number of pings without an answer."),
        "rtt_mean_ms": (
            "float64",
            "The mean round-trip time of answered pings. The server answers a ping in its next update.",
        ),
        "rtt_p50_ms": ("float64", "The median round-trip time."),
        "rtt_p99_ms": ("float64", "The 99th percentile of the round-trip times."),
        "jitter_ms": ("float64", "The mean difference between a round-trip time of a player and the next."),
        "transport_rtt_ms": ("float64 or null", "The median of the round-trip time that the stack itself tells."),
        "age_p50_ms": ("float64 or null", "The median age of an update when a player gets it."),
        "age_p99_ms": ("float64 or null", "The 99th percentile of the ages."),
        "lost_updates": ("float64 or null", "The share of updates that players did not get."),
        "late_updates": ("float64 or null", "The share of updates that were lost, or older than two updates when they came."),
        "gap_p50_ms": ("float64", "The median time between two updates of the server."),
        "gap_p99_ms": ("float64", "The 99th percentile of this time."),
        "gap_max_ms": ("float64", "The longest time between two updates."),
        "lag_p99_ms": ("float64 or null", "The 99th percentile of the time by which a ping was sent later than planned."),
        **{
            f"{part}_share": ("float64", f"The processor time of the {name}, as a share of the cores that it may use.")
            for part, name in (("server", "server"), ("clients", "clients"), ("link", "program of the link"))
        },
        **{
            f"{part}_thread_share": ("float64 or null", f"The share of the time in which the busiest thread of the {name} ran.")
            for part, name in (("server", "server"), ("clients", "clients"), ("link", "program of the link"))
        },
        "system_share": (
            "float64",
            "The share of the time in which the cores were busy, as clock ticks of the kernel sample it.",
        ),
        "memory_bytes": (
            "float64 or null",
            "The largest resident memory of the server. It is null if more players were there before.",
        ),
        "sent_bytes_per_s": ("float64", "The bytes that the network device of the server sent per second, with all headers."),
        "sent_datagrams_per_s": ("float64", "The datagrams that it sent per second."),
        "received_bytes_per_s": ("float64", "The bytes that it received per second."),
        "received_datagrams_per_s": ("float64", "The datagrams that it received per second."),
        "busiest": ("string", "The part with the busiest thread: server, clients or link."),
        "reason": ("string", "The reason why the step says nothing about the stack. It is empty if there is none."),
        **_OWN,
    },
    {},
)

_PINGS = written(
    "",
    {
        "players": ("int64", "The number of players of the step."),
        "player": ("int64", "The number of the player, from 1."),
        "at_s": ("float64", "The time of the ping since the begin of the steady part of the step."),
        "rtt_ms": ("float64 or null", "The round-trip time. It is null if no answer came."),
        **_OWN,
    },
    {},
)

NETWORK = Section(
    "Network stacks under a prototype of a game",
    "Server lives of a prototype of a game on several network stacks. `tickdisk netcode run --output` writes the steps and the "
    "pings of one life as CSV files with the same columns.",
    (
        Entry("results/netcode/lives.parquet", "Each row is the life of a server.", (_LIVES,)),
        Entry("results/netcode/steps.parquet", "Each row is a step of a life, which has a fixed number of players.", (_STEPS,)),
        Entry("results/netcode/pings.parquet", "Each row is a ping of a player in the steady part of a step.", (_PINGS,)),
    ),
)
