"""`manage.py verify_receipt FILE --public-key KEY`: tell whether a receipt is whole, offline (PR-14)."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from privacy.rules.erasures import receipt_hash
from workspaces.errors import NotSigned
from workspaces.rules import signatures


class Command(BaseCommand):
    help = "Verify the receipt of an erasure against public keys. Asks no database."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="the receipt, as GET /v1/forget/{id} gives it in `receipt`")
        parser.add_argument(
            "--public-key",
            action="append",
            required=True,
            help="base64 of a public key, from GET /v1/signing-keys or a checkpoint; may be given several times",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        receipt = self._read(Path(options["file"]))
        try:
            signatures.require_signed(receipt, options["public_key"])
        except NotSigned as error:
            raise CommandError(f"The receipt does not verify: it was {error}.") from error
        except ValueError as error:
            raise CommandError("A public key is base64 of 32 bytes.") from error
        if receipt.get("kind") != "erasure-receipt":
            raise CommandError("The document is signed, and is no receipt of an erasure.")
        self.stdout.write(f"The receipt {receipt['reference']} verifies.")
        self.stdout.write(f"SHA-256: {receipt_hash(receipt)}")
        for kind, count in receipt["erased"].items():
            self.stdout.write(f"  {kind}: {count}")

    def _read(self, path: Path) -> dict[str, Any]:
        try:
            receipt = json.loads(path.read_bytes())
        except OSError as error:
            raise CommandError(f"{path} cannot be read.") from error
        except ValueError as error:
            raise CommandError(f"{path} is not JSON.") from error
        if not isinstance(receipt, dict):
            raise CommandError(f"{path} is no receipt.")
        return receipt
