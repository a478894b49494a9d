"""Masking of personal data before it is stored: pure rules and detectors (PR-5 to PR-8).

`walk` goes through the fields, `text` masks one string, `scan` asks the `detectors` what is in it,
`strategies` writes what takes its place, and `markers` recognizes what masking has written.
"""

from workspaces.masking.policy import FieldRule, MaskingPolicy, policy_from
from workspaces.masking.walk import Masked, mask_fields, mask_text

__all__ = ["FieldRule", "Masked", "MaskingPolicy", "mask_fields", "mask_text", "policy_from"]
