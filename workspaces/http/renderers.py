"""Every answer of /v1 is JSON, whatever the Accept header says."""

from typing import Any

import msgspec
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer


class JsonRenderer(BaseRenderer):
    """Writes structs, dates and ids as compact JSON."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None
    ) -> bytes:
        return b"" if data is None else msgspec.json.encode(data)


class OnlyJson(BaseContentNegotiation):
    """Takes the first parser and renderer without looking at what the client prefers."""

    def select_parser(self, request: Any, parsers: Any) -> Any:
        return parsers[0]

    def select_renderer(self, request: Any, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type
