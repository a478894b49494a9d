"""OpenID Connect by a provider that the settings name: the way there, and what comes back (PL-4).

Its libraries take 16 MiB of a process, so they are loaded by the first person who comes this way.
"""

from functools import lru_cache
from typing import Any

from django.http import HttpResponse

from console.env import OpenId
from workspaces.services.openid import OpenIdClaims

# Signed by a private key of the provider alone: no shared secret, and never unsigned.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
TIMEOUT_SECONDS = 10
LEEWAY_SECONDS = 60
_DISCOVERY = "/.well-known/openid-configuration"
class OpenIdRefused(Exception):
    """The provider did not answer, or what it said cannot be believed. The reason is for nobody but the log."""


def lead_there(provider: OpenId, redirect_uri: str, request: Any) -> HttpResponse:
    """Send the browser to the provider; state, nonce and verifier (PKCE) stay in the session. Raises OpenIdRefused."""
    try:
        answer: HttpResponse = _client(provider).authorize_redirect(request, redirect_uri)
    except _broken() as error:
        raise OpenIdRefused(type(error).__name__) from error
    return answer


def was_asked(provider: OpenId, request: Any) -> bool:
    """Tell whether this browser was led away with the state that came back; no other site can know that."""
    state = request.GET.get("state", "")
    return _client(provider).framework.get_state_data(request.session, state) is not None


def claims_of(provider: OpenId, request: Any) -> OpenIdClaims:
    """Trade the code that came back for an ID token, and give what that says once it is verified.

    Refused by OpenIdRefused: another state or nonce, a signature that is not the provider's, another issuer or
    audience, a token that has expired or is missing, and a provider that answers nothing.
    """
    try:
        client = _client(provider)
        client.server_metadata |= _believed(provider, client.load_server_metadata())
        token = client.authorize_access_token(
            request, claims_options=_wanted(provider), leeway=LEEWAY_SECONDS
        )
        return _claims(token["userinfo"])
    except _broken() as error:
        raise OpenIdRefused(type(error).__name__) from error


def _believed(provider: OpenId, metadata: dict[str, Any]) -> dict[str, Any]:
    """Hold the provider to the issuer that the settings name, and to algorithms that prove something."""
    if metadata["issuer"] != provider.issuer:
        raise OpenIdRefused("issuer")
    offered = metadata.get("id_token_signing_alg_values_supported", ["RS256"])
    return {"id_token_signing_alg_values_supported": [name for name in offered if name in ALGORITHMS]}


def _wanted(provider: OpenId) -> dict[str, Any]:
    # By itself the library lets a token for somebody else pass whose `azp` is us.
    return {"iss": {"value": provider.issuer}, "aud": {"value": provider.client_id}}


def _claims(said: dict[str, Any]) -> OpenIdClaims:
    email = said.get("email") if said.get("email_verified") is True else None
    return OpenIdClaims(
        issuer=str(said["iss"]),
        subject=str(said["sub"]),
        verified_email=email if isinstance(email, str) else "",
    )


def _broken() -> tuple[type[Exception], ...]:
    """List what the libraries raise for a provider that does not answer, or answers something odd."""
    from authlib.common.errors import AuthlibBaseError
    from joserfc.errors import JoseError
    from requests import RequestException

    odd = (AttributeError, LookupError, RuntimeError, TypeError, ValueError)
    return (AuthlibBaseError, JoseError, RequestException, *odd)


@lru_cache(maxsize=4)
def _client(provider: OpenId) -> Any:
    """Make the client of a provider; what the provider says of itself is kept with it."""
    from authlib.integrations.django_client import OAuth

    return OAuth().register(
        "openid",
        client_id=provider.client_id,
        client_secret=provider.client_secret,
        server_metadata_url=provider.issuer.rstrip("/") + _DISCOVERY,
        client_kwargs={
            "scope": "openid email",
            "code_challenge_method": "S256",
            "default_timeout": TIMEOUT_SECONDS,
        },
    )
