"""Bad input beside good, as data (WM-25): why it is refused, what is sent, and the places that the answer names.

`tests/agentstate/test_bad_input.py` sends each row, and then the good request that it was made from. Everything that a
caller could recognize as its own holds MARK, so that an answer that repeats any of it is found out.
"""

from typing import Any

MARK = "mArKeD"

SCOPE = {"kind": "conversation", "id": f"c-{MARK}"}
WRITE: dict[str, Any] = {
    "scope": SCOPE,
    "agent": "order-taker",
    "mode": "merge_by_key",
    "body": {"remark": MARK, "anything": 1},
}
READ: dict[str, Any] = {"scope": SCOPE, "agent": "order-taker"}
GOOD: dict[str, dict[str, Any]] = {
    "PUT /v1/agent-state": WRITE,
    "POST /v1/agent-state/read": READ,
    "POST /v1/agent-state/delete": READ,
}

WRITE_TEXT = (
    '{"scope": {"kind": "conversation", "id": "c-mArKeD"}, "agent": "order-taker", "mode": "merge_by_key",'
    ' "body": {"remark": "mArKeD", "anything": 1}}'
)


def spoiled(old: str, new: str) -> bytes:
    """Give the good text with one part in another way."""
    assert WRITE_TEXT.count(old) == 1, old
    return WRITE_TEXT.replace(old, new).encode("utf-8", "surrogatepass")


def value(text: str) -> bytes:
    """Give the good text with another value in its body."""
    return spoiled('"anything": 1', f'"{MARK}": {text}')


# Why, and the bytes: each is 400 `invalid_json`.
INVALID_JSON: list[tuple[str, bytes]] = [
    ("only spaces", b" \n "),
    ("cut short", WRITE_TEXT[:-1].encode()),
    ("more after the end", WRITE_TEXT.encode() + b" {}"),
    ("not JSON at all", MARK.encode()),
    ("a comma too many", spoiled('"anything": 1', '"anything": 1,')),
    ("single quotes", spoiled(f'"remark": "{MARK}"', f"'remark': '{MARK}'")),
    ("a name without quotes", spoiled('"remark"', "remark")),
    ("a comment", spoiled('"body"', f'/* {MARK} */ "body"')),
    ("a byte order mark", b"\xef\xbb\xbf" + WRITE_TEXT.encode()),
    ("another encoding", WRITE_TEXT.encode("utf-16")),
    ("a byte that is no UTF-8", spoiled(f'"{MARK}"', '"\udcff"').replace(b"\xed\xb3\xbf", b"\xff")),
    ("a surrogate written as UTF-8", spoiled(f'"{MARK}"', '"\ud800"')),
    ("half a surrogate pair", value(r'"\ud83c mArKeD"')),
    ("the other half", value(r'"\udf4d"')),
    ("half a pair in a name", spoiled('"anything"', r'"\ud800"')),
    ("a line break in a string", value('"a\nb"')),
    ("a NUL in a string", value('"a\x00b"')),
    ("a NUL outside", value("\x001")),
    ("an escape that is none", value(r'"\x41"')),
    ("NaN", value("NaN")),
    ("Infinity", value("Infinity")),
    ("-Infinity", value("-Infinity")),
    ("an integer over 64 bits", value(str(2**63))),
    ("an integer under 64 bits", value(str(-(2**63) - 1))),
    ("an integer of 5,000 digits", value("9" * 5000)),
    ("a double that is not finite", value("1e400")),
    ("a negative one", value("-1e400")),
    ("a zero in front", value("01")),
    ("a plus in front", value("+1")),
    ("no digit after the point", value("1.")),
    ("no digit before the point", value(".5")),
    ("nesting over 32 levels", value("[" * 31 + "]" * 31)),
    ("nesting of a thousand", value('{"a":' * 1000 + "1" + "}" * 1000)),
    ("brackets that are never closed", b"[" * 16_000),
    ("a member twice", spoiled('"body"', f'"agent": "{MARK}", "body"')),
    ("a member twice, inside", value('{"a": 1, "b": 2, "a": 1}')),
    (
        "a member twice, spelled with an escape",
        spoiled('"anything": 1', r'"anything": 1, "\u0061nything": 2'),
    ),
]

# Why, a body of any form, and the pointers: each is 422 `invalid_input`.
INVALID_ROOT: list[tuple[str, Any, tuple[str, ...]]] = [
    ("a list", [MARK], ("",)),
    ("a string", MARK, ("",)),
    ("null", None, ("",)),
    ("a number", 7, ("",)),
    ("nothing in it", {}, ("/scope", "/agent")),
]

