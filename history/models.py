"""The tables of history: one row per session, one per message, and how much of it a workspace keeps."""

import uuid
from typing import Any

from django.db import models

from workspaces.models import Handle, Hold, Source, TenantModel


class Session(TenantModel):
    """A session: whose it is, where its branch ends, and who may extend it now. Ids are known as keyed hashes only.

    An erased session stays as a tombstone without content. One that expired or was deleted goes, except under a legal
    hold: then it stays as it was, and nobody is served of it (PR-12, PR-16).
    """

    class Life(models.TextChoices):
        LIVE = "live"
        EXPIRED = "expired"
        DELETED = "deleted"
        ERASED = "erased"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    source = models.ForeignKey(Source, on_delete=models.PROTECT, related_name="+", db_index=False)
    identity_hash = models.BinaryField(max_length=32)
    hash_key_id = models.UUIDField()
    # The keyed hash of its conversation as a scope, so that what names the conversation finds it.
    conversation_hash = models.BinaryField(max_length=32, null=True)
    # Its own: a name moves under another hash key when it is brought, and the two are not brought together (PL-12).
    conversation_key_id = models.UUIDField(null=True)
    handle = models.ForeignKey(Handle, null=True, on_delete=models.PROTECT, related_name="+", db_index=False)
    life = models.CharField(max_length=8, choices=Life.choices, default=Life.LIVE)

    # Pinned at the first decision (HI-1); empty before.
    provider = models.CharField(max_length=32, default="")
    model = models.CharField(max_length=256, default="")
    interface = models.CharField(max_length=16, default="")
    content_mode = models.CharField(max_length=16, default="")

    # Positions of items, 0 for none: where the branch ends, and the last one that was given.
    leaf = models.PositiveIntegerField(default=0)
    last_position = models.PositiveIntegerField(default=0)
    # Whether an item follows another one than the leaf of its time: then a path must be walked to be known.
    is_branched = models.BooleanField(default=False)
    item_count = models.PositiveIntegerField(default=0)
    stored_bytes = models.PositiveBigIntegerField(default=0)

    summary = models.BinaryField(null=True)
    summary_version = models.PositiveIntegerField(default=0)
    summary_expires_at = models.DateTimeField(null=True)
    data_key_id = models.UUIDField(null=True)

    # Who may extend it now (HI-5): the token as a hash, and by which request it was reserved.
    reservation_hash = models.BinaryField(max_length=32, null=True)
    reservation_id = models.UUIDField(null=True)
    reserved_at = models.DateTimeField(null=True)
    worker = models.CharField(max_length=200, default="")
    begin_mac = models.BinaryField(max_length=32, default=bytes)
    # What `abort` goes back to: where the branch ended, and the last position, when it was reserved.
    base_leaf = models.PositiveIntegerField(default=0)
    base_position = models.PositiveIntegerField(default=0)
    # False from the begin that made it until its first commit: an abort leaves nothing of it.
    is_kept = models.BooleanField(default=False)

    created_at = models.DateTimeField()
    touched_at = models.DateTimeField()
    due_at = models.DateTimeField()
    retention_document = models.PositiveIntegerField(default=0)
    ended_at = models.DateTimeField(null=True)
    # Of an erased one: since when its source knows that nothing is there (PR-12).
    known_absent_at = models.DateTimeField(null=True)
    # Set from the approval of an erasure on, until the row is its tombstone.
    erasure_id = models.UUIDField(null=True)

    class Meta(TenantModel.Meta):
        constraints = [
            # Stops two first requests for one session that race: the second sees the row of the first.
            models.UniqueConstraint(
                fields=["workspace", "identity_hash"],
                name="one_live_session_per_identity",
                condition=models.Q(life="live", erasure_id__isnull=True),
            ),
            # Stops a tombstone whose content could still be opened.
            models.CheckConstraint(
                condition=~models.Q(life="erased")
                | models.Q(data_key_id__isnull=True, summary__isnull=True, item_count=0),
                name="an_erased_session_holds_nothing",
            ),
            # Stops half a reservation.
            models.CheckConstraint(
                condition=models.Q(
                    reservation_hash__isnull=True, reservation_id__isnull=True, reserved_at__isnull=True
                )
                | models.Q(
                    reservation_hash__isnull=False, reservation_id__isnull=False, reserved_at__isnull=False
                ),
                name="a_reservation_is_whole",
            ),
        ]
        indexes = [
            models.Index(
                fields=["workspace", "identity_hash"],
                name="ended_sessions",
                condition=~models.Q(life="live") | models.Q(erasure_id__isnull=False),
            ),
            models.Index(
                fields=["workspace", "handle"],
                name="sessions_of_a_handle",
                condition=models.Q(handle__isnull=False),
            ),
            models.Index(
                fields=["workspace", "conversation_hash"],
                name="sessions_of_a_conversation",
                condition=models.Q(conversation_hash__isnull=False),
            ),
            models.Index(fields=["workspace", "due_at"], name="sessions_due"),
            models.Index(fields=["workspace", "retention_document"], name="sessions_to_settle"),
            models.Index(
                fields=["workspace", "reserved_at"],
                name="sessions_reserved",
                condition=models.Q(reserved_at__isnull=False),
            ),
            models.Index(
                fields=["workspace", "erasure_id"],
                name="sessions_being_erased",
                condition=models.Q(erasure_id__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return str(self.pk)


class Item(TenantModel):
    """One message of a session, or a record beside them. What it says, its id and its key are ciphertext.

    What a window asks before it opens anything stands in clear.
    """

    class Kind(models.TextChoices):
        MESSAGE = "message"
        OBSERVATION = "observation"
        NOT_EXECUTED = "not_executed"
        OPAQUE = "opaque"
        REMOVAL = "removal"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="+", db_index=False)
    position = models.PositiveIntegerField()
    # The position that it follows, 0 for a root.
    parent = models.PositiveIntegerField()
    kind = models.CharField(max_length=12, choices=Kind.choices, default=Kind.MESSAGE)
    # The id and the dedupe key, authenticated under the session's data key.
    name_mac = models.BinaryField(max_length=16)
    key_mac = models.BinaryField(max_length=16, null=True)
    item_bytes = models.PositiveIntegerField()
    # An instruction, which stands first in every window (X4).
    is_leading = models.BooleanField(default=False)
    # Unknown (null) while the session has no provider.
    opens_turn = models.BooleanField(null=True)
    is_provisional = models.BooleanField(default=False)
    # What it said was removed by the sweep; its id stays, so that the path through it does.
    is_swept = models.BooleanField(default=False)
    recorded_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    body = models.BinaryField()

    class Meta(TenantModel.Meta):
        constraints = [
            # Stops two appends that race from taking one place.
            models.UniqueConstraint(fields=["session", "position"], name="one_item_per_position"),
            # Stops two items of one name, which a parent or a leaf could not tell apart.
            models.UniqueConstraint(fields=["session", "name_mac"], name="one_item_per_name"),
        ]
        indexes = [
            models.Index(
                fields=["session", "key_mac"],
                name="items_of_a_key",
                condition=models.Q(key_mac__isnull=False),
            ),
            models.Index(
                fields=["session", "position"],
                name="instructions_of_a_session",
                condition=models.Q(is_leading=True),
            ),
            models.Index(
                fields=["session", "position"],
                name="turns_of_a_session",
                condition=models.Q(opens_turn=True),
            ),
            models.Index(
                fields=["session", "position"],
                name="records_of_a_session",
                condition=models.Q(kind__in=["opaque", "removal"]),
            ),
            models.Index(
                fields=["workspace", "session"], name="removals", condition=models.Q(kind="removal")
            ),
            models.Index(
                fields=["workspace", "expires_at"],
                name="items_due",
                condition=models.Q(expires_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return str(self.pk)


class KeptItem(TenantModel):
    """A message that a session lost under a legal hold, or a summary, sealed as it was until the hold ends (PR-16).

    Of a summary the position is its version.
    """

    SUMMARY = "summary"

    id = models.BigAutoField(primary_key=True)
    hold = models.ForeignKey(Hold, on_delete=models.CASCADE, related_name="+", db_index=False)
    session_id = models.UUIDField()
    source_id = models.UUIDField()
    conversation_hash = models.BinaryField(max_length=32, null=True)
    hash_key_id = models.UUIDField()
    handle_id = models.UUIDField(null=True)
    data_key_id = models.UUIDField()
    item_id = models.UUIDField()
    kind = models.CharField(max_length=12)
    position = models.PositiveIntegerField()
    recorded_at = models.DateTimeField(null=True)
    body = models.BinaryField()
    kept_at = models.DateTimeField()

    class Meta(TenantModel.Meta):
        indexes = [
            models.Index(fields=["workspace", "hold", "id"], name="items_of_a_hold"),
            models.Index(fields=["workspace", "conversation_hash"], name="kept_of_a_conversation"),
        ]

    def __str__(self) -> str:
        return str(self.pk)


class Usage(TenantModel):
    """How many live sessions and bytes a workspace keeps, in parts whose sum counts; a trigger keeps them (HI-4).

    Each connection to the database has a part of its own, or nearly, so that appends do not wait for each other.
    """

    part = models.PositiveSmallIntegerField()
    sessions = models.BigIntegerField(default=0)
    stored_bytes = models.BigIntegerField(default=0)

    class Meta(TenantModel.Meta):
        constraints = [
            # Stops two rows for one part: the second adds to the first.
            models.UniqueConstraint(fields=["workspace", "part"], name="one_usage_per_part")
        ]

    def __str__(self) -> str:
        return f"{self.part}"


class HistorySweep(TenantModel):
    """One run of the sweep that found something due: what it removed by kind, and what it left (PR-20)."""

    began_at = models.DateTimeField()
    ended_at = models.DateTimeField()
    removed: Any = models.JSONField(default=dict)
    damaged = models.PositiveIntegerField(default=0)
    backlog = models.PositiveIntegerField(default=0)

    class Meta(TenantModel.Meta):
        indexes = [models.Index(fields=["workspace", "-ended_at"], name="history_sweep_newest")]

    def __str__(self) -> str:
        return str(self.pk)
