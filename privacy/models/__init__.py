"""The tables of governance, one file per noun."""

from privacy.models.erasures import ErasureRequest, ErasureStep
from privacy.models.packages import PackageChunk, PackageRun

__all__ = ["ErasureRequest", "ErasureStep", "PackageChunk", "PackageRun"]
