"""The acts and outcomes of a case by their names: the files of several hands say one thing in several words."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

ACTS: Mapping[str, Sequence[str]] = {
    "window": ("get_window", "load_window", "read_window", "serve", "serve_window", "show", "build_window"),
    "store_load_window": ("store_and_load_window", "reload_window", "round_trip"),
    "at": ("time", "set_time", "clock", "wait", "advance", "expire", "sweep", "purge", "run_sweeper"),
    "append": (
        "append_all",
        "append_message",
        "append_messages",
        "append_late",
        "append_later",
        "append_result",
        "add",
        "store",
        "save",
        "write",
        "observe",
    ),
    "decide_begin": ("begin", "begin_decision", "start_decision", "start", "lock", "acquire"),
    "decide_commit": ("commit", "commit_decision", "finish", "complete", "decide_end"),
    "decide_abort": ("abort", "abort_decision", "cancel", "rollback", "decide_fail", "release"),
    "decide": ("run", "turn"),
    "crash": ("kill", "die", "worker_dies"),
    "restart": ("reopen", "reload", "load", "store_load", "close", "restart_process"),
    "recover": ("recover_reservation", "unlock", "free"),
    "fork": ("branch", "regenerate", "retry"),
    "delete_conversation": ("delete", "delete_session", "erase", "forget"),
    "read_originals": ("read", "read_all", "read_history", "list", "search", "export", "originals"),
    "summarize": ("summarise", "compact", "set_summary", "store_summary", "append_summary"),
    "not_executed": ("mark_not_executed", "record_not_executed", "observe_not_executed"),
    "reserve": ("count", "count_tokens", "guard", "token_guard"),
}
KNOWN: Mapping[str, str] = {other: name for name, others in ACTS.items() for other in (name, *others)}
SERVED = frozenset(
    {"ok", "served", "stored", "same", "duplicate", "deduplicated", "replayed", "unchanged", "empty"}
)
NOT_FOUND = frozenset({"not_found", "absent", "gone", "unknown"})
DIALECTS: Mapping[str, str] = {
    "mistral": "mistral",
    "alternat": "strict-alternation",
    "bedrock": "strict-alternation",
    "stateless": "stateless",
    "store=false": "stateless",
    "store-false": "stateless",
}
ASKED: Mapping[str, str] = {"A9": "strict-alternation", "R5": "stateless"}
"""The dialect that a host names where one of these invariants has to hold."""


def act_of(name: str, members: Mapping[str, Any]) -> str:
    """Give the act that a step names, the name itself where nobody knows it."""
    plain = name.strip().lower().replace("-", "_").replace(" ", "_")
    if plain == "reserve" and "worker" in members:
        return "decide_begin"
    return KNOWN.get(plain, plain)


def outcome_of(expected: object) -> str:
    """Give the outcome that a step expects: `ok`, `busy`, `not_found`, `refused`, or "" for none."""
    if isinstance(expected, dict):
        return outcome_of(cast("Mapping[str, object]", expected).get("outcome"))
    word = str(expected or "").lower().removeprefix("decision_history_")
    if not word or word in ("busy", "ok"):
        return word
    if word in SERVED:
        return "ok"
    return "not_found" if word in NOT_FOUND else "refused"


def dialect_of(given: Mapping[str, Any], invariants: Sequence[str]) -> str:
    """Give the words of the dialect that a host of such a server names."""
    named: object = given.get("dialect") or ""
    listed = cast("Sequence[object]", named) if isinstance(named, list) else [named]
    written = " ".join(map(str, listed)).lower()
    words = written.split()
    words += [word for part, word in DIALECTS.items() if part in written]
    words += [ASKED[name] for name in invariants if name in ASKED]
    request: object = given.get("request")
    if isinstance(request, dict) and cast("Mapping[str, object]", request).get("store") is False:
        words.append("stateless")
    return " ".join(dict.fromkeys(words))


def argument_of(name: str) -> str:
    """Write the name of an argument in one way: `max_messages` is `maxMessages`."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
