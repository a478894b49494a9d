"""What takes the approval of a second person, and which requests wait for one (PR-2b, CO-6)."""

from workspaces.selectors.approvals import four_eyes, needs_approval

__all__ = ["four_eyes", "needs_approval"]
