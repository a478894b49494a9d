"""What masking would keep of a value, under the document in force."""

from workspaces import documents
from workspaces.masking import FieldRule, Masked, mask_fields, policy_from

FIELD = "value"


def kept_of(value: str, *, pii: bool | str, example_key: bytes) -> Masked:
    """Mask a value as a text declared so (not, as `true`, or with a kind) would be; nothing is stored (PR-5, PR-7).

    Hashes are made with `example_key` and not with the workspace's, so that nobody can try guesses against stored ones.
    A value that is dropped is absent from the fields.
    """
    policy = policy_from(documents.live("masking")["masking"].body, hash_key=example_key)
    return mask_fields({FIELD: value}, declared={FIELD: FieldRule(type="text", pii=pii)}, policy=policy)
