"""The tables of governance, one file per noun."""

from privacy.models.erasure import ErasureRequest, ErasureStep

__all__ = ["ErasureRequest", "ErasureStep"]
