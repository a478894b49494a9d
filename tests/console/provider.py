"""A provider of OpenID Connect on the loopback, and a browser's way through it without a browser."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx
import oidc_provider_mock
from django.test import Client
from django.utils.functional import cached_property

from console.env import OpenId

STARTS, DONE = "/console/sign-in/openid/", "/console/sign-in/openid/done/"


class Provider:
    """A running provider; people of it are known by a subject, and say of themselves what `put` told."""

    def __init__(self, port: int) -> None:
        # By this name: it is what the provider calls itself, since it repeats the host of the request.
        self.issuer = f"http://localhost:{port}"

    @cached_property
    def http(self) -> httpx.Client:
        return httpx.Client(trust_env=False, base_url=self.issuer)

    def settings(self, **change: Any) -> OpenId:
        """Give the settings of a server that trusts it."""
        kept = OpenId(self.issuer, "lastro", "a secret of the two", "Acme", has_second_factor=False)
        return kept._replace(**change)

    def put(self, subject: str, **claims: Any) -> None:
        """Say what the provider knows of somebody."""
        self.http.put(f"/users/{subject}", json=claims).raise_for_status()

    def agree(self, address: str, subject: str) -> str:
        """Sign in there as somebody; give where the browser is sent back to, without its host."""
        answer = self.http.post(address, data={"sub": subject})
        back = urlsplit(answer.headers["Location"])
        return f"{back.path}?{back.query}"

    def walk(self, client: Client, subject: str, *, change: Mapping[str, str] | None = None) -> Any:
        """Go from our sign-in through the provider and back; `change` replaces parameters of the two addresses."""
        there = client.get(STARTS)["Location"]
        for name, value in (change or {}).items():
            there = re.sub(rf"([?&]{name}=)[^&]*", rf"\g<1>{value}", there)
        return client.get(self.agree(there, subject))


@contextmanager
def running(**config: Any) -> Iterator[Provider]:
    """Run a provider until the block ends; its configuration is that of the package."""
    with oidc_provider_mock.run_server_in_thread(**config) as server:
        yield Provider(server.server_port)


EXPIRED = {"access_token_max_age": timedelta(minutes=-10)}
