"""Nothing broken: the real application, with wide windows."""

from console.wsgi import application
from tests.linearizability.broken.windows import widen

widen()

__all__ = ["application"]
