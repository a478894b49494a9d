"""The digests of recorded runs, printed: for a test that compares them across processes."""

from scenarios import contexts
from scenarios.others import OTHERS
from scenarios.published import PUBLISHED


def digests() -> list[str]:
    """Give the digest of each recorded run."""
    return [contexts(make(), len).assembly.digest for make in (*PUBLISHED, *OTHERS)]


if __name__ == "__main__":
    print("\n".join(digests()))  # noqa: T201
