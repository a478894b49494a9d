"""The platform's own routes: who a key is, what a client may use, finding a profile."""

from django.conf import settings
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from workspaces import documents, errors, signing
from workspaces.http.openapi import EXAMPLE_ID, example, idempotency_key, operation
from workspaces.http.permissions import Needs
from workspaces.http.views import ApiView
from workspaces.models import Profile
from workspaces.serializers import (
    Batch,
    BatchAnswer,
    FoundHandle,
    FoundProfile,
    FoundProfiles,
    IngestState,
    IngestStatus,
    SdkProfile,
    SdkProfileType,
    SearchProfiles,
    SigningKeyAnswer,
    SigningKeys,
    SourceMe,
)
from workspaces.services import profiles
from workspaces.types import PublicKey

# The published clients refuse a whole profile for one feature that they do not know.
CLIENT_FEATURES = frozenset({"agent_state"})


class ProfileSearchView(ApiView):
    tag = "Profiles"
    needs = {"POST": Needs(scope="admin", permission="find_profiles")}

    @operation(
        summary="Find a profile by a handle or a pseudonym",
        body=SearchProfiles,
        answer=FoundProfiles,
        examples=(
            example("by phone", {"query": "+55 11 91234-5678"}, is_request=True),
            example("by pseudonym", {"query": "p_7kq2m9xw4t3rbn6hc8vd"}, is_request=True),
            example(
                "one person",
                {
                    "items": [
                        {
                            "profile_id": EXAMPLE_ID,
                            "pseudonym": "p_7kq2m9xw4t3rbn6hc8vd",
                            "kind": "person",
                            "partial": False,
                            "handles": [{"type": "phone_e164", "value": "…78"}],
                            "last_seen": "2026-11-30T12:00:00Z",
                        }
                    ]
                },
            ),
            example("nobody", {"items": []}),
        ),
    )
    def post(self, request: Request) -> Response:
        """Find the person that an identifier names, in any spelling; the search is audited without it (CO-3)."""
        shape = self.body(request, SearchProfiles)
        found = profiles.find(
            workspace=self.caller.workspace,
            query=shape.query,
            type=shape.type,
            namespace=shape.scope,
            actor=self.caller.actor,
            now=timezone.now(),
        )
        return Response(FoundProfiles(items=[_found(profile) for profile in found]))


class SourceMeView(ApiView):
    tag = "Platform"
    needs = {"GET": Needs(any_key=True)}

    @operation(
        summary="See which source a key stands for",
        answer=SourceMe,
        examples=(
            example(
                "a chat backend",
                {
                    "space_id": "aurora",
                    "tenant_id": EXAMPLE_ID,
                    "region": "local",
                    "environment": "production",
                    "source_id": EXAMPLE_ID,
                    "source_name": "chat backend",
                    "key_id": EXAMPLE_ID,
                    "scopes": ["agent_state"],
                    "audience": "customer_agent",
                    "verification_ceiling": "V0",
                    "purposes": [],
                    "agent_memory": False,
                },
            ),
        ),
    )
    def get(self, request: Request) -> Response:
        """Say who the key is and which scopes it has."""
        return Response(
            SourceMe(
                space_id=self.caller.workspace.slug,
                tenant_id=str(self.caller.workspace.id),
                region="local",
                environment=settings.LASTRO_ENVIRONMENT,
                source_id=str(self.caller.source_id),
                source_name=self.caller.source_name,
                key_id=str(self.caller.credential_id),
                scopes=sorted(self.caller.scopes),
                audience="customer_agent",
                verification_ceiling="V0",
                purposes=[],
                agent_memory=False,
            )
        )


class SdkProfileView(ApiView):
    tag = "Platform"
    needs = {"GET": Needs(any_key=True)}

    @operation(
        summary="See the enabled features and declared types",
        answer=SdkProfile,
        examples=(
            example(
                "working memory is on",
                {
                    "features": ["agent_state"],
                    "types": [{"type": "order"}],
                    "tool_bindings": [],
                    "valid_for_s": 60,
                },
            ),
        ),
    )
    def get(self, request: Request) -> Response:
        """Say what a client may use in this workspace."""
        live = documents.live("features", "object-types")
        types = [SdkProfileType(declared["type"]) for declared in live["object-types"].body["types"]]
        features = [name for name in live["features"].body["enabled"] if name in CLIENT_FEATURES]
        return Response(SdkProfile(features=features, types=types))


class IngestStatusView(ApiView):
    tag = "Platform"
    needs = {"POST": Needs(any_key=True)}

    @operation(
        summary="Ask what became of ingested turns",
        body=IngestStatus,
        answer=IngestState,
        examples=(
            example("of a conversation", {"conversation_id": "c-4711"}, is_request=True),
            example("unknown", {"state": "unknown"}),
        ),
    )
    def post(self, request: Request) -> Response:
        """Answer `unknown`: this server ingests no turns."""
        self.body(request, IngestStatus)
        return Response(IngestState())


class BatchView(ApiView):
    tag = "Platform"
    needs = {"POST": Needs(any_key=True)}

    @operation(
        summary="Accept a client's session items",
        body=Batch,
        answer=BatchAnswer,
        refusals=(errors.Conflict,),
        parameters=(idempotency_key(),),
        examples=(
            example(
                "the end of a conversation",
                {
                    "items": [
                        {
                            "type": "conversation.ended",
                            "conversation_id": "c-4711",
                            "occurred_at": "2026-11-30T12:00:00Z",
                        }
                    ]
                },
                is_request=True,
            ),
            example("accepted", {"accepted": 1, "duplicates": 0, "errors": [], "masked": {}}),
        ),
    )
    def post(self, request: Request) -> Response:
        """Accept every item and keep nothing of it, so that a client's plain session loses nothing and logs nothing."""
        shape = self.body(request, Batch)
        return self.once(request, lambda: Response(BatchAnswer(accepted=len(shape.items))))


class SigningKeysView(ApiView):
    tag = "Platform"
    needs = {"GET": Needs(any_key=True, any_token=True)}

    @operation(
        summary="Read the public keys that verify receipts and checkpoints",
        answer=SigningKeys,
        examples=(
            example(
                "one key",
                {
                    "items": [
                        {
                            "id": "cf23df2207d99a74fbe169e3eba035e6",
                            "algorithm": "Ed25519",
                            "public_key": "1NuEkTGFzPh1hxNhDi+8lqkv0CC9pYF2c5nM8ALmS7M=",
                            "valid_from": "2026-11-30T12:00:00Z",
                            "valid_to": None,
                        }
                    ]
                },
            ),
        ),
    )
    def get(self, request: Request) -> Response:
        """List the deployment's signing keys, retired ones too (PR-20b)."""
        return Response(SigningKeys(items=[_key(key) for key in signing.public_keys()]))


def _key(key: PublicKey) -> SigningKeyAnswer:
    return SigningKeyAnswer(
        id=key.id,
        algorithm="Ed25519",
        public_key=key.public_key,
        valid_from=key.valid_from,
        valid_to=key.valid_to,
    )


def _found(profile: Profile) -> FoundProfile:
    return FoundProfile(
        profile_id=str(profile.id),
        pseudonym=profile.pseudonym,
        kind="person",
        partial=False,
        handles=[FoundHandle(type=handle.type, value=handle.hint) for handle in profile.handles.all()],
        last_seen=profile.last_seen_at,
    )
