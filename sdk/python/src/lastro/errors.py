"""Every refusal of the SDK: a class with a code and what the rule or the server said, never content (SD-11)."""

from typing import ClassVar


class LastroError(Exception):
    """What this package raises. `code` is stable; `request_id` is the server's, where one answered."""

    code: ClassVar[str] = "error"

    def __init__(self, detail: str = "", *, request_id: str | None = None) -> None:
        super().__init__(detail or self.code)
        self.request_id = request_id