# Why, members over READ, and the pointers: 422 `invalid_input` on every route.
INVALID_NAME: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("a member that is unknown", {MARK: 1}, ("",)),
    ("a scope that is a string", {"scope": MARK}, ("/scope",)),
    ("a scope without an id", {"scope": {"kind": "task"}}, ("/scope/id",)),
    ("a scope without a kind", {"scope": {"id": MARK}}, ("/scope/kind",)),
    ("a scope with more", {"scope": {**SCOPE, MARK: 1}}, ("/scope",)),
    ("a kind that is unknown", {"scope": {"kind": MARK, "id": "1"}}, ("/scope/kind",)),
    ("an empty id", {"scope": {"kind": "task", "id": ""}}, ("/scope/id",)),
    ("an id of 513 characters", {"scope": {"kind": "task", "id": "é" * 513}}, ("/scope/id",)),
    ("an id that is a number", {"scope": {"kind": "task", "id": 1}}, ("/scope/id",)),
    ("an object without a namespace", {"scope": {"kind": "object", "id": f"order:{MARK}"}}, ("/scope/id",)),
    ("an object with an empty part", {"scope": {"kind": "object", "id": f"order::{MARK}"}}, ("/scope/id",)),
    ("a subject that is no handle", {"scope": {"kind": "subject", "id": MARK}}, ("/scope/id",)),
    ("a subject of no phone", {"scope": {"kind": "subject", "id": "phone_e164:+5511"}}, ("/scope/id",)),
    ("a subject with a NUL", {"scope": {"kind": "subject", "id": f"anon_id:{MARK}\0"}}, ("/scope/id",)),
    ("a subject without a namespace", {"scope": {"kind": "subject", "id": "system_id:7"}}, ("/scope/id",)),
    ("an empty agent", {"agent": ""}, ("/agent",)),
    ("an agent of 257 characters", {"agent": MARK + "x" * 251}, ("/agent",)),
    ("an agent that is a number", {"agent": 7}, ("/agent",)),
    ("an agent that is null", {"agent": None}, ("/agent",)),
    ("an agent with a NUL", {"agent": f"{MARK}\0"}, ("/agent",)),
    ("an agent with a line break", {"agent": f"{MARK}\n"}, ("/agent",)),
    ("two things", {"agent": "", "scope": {"kind": MARK, "id": ""}}, ("/agent", "/scope/kind", "/scope/id")),
]

# Why, members over READ, and the pointers: 422 `invalid_input` where a version may be given.
INVALID_VERSION: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("a version that is a word", {"if_version": MARK}, ("/if_version",)),
    ("a version in quotes", {"if_version": "7"}, ("/if_version",)),
    ("a version below zero", {"if_version": -1}, ("/if_version",)),
    ("half a version", {"if_version": 1.5}, ("/if_version",)),
    ("a version that is true", {"if_version": True}, ("/if_version",)),
    ("a version as a huge double", {"if_version": 1e300}, ("/if_version",)),
]

# Why, members over WRITE, and the pointers: 422 `invalid_input` of a write.
INVALID_WRITE: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("a mode that is unknown", {"mode": MARK}, ("/mode",)),
    ("a body that is a list", {"body": [MARK]}, ("/body",)),
    ("a body that is null", {"body": None}, ("/body",)),
    ("a body that is a string", {"body": MARK}, ("/body",)),
    ("a removal in a cas", {"mode": "cas", "body": {"a/b~c": {"$delete": True}}}, ("/body/a~1b~0c",)),
    ("a subject that is a string", {"subject": MARK}, ("/subject",)),
    ("a subject without a value", {"subject": {"type": "email"}}, ("/subject/value",)),
    ("a subject with more", {"subject": {"type": "anon_id", "value": "1", MARK: 1}}, ("/subject",)),
    ("a handle of no type", {"subject": {"type": MARK, "value": "1"}}, ("/subject/type",)),
    ("an empty handle", {"subject": {"type": "anon_id", "value": ""}}, ("/subject/value",)),
    ("a handle of blanks", {"subject": {"type": "anon_id", "value": " \t"}}, ("/subject/value",)),
    ("a handle of 321", {"subject": {"type": "anon_id", "value": MARK + "x" * 315}}, ("/subject/value",)),
    ("a handle with a NUL", {"subject": {"type": "anon_id", "value": f"{MARK}\0"}}, ("/subject/value",)),
    ("a phone that is none", {"subject": {"type": "phone_e164", "value": MARK}}, ("/subject/value",)),
    ("an address that is none", {"subject": {"type": "email", "value": f"{MARK}@"}}, ("/subject/value",)),
    ("a namespace missing", {"subject": {"type": "system_id", "value": "7"}}, ("/subject/scope",)),
    (
        "a namespace too many",
        {"subject": {"type": "anon_id", "value": "7", "scope": MARK}},
        ("/subject/scope",),
    ),
    (
        "a country that is none",
        {"subject": {"type": "gov_id_hmac", "value": "7", "scope": MARK}},
        ("/subject/scope",),
    ),
    ("a time that is none", {"written_at": MARK}, ("/written_at",)),
    ("a time without a zone", {"written_at": "2026-11-30T12:00:00"}, ("/written_at",)),
    ("a time as a number", {"written_at": 1764504000}, ("/written_at",)),
]

