"""The `assemble` cases of public reports (O19, O28), told to a runtime graph."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

from runtime_graphs import START, World, at, outcomes

from lastro.assembly.rendering.messages import messages_for
from lastro.assembly.results import Assembly

CASES = Path(__file__).parent / "assembly_cases"
REASONS = {"branch": "other_branch", "visibility": "not_visible", "privacy": "privacy_route"}
PRIVACY = {"normal": "internal"}


def case(name: str) -> dict[str, Any]:
    """Read a case."""
    found: dict[str, Any] = json.loads((CASES / f"{name}.json").read_text())
    return found


def told(setup: dict[str, Any], items: list[dict[str, Any]]) -> World:
    """Write a case's neutral items as records."""
    owners = {item["owner"] for item in items} | {setup["participant"]}
    world = World(people={**dict.fromkeys(sorted(owners), "model"), "ana": "person"})
    world.add("model_run", "parent", route="openai", model="m", participant=setup["participant"])
    for message in setup["branch"]:
        world.says(message, "a message", final=True)
    for run in sorted({item["run"] for item in items if "run" in item}):
        world.add("model_run", run, route="openai", model="m", participant=run, parent_run="parent")
    for item in items:
        tell(world, item)
    return world


def tell(world: World, item: dict[str, Any]) -> None:
    """Write one neutral item."""
    child = {"run": item["run"], "parent_run": "parent"} if "run" in item else {"run": "parent"}
    owner = {
        "participant": item["owner"],
        "visibility": item["visibility"],
        "privacy": PRIVACY[item["privacy"]],
        "message": item["branch_message"],
        **child,
    }
    if item["type"] == "artifact":
        world.artifact(item["id"], tool=item["tool"], result=item["raw"], **owner)
        return
    sources = {"artifacts": item["from"]} if "from" in item else {}
    seen = {"observed_at": at(item["observed_at"])} if "observed_at" in item else {}
    replaces = {"supersedes": item["supersedes"]} if "supersedes" in item else {}
    world.memory(
        item["id"], item["summary"], tool=item.get("tool", "tool"), **owner, **sources, **seen, **replaces
    )
    if item.get("promotion") == "parent_visible":
        world.add("promotion", f"up-{item['id']}", record_type="tool_memory", record=item["id"])


def require_facts(assembly: Assembly, facts: dict[str, Any]) -> None:
    """Compare with what a case says is included, omitted and stale."""
    found = outcomes(assembly)
    for id in facts.get("included", []):
        assert found[id] == "memory"
    for id, reason in facts.get("omitted", {}).items():
        assert found[id] == REASONS.get(reason, reason)
    if "stale" in facts:
        assert [id for id, outcome in found.items() if "stale" in outcome] == facts["stale"]


def test_a_childs_work_stays_its_own_and_its_report_is_data() -> None:
    """O19, CA-6, CA-19: a sub-agent's private work is not visible, what was promoted is data."""
    found = case("O19")
    setup = found["input"]["setup"]
    world = told(setup, setup["items"])
    asked = {"participant": setup["participant"]}
    assembly = world.assemble(**asked)
    require_facts(assembly, found["expect"]["facts"])
    for provider in ("openai.chat", "openai.responses", "anthropic.messages", "gemini.contents"):
        messages = messages_for(provider, assembly, world.request(**asked), participants={})
        text = json.dumps(messages)
        assert all(said in text for said in found["expect"]["text_present"])
        assert not any(said in text for said in found["expect"]["text_absent"])
        assert not {message["role"] for message in messages} & {"system", "developer"}


def test_a_failed_edit_replaces_nothing_and_a_good_one_does() -> None:
    """O28, CA-13: what was read stays current until a record that replaces it is there."""
    found = case("O28")
    setup = found["input"]["setup"]
    for number, step in enumerate(found["operation"]["steps"]):
        items = [item for item in setup["items"] if item["id"] in step["args"]["with"]]
        world = told(setup, items)
        as_of = START + timedelta(minutes=step["args"]["now"])
        assembly = world.assemble(participant=step["args"]["for"], as_of=as_of)
        require_facts(assembly, found["expect"]["facts"][f"step_{number}"])
