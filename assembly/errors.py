"""The refusals of context assembly, by the codes of the SDK."""

from workspaces.errors import Problem


class PayloadMismatch(Problem):
    """The bytes are not those that the record declares; nothing of them is kept (CA-4)."""

    code = "payload_mismatch"
    status = 422
    title = "The size or the digest is another one than the record declares; nothing was stored"


class PayloadAwaited(Problem):
    """The record is there, and its bytes have not been sent yet (CA-4)."""

    code = "payload_awaited"
    status = 409
    title = "The bytes of this payload have not been sent yet"
