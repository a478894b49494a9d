"""What takes the approval of a second person in the bound workspace (PR-2b)."""

from workspaces.models import FourEyes


def needs_approval(kind: str) -> bool:
    """Tell whether four eyes hold for a kind of document, or for `erasure` (PR-2b, PR-9)."""
    return FourEyes.objects.filter(kinds__contains=[kind]).exists()


def four_eyes() -> FourEyes:
    """Give where four eyes hold, with the version that a change replaces; off everywhere where nothing was set."""
    return FourEyes.objects.first() or FourEyes()
