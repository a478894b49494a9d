"""What every view of context assembly knows."""

from assembly.documents import FEATURE, bounds_of
from assembly.selectors.records import JSON
from assembly.types import Bounds
from workspaces.http.permissions import Needs
from workspaces.http.views import ApiView

NEEDS = Needs(feature=FEATURE, scope="context")


class ContextView(ApiView):
    """A view of the runtime graph, which all sources of a workspace share (CA-1)."""

    tag = "Context"
    json_rules = JSON

    @property
    def bounds(self) -> Bounds:
        """Give how long what is recorded is kept."""
        return bounds_of(self.admitted.live)