# Members over WRITE that look bad and are good.
GOOD_WRITES: list[tuple[str, dict[str, Any]]] = [
    ("a version as a double", {"mode": "merge_by_key", "if_version": 0.0}),
    ("null where a member may be absent", {"if_version": None, "subject": None, "written_at": None}),
    ("a NUL and a pair of surrogates", {"body": {"remark": "\0\N{LEMON}", "anything": {"\0": "\0"}}}),
    ("32 levels", {"body": {"anything": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}}),
    ("the largest and the smallest integer", {"body": {"anything": [2**63 - 1, -(2**63)]}}),
    ("the largest double", {"body": {"anything": 1.7976931348623157e308}}),
    ("a double too small to tell from zero", {"body": {"anything": 1e-400}}),
    ("an id and an agent as long as they may be", {"scope": {"kind": "task", "id": "é" * 512}, "agent": "é" * 256}),
    ("a NUL in the id of a conversation", {"scope": {"kind": "conversation", "id": "\0"}}),
    ("a time in the future", {"written_at": "2999-12-31T23:59:59.999999+14:00"}),
    ("no field at all", {"body": {}}),
]  # fmt: skip

# Why, and the header: 422 `invalid_input`.
INVALID_IDEMPOTENCY_KEYS: list[tuple[str, str]] = [
    ("empty", ""),
    ("257 characters", MARK + "x" * 251),
    ("a letter beyond ASCII", f"{MARK}é"),
    ("a tab", f"{MARK}\tx"),
]

# The media type of a body is application/json and nothing else: 415.
UNSUPPORTED_MEDIA_TYPES = [
    "text/plain",
    "text/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/problem+json",
    "application/jsonx",
    f"{MARK}/{MARK}",
    "",
]
SUPPORTED_MEDIA_TYPES = ["application/json", "Application/JSON", "application/json; charset=utf-8"]

# Why, members over a good request for a context, and the pointers: 422 `invalid_input`.
INVALID_ASSEMBLE: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("the conversation is a list", {"conversation": [MARK]}, ("/conversation",)),
    ("no conversation", {"conversation": ""}, ("/conversation", "/conversation")),
    ("a long id", {"branch": MARK * 11}, ("/branch",)),
    ("a space in an id", {"participant": f"{MARK} b"}, ("/participant",)),
    ("NUL in a route", {"route": f"{MARK}\0"}, ("/route",)),
    ("an unknown kind", {"kind": MARK}, ("/kind",)),
    ("the run is a number", {"run": 7}, ("/run",)),
    ("a time without a zone", {"as_of": "2026-11-30T12:00:00"}, ("/as_of",)),
    ("half a token", {"budget_tokens": 1.5}, ("/budget_tokens",)),
    ("more bytes than a double holds", {"budget_bytes": 2**53 + 1}, ("/budget_bytes",)),
    ("true for a budget", {"budget_tokens": True}, ("/budget_tokens",)),
    ("one text of skills", {"skills": MARK}, ("/skills",)),
    ("a null among tools", {"tools": ["a", None]}, ("/tools/1",)),
    ("too many exact needs", {"need_exact": ["a"] * 201}, ("/need_exact",)),
    ("an exact need that is no id", {"need_exact": ["a", f"{MARK}/b"]}, ("/need_exact/1",)),
    ("a branch send without parents", {"kind": "branch_send"}, ("/parents",)),
    ("a policy by its name alone", {"policy": MARK}, ("/policy",)),
    ("version nought", {"policy": {"name": MARK, "version": 0}}, ("/policy/version",)),
    ("a long name of a policy", {"policy": {"name": MARK * 7}}, ("/policy/name",)),
    ("half a trace", {"trace": MARK}, ("/trace",)),
    ("a format that nobody reads", {"render": MARK}, ("/render",)),
    ("a member that is none", {MARK: 1}, ("",)),
]

# Why, members over a good question of why, and the pointers: 422 `invalid_input`.
INVALID_WHY: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("a type in capitals", {"type": MARK}, ("/type",)),
    ("a long type", {"type": "a" * 21}, ("/type",)),
    ("the type is null", {"type": None}, ("/type",)),
    ("the id is an object", {"id": {MARK: 1}}, ("/id",)),
    ("NUL in an id", {"id": f"{MARK}\0"}, ("/id",)),
    ("a long id", {"id": MARK * 11}, ("/id",)),
    ("a member that is none", {MARK: 1}, ("",)),
]
