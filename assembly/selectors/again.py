"""Reading again what was sealed under another key meanwhile (PL-12)."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from workspaces.errors import KeyDestroyed, NotFound, Tampered

P = ParamSpec("P")
R = TypeVar("R")


def again_if_resealed(read: Callable[P, R]) -> Callable[P, R]:
    """Read once more where a key or a record did not fit: between two queries all may get another key.

    A rotation does that, and whoever says at last whom a conversation is with. What is damaged or gone fails again.
    """

    @wraps(read)
    def reading(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return read(*args, **kwargs)
        except Tampered:
            return read(*args, **kwargs)
        except NotFound as error:
            if not isinstance(error.__cause__, KeyDestroyed):
                raise
        return read(*args, **kwargs)

    return reading
