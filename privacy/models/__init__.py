"""The tables of governance, one file per noun."""

from privacy.models.packages import PackageChunk, PackageRun

__all__ = ["PackageChunk", "PackageRun"]
