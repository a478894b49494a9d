"""`manage.py verify_audit`: walk the audit chains, compare checkpoints, and name the first bad entry (PR-22)."""

from collections import defaultdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from workspaces import access, outside, signing
from workspaces.audit import DEPLOYMENT
from workspaces.errors import NotSigned
from workspaces.outside import Kept
from workspaces.rules import checkpoints as rules
from workspaces.rules.checkpoints import Checkpoint
from workspaces.rules.signatures import decode_key
from workspaces.services import chains
from workspaces.services.chains import Verdict


class Command(BaseCommand):
    help = "Verify the audit chain of every workspace and of the deployment."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--workspace", help="only this one (its slug)")
        parser.add_argument(
            "--checkpoints", metavar="FOLDER", type=Path, help="the folder that checkpoints were delivered to"
        )
        parser.add_argument(
            "--public-key",
            action="append",
            default=[],
            metavar="BASE64",
            help="a key of /v1/signing-keys that you kept; without one the database's own keys are trusted",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        self._failed = False
        names = _chains(options["workspace"])
        folder = options["checkpoints"]
        kept = _kept(folder, rules.KIND) if folder else []
        handovers = _kept(folder, "signing-key") if folder else []
        keys = _keys(options["public_key"], [*handovers, *kept])
        found = self._signed(kept, keys)
        for chain, name in names.items():
            self._verify(chain, name, found.pop(chain, []), keys)
        for chain, strangers in found.items() if not options["workspace"] else ():
            self._say_absent(chain, strangers)
        if self._failed:
            raise CommandError("The audit does not verify.")

    def _signed(self, kept: list[Kept], keys: set[str]) -> dict[str, list[Checkpoint]]:
        """Give the checkpoints by chain, and name each file that no trusted key has signed as it stands."""
        found: dict[str, list[Checkpoint]] = defaultdict(list)
        for one in kept:
            try:
                signing.verify(one.document, keys)
                checkpoint = rules.read(one.document)
            except (NotSigned, ValueError) as error:
                self._fail(f"checkpoint {one.name}: {error}")
            else:
                found[checkpoint.chain].append(checkpoint)
        return found

    def _verify(self, chain: str, name: str, found: list[Checkpoint], keys: set[str]) -> None:
        given_up = rules.void(found)
        standing = [one for one in found if one not in given_up]
        verdict = chains.verify(chain, checkpoints=standing, keys=keys)
        if verdict.finding:
            self._fail(f"{name}: {verdict.finding}")
        else:
            self.stdout.write(f"{name}: {_good(verdict, len(standing))}")
        if given_up:
            self.stdout.write(
                f"{name}: {len(given_up)} checkpoints were given up by a restore that was accepted"
            )

    def _say_absent(self, chain: str, found: list[Checkpoint]) -> None:
        if len(rules.void(found)) < len([one for one in found if one.seq]):
            self._fail(f"{chain}: {len(found)} checkpoints, and this database has no such chain")

    def _fail(self, sentence: str) -> None:
        self._failed = True
        self.stdout.write(self.style.ERROR(sentence))


def _chains(wanted: str | None) -> dict[str, str]:
    """Name the chains that are asked for."""
    chosen = {str(found.id): found.slug for found in access.every_workspace() if wanted in {None, found.slug}}
    if wanted and not chosen:
        raise CommandError("There is no workspace with that slug.")
    return chosen if wanted else {DEPLOYMENT: DEPLOYMENT} | chosen


def _kept(folder: Path, kind: str) -> list[Kept]:
    if not folder.is_dir():
        raise CommandError("There is no such folder of checkpoints.")
    try:
        return list(outside.kept(kind, place=folder))
    except (OSError, ValueError) as error:
        raise CommandError(str(error)) from error


def _keys(given: list[str], kept: list[Kept]) -> set[str]:
    """Give the keys to trust: the given ones, else the database's, and those that they vouch for."""
    try:
        for text in given:
            decode_key(text)
    except ValueError as error:
        raise CommandError("A public key is base64 of 32 bytes.") from error
    first = given or [key.public_key for key in signing.public_keys()]
    return rules.trusted_keys((one.document for one in kept), first)


def _good(verdict: Verdict, checkpoints: int) -> str:
    removed = f" after {verdict.state.base} that were removed" if verdict.state.base else ""
    compared = f", and {checkpoints} checkpoints agree" if checkpoints else ""
    return f"{verdict.state.entries} entries verify{removed}{compared}"
