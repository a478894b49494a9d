"""Verifying the audit chains, by hand and by itself, and removing what their retention is over for (PR-22)."""

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import msgspec
from django.core.mail import send_mail
from django.db import connection, transaction
from django.utils.translation import gettext as _

from workspaces import access, audit, documents, outside, signing
from workspaces.audit import DEPLOYMENT
from workspaces.errors import ChainDamaged, NotSigned
from workspaces.languages import spoken_to
from workspaces.models.audit import ChainHead
from workspaces.rules import checkpoints as rules
from workspaces.rules.chains import ChainState
from workspaces.rules.checkpoints import Checkpoint
from workspaces.rules.documents import DEFAULTS, duration_seconds
from workspaces.selectors.people import Member, members
from workspaces.services.checkpoints import of_chain, signed_checkpoint
from workspaces.types import Actor, AuditObject

_PRUNE = {True: "lastro_maintain_prune_deployment_audit", False: "lastro_maintain_prune_audit"}

UNREADABLE = "its last checkpoint outside cannot be read"

log = logging.getLogger("lastro.audit")


class Verdict(msgspec.Struct, frozen=True):
    """What a verification found of a chain: how far it verifies, and in a sentence what does not."""

    chain: str
    state: ChainState
    finding: str = ""


class Pruned(msgspec.Struct, frozen=True):
    """Which entries were removed from a chain: the number of the last, and how many."""

    through: int
    entries: int


def verify(chain: str, *, checkpoints: Sequence[Checkpoint] = (), keys: Iterable[str]) -> Verdict:
    """Walk a chain and compare it with checkpoints whose signatures verify (PR-22).

    `keys` are the public keys by which the checkpoint that stands for removed entries must be signed.
    """
    wanted = {one.seq for one in checkpoints}
    with of_chain(chain) as (heads, _):
        is_deployment = chain == DEPLOYMENT
        walk = audit.verify_deployment_chain if is_deployment else audit.verify_chain
        state, head = walk(wanted=wanted), heads.first()
    return Verdict(chain, state, _finding(state, head, checkpoints, list(keys)))


def verify_and_note(chain: str, *, now: datetime) -> Verdict:
    """Verify a chain by the last checkpoint outside, which binds every entry before it, and note what was found.

    A new finding is mailed to the security people.
    """
    keys = {key.public_key for key in signing.public_keys()}
    try:
        verdict = verify(chain, checkpoints=_last_outside(chain), keys=keys)
    except (OSError, ValueError):
        verdict = verify(chain, keys=keys)
        verdict = msgspec.structs.replace(verdict, finding=verdict.finding or UNREADABLE)
    with of_chain(chain) as (heads, _), transaction.atomic():
        before = heads.first()
        heads.update(verified_at=now, verified_seq=verdict.state.end, finding=verdict.finding)
        if verdict.finding and before is not None and before.finding != verdict.finding:
            log.error("audit.damaged", extra={"chain": chain, "entry": verdict.state.first_bad})
            transaction.on_commit(lambda: _alert(verdict), robust=True)
    return verdict


def prune(chain: str, *, actor: Actor, now: datetime) -> Pruned | None:
    """Remove the beginning of a chain that is past its retention, as the owner of the tables; None: there is nothing.

    1. Verify the chain: of a damaged one nothing is removed. Raises ChainDamaged.
    2. Sign a checkpoint of the last entry that goes, which stays in the place of what went.
    3. Have the database remove what is before it, which only the owner may ask for.

    A workspace's retention is the `audit` of its document, the deployment's seven years.
    """
    verdict = verify(chain, keys=[key.public_key for key in signing.public_keys()])
    if verdict.finding:
        raise ChainDamaged(verdict.finding)
    with of_chain(chain) as (_, entries), transaction.atomic():
        kept = entries.filter(at__gte=now - _retention(chain)).order_by("seq").first()
        old = entries.filter(seq__lt=kept.seq) if kept else entries
        last = old.order_by("-seq").first()
        if last is None:
            return None
        document = signed_checkpoint(chain=chain, seq=last.seq, head_hash=bytes(last.hash), at=now)
        removed = _remove(chain, document)
        facts = {"through": last.seq, "entries": removed}
        record = audit.record_outside if chain == DEPLOYMENT else audit.record
        record("audit.prune", actor=actor, now=now, on=AuditObject("chain", chain), facts=facts)
    return Pruned(last.seq, removed)


def _last_outside(chain: str) -> list[Checkpoint]:
    last = outside.last_kept(rules.KIND, under=chain)
    return [rules.read(last.document)] if last else []


def _finding(
    state: ChainState, head: ChainHead | None, checkpoints: Sequence[Checkpoint], keys: list[str]
) -> str:
    if head is not None and head.base_seq and not _stands_for_what_went(head, keys):
        return f"the checkpoint that stands for entries 1 to {head.base_seq} does not verify"
    contradiction = rules.first_contradiction(checkpoints, state)
    if contradiction is not None:
        return contradiction.sentence
    if state.first_bad is not None:
        return f"entry {state.first_bad} is the first that does not verify"
    return ""


def _stands_for_what_went(head: ChainHead, keys: list[str]) -> bool:
    try:
        signing.verify(head.base_checkpoint or {}, keys)
        stored = rules.read(head.base_checkpoint)
    except (NotSigned, ValueError):
        return False
    return (stored.seq, stored.hash) == (head.base_seq, bytes(head.base_hash).hex())


def _retention(chain: str) -> timedelta:
    body = DEFAULTS["retention"] if chain == DEPLOYMENT else documents.live("retention")["retention"].body
    return timedelta(seconds=duration_seconds(body["audit"]))


def _remove(chain: str, document: dict[str, object]) -> int:
    with connection.cursor() as cursor:
        text = msgspec.json.encode(document).decode()
        cursor.execute(f"SELECT {_PRUNE[chain == DEPLOYMENT]}(%s, %s::jsonb)", [chain, text])
        return int(cursor.fetchone()[0])


def _alert(verdict: Verdict) -> None:
    """Mail the security people of a workspace; of the deployment's chain, those of every workspace."""
    every = [str(workspace.id) for workspace in access.every_workspace()]
    chosen = every if verdict.chain == DEPLOYMENT else [verdict.chain]
    told: dict[str, Member] = {}
    for chain in chosen:
        with of_chain(chain):
            told |= {member.email: member for member in members() if "security" in member.roles}
    for email in sorted(told):
        with spoken_to(told[email]):
            send_mail(_("An audit log of Lastro does not verify"), _alert_text(verdict), None, [email])


def _alert_text(verdict: Verdict) -> str:
    words = {"chain": verdict.chain, "finding": verdict.finding}
    finding = _("The audit chain %(chain)s does not verify: %(finding)s.") % words
    command = "manage.py verify_audit --checkpoints FOLDER"
    advice = _("Run `%(command)s` before anything is changed.") % {"command": command}
    return f"{finding}\n\n{advice}\n"
