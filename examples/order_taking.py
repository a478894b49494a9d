"""An order-taking agent with two sub-agents, played against the API with nothing but the standard library.

It reads the address and a key from `.lastro/demo.json` (or the file that LASTRO_DEMO_FILE names) and shows what an
agent's code meets: parallel writes, a conflict, a refused field, a write over the cap, and masking.
"""

import json
import os
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

AGENT = "order-taker"
CONFLICT = 412
CUSTOMER = {"type": "phone_e164", "value": "+55 11 91234-5678"}


class Refused(Exception):
    """The server does not take a call, and the conversation cannot go on."""


class Memory:
    """The working memory of one conversation, over HTTP."""

    def __init__(self, base_url: str, key: str, conversation: str) -> None:
        self._base_url, self._key = base_url, key
        self._scope = {"kind": "conversation", "id": conversation}

    def read(self) -> dict[str, Any]:
        """Read the state: its body and its version."""
        return self._call("POST", "/v1/agent-state/read", {})[1]

    def merge(self, **fields: Any) -> dict[str, Any]:
        """Replace single fields; whatever others write meanwhile stays."""
        return self._call(
            "PUT", "/v1/agent-state", {"mode": "merge_by_key", "body": fields, "subject": CUSTOMER}
        )[1]

    def replace(self, body: dict[str, Any], *, if_version: int) -> tuple[int, dict[str, Any]]:
        """Replace the whole state, only if nobody wrote since `if_version`."""
        write = {"mode": "cas", "body": body, "if_version": if_version, "subject": CUSTOMER}
        return self._call("PUT", "/v1/agent-state", write)

    def _call(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        request = urllib.request.Request(  # noqa: S310  (the address comes from the demo's own file)
            self._base_url + path,
            data=json.dumps({"scope": self._scope, "agent": AGENT, **body}).encode(),
            method=method,
            headers={"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refusal:
            problem = json.load(refusal)
            if refusal.code == CONFLICT:
                return refusal.code, problem
            raise Refused(f"{refusal.code} {problem['code']}: {problem['title']}") from refusal
        except urllib.error.URLError as silence:
            raise Refused(f"nobody answers at {self._base_url}: is `make demo` up?") from silence


def main() -> int:
    """Play the conversation and say what happened; exit 1 when something went otherwise."""
    demo = json.loads(
        Path(os.environ.get("LASTRO_DEMO_FILE", ".lastro/demo.json")).read_text(encoding="utf-8")
    )
    key = next(entry["key"] for entry in demo["keys"] if entry["scopes"] == ["agent_state"])
    memory = Memory(demo["base_url"], key, conversation=f"demo-{uuid4().hex[:8]}")
    steps = [greet, take_order_in_parallel, meet_a_conflict, be_refused, go_over_the_cap, leave_contact]
    try:
        outcomes = [step(memory) for step in steps]
        state = memory.read()
    except Refused as refused:
        say("The server answers", str(refused))
        return 1
    say("At the end", f"version {state['version']}, fields: {', '.join(sorted(state['body']))}")
    where_to_look(demo)
    return 0 if all(outcomes) else 1


def greet(memory: Memory) -> bool:
    """Begin: a compare-and-swap at version 0 holds only if nobody has written yet."""
    status, answer = memory.replace({"step": "greeting"}, if_version=0)
    say("The agent begins", f"stored at version {answer.get('version')}")
    return status == 200 and bool(answer["stored"])


def take_order_in_parallel(memory: Memory) -> bool:
    """Two sub-agents write different fields at the same time; neither loses the other's."""
    with ThreadPoolExecutor(2) as pool:
        cart = pool.submit(take_cart, memory)
        delivery = pool.submit(quote_delivery, memory)
        cart.result(), delivery.result()
    state = memory.read()
    kept = len(state["body"]["cart"]) == 3 and state["body"]["delivery"]["slot"] == "18:00-19:00"
    say("Two sub-agents wrote in parallel", f"6 merges, version {state['version']}, nothing lost: {kept}")
    return bool(kept and state["version"] == 7)


def take_cart(memory: Memory) -> None:
    """The cart sub-agent: three merges of its own field."""
    items = [{"sku": "coffee-500g", "qty": 2}, {"sku": "milk-1l", "qty": 6}, {"sku": "bread", "qty": 1}]
    for count in range(1, len(items) + 1):
        memory.merge(cart=items[:count])


def quote_delivery(memory: Memory) -> None:
    """The delivery sub-agent: three merges of its own field."""
    for slot in ("16:00-17:00", "17:00-18:00", "18:00-19:00"):
        memory.merge(delivery={"slot": slot, "fee": "9.90"})


def meet_a_conflict(memory: Memory) -> bool:
    """A compare-and-swap at a version that is no longer the stored one: read again, decide again, write again."""
    old = memory.read()
    memory.merge(step="delivery")
    wanted = {**old["body"], "total": {"amount": "87.40", "currency": "BRL"}}
    refused, problem = memory.replace(wanted, if_version=old["version"])
    fresh = memory.read()
    wanted = {**fresh["body"], "total": {"amount": "87.40", "currency": "BRL"}}
    stored, answer = memory.replace(wanted, if_version=fresh["version"])
    say(
        "A conflict",
        f"{refused} {problem.get('code')}, read again, then stored at version {answer.get('version')}",
    )
    return refused == 412 and stored == 200


def be_refused(memory: Memory) -> bool:
    """A field that the object type does not declare is refused, and the state stays as it was."""
    answer = memory.merge(mood="annoyed")
    say("A field that nobody declared", f"stored: {answer['stored']}, reason: {answer['reason']}")
    return bool(answer["reason"] == "not_declared_field")


def go_over_the_cap(memory: Memory) -> bool:
    """A write over the type's cap is no error: the previous state stays and the conversation goes on."""
    answer = memory.merge(cart=[{"sku": f"item-{number:04}", "qty": 1} for number in range(400)])
    say("A write over the cap of 4 KB", f"stored: {answer['stored']}, reason: {answer['reason']}")
    return bool(answer["reason"] == "over_cap")


def leave_contact(memory: Memory) -> bool:
    """Personal data is masked before it is stored: what comes back is what is kept."""
    answer = memory.merge(
        step="confirm",
        phone="+55 11 91234-5678",
        receipt_email="ana.souza@example.com",
        note="Card 4111 1111 1111 1111, ring twice",
    )
    kept = memory.read()["body"]
    masked = {name: kept[name] for name in ("phone", "receipt_email", "note")}
    say("Personal data", f"masked {answer['masked']}; kept as {json.dumps(masked)}")
    return "4111 1111" not in json.dumps(kept)


def where_to_look(demo: dict[str, Any]) -> None:
    """Say who can see what of this in the console."""
    people = {person["roles"][0]: person for person in demo["people"]}
    console = demo.get("console_url", demo["base_url"] + "/console/")
    support, security = people["support"], people["security"]
    print(f"\nNow look at it in the console: {console}")
    print(
        f"  as support  ({support['email']} / {support['password']}): find +55 11 91234-5678 and see that the state"
    )
    print("    is there, its size, version and dates, and never what it says")
    print(
        f"  as security ({security['email']} / {security['password']}): switch Working memory off under Features;"
    )
    print("    the next run of this script (python3 examples/order_taking.py) is answered 404 feature_off")


def say(what: str, happened: str) -> None:
    """Print one step."""
    print(f"  {what:<34} {happened}")


if __name__ == "__main__":
    sys.exit(main())
