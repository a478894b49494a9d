"""How long a late write waits before it is sent again (SD-4)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Pauses in seconds: the first, then twice the last, up to the longest."""

    first: float = 0.5
    longest: float = 30.0

    def pause(self, tries: int, *, chance: float, asked: float | None = None) -> float:
        """Give the pause after so many tries (from 1). `chance`, 0 to 1, spreads it over its upper half.

        What the server asks for is never undercut.
        """
        whole = min(self.first * 2.0 ** min(tries - 1, 30), self.longest)
        return max(whole * (0.5 + chance / 2), asked or 0.0)
