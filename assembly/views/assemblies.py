"""The routes of assemblies: one more, those that were, and why (CA-9, CA-16, CA-17)."""

from time import perf_counter
from uuid import UUID

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from assembly import errors as refusals
from assembly.selectors import assemblies as selectors
from assembly.selectors.answers import summary_of
from assembly.selectors.explanations import explain
from assembly.serializers import AskWhy, AssembleContext, ListedAssemblies, assembly_filter, assembly_wish
from assembly.services.assemblies import assemble_context
from assembly.types import AssembledContext, AssemblyRecord, Why
from assembly.views.base import NEEDS, ContextView
from lastro.assembly.records import Reference
from workspaces import errors
from workspaces.http.openapi import EXAMPLE_ID, Parameter, cursor, example, operation
from workspaces.paging import page

_ASKED = {
    "conversation": "c-81",
    "branch": "main",
    "participant": "planner",
    "route": "openai",
    "run": "run-2",
    "answers": "message-3",
    "budget_tokens": 4000,
    "policy": {"name": "support"},
}
_POLICY = {"name": "support", "version": 4}
_COUNTED = {
    "policy": _POLICY,
    "assembler": "1",
    "position": 12,
    "as_of": "2026-11-30T12:00:00Z",
    "digest": "3f0c9f1f7d0d0b1a5c5e8a6f1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d",
    "omitted": {"not_needed_raw": 1},
    "branch_exclusions": 0,
    "considered": 3,
    "naive": {"tokens": 1051, "bytes": 4210},
    "assembled": {"tokens": 145, "bytes": 612},
    "milliseconds": {"query": 9.1, "policy": 2.4, "rendering": 0.3},
}
_MEMORY = {"type": "tool_memory", "id": "memory-1"}
_SUMMARY = {
    "assembly_id": EXAMPLE_ID,
    "conversation": "c-81",
    "branch": "main",
    "participant": "planner",
    "kind": "chat",
    "route": "openai",
    **_COUNTED,
    "has_trace": False,
    "created_at": "2026-11-30T12:00:00Z",
    "expires_at": "2026-12-30T12:00:00Z",
}


class AssembleView(ContextView):
    needs = {"POST": NEEDS}

    @operation(
        summary="Assemble a context",
        body=AssembleContext,
        answer=AssembledContext,
        refusals=(
            errors.NotFound,
            refusals.UnknownReference,
            refusals.PolicyUnknown,
            refusals.CheckpointMissing,
            refusals.ContextBudgetExceeded,
        ),
        examples=(
            example("the next request of a run", _ASKED, is_request=True),
            example(
                "a memory and the message",
                {
                    "assembly_id": EXAMPLE_ID,
                    **_COUNTED,
                    "items": [
                        {
                            **_MEMORY,
                            "form": "memory",
                            "memory": "memory-1",
                            "tool": "calendar.list",
                            "says": "Dentist at 09:00.",
                        },
                        {
                            "type": "message",
                            "id": "message-3",
                            "form": "message",
                            "role": "user",
                            "participant": "ana",
                            "parts": [{"kind": "text", "text": "When is the dentist?"}],
                        },
                    ],
                    "messages": None,
                    "trace": None,
                },
            ),
        ),
    )
    def post(self, request: Request) -> Response:
        """Select from the runtime graph what a model sees next, by a policy, and keep the record of why."""
        shape, now = self.body(request, AssembleContext), timezone.now()
        wish = assembly_wish(shape, workspace=self.caller.workspace, now=now)
        return Response(
            assemble_context(
                caller=self.caller, wish=wish, live=self.admitted.live, now=now, clock=perf_counter
            )
        )


class AssembliesView(ContextView):
    needs = {"GET": NEEDS}

    @operation(
        summary="List assemblies",
        answer=ListedAssemblies,
        refusals=(errors.InvalidInput,),
        parameters=(
            Parameter(
                "conversation",
                "query",
                {"type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[A-Za-z0-9_.:-]+$"},
                "The id of a Conversation record; without it those of every conversation.",
                "c-81",
            ),
            cursor(),
        ),
        examples=(example("one assembly", {"items": [_SUMMARY], "next_cursor": None}),),
    )
    def get(self, request: Request) -> Response:
        """List the assemblies that are kept, newest first."""
        wanted = assembly_filter(request.query_params)
        now = timezone.now()
        rows = selectors.assemblies(wanted, now=now)
        listed = page(rows, by="created_at", older=request.query_params.get("cursor"))
        return Response(ListedAssemblies([summary_of(row, now=now) for row in listed.rows], listed.older))


class AssemblyView(ContextView):
    needs = {"GET": NEEDS}

    @operation(
        summary="Read the record of an assembly",
        answer=AssemblyRecord,
        examples=(
            example(
                "one assembly",
                {
                    "summary": _SUMMARY,
                    "request": {name: value for name, value in _ASKED.items() if name != "policy"},
                    "selected": [{**_MEMORY, "form": "memory", "tokens": 39, "bytes": 168}],
                    "decisions": [
                        {
                            "rule": "need_of_raw",
                            "policy": _POLICY,
                            "outcome": "not_needed_raw",
                            "references": [{"type": "tool_artifact", "id": "artifact-1"}],
                        }
                    ],
                    "trace": None,
                    "trace_expires_at": None,
                },
            ),
        ),
    )
    def get(self, request: Request, assembly_id: UUID) -> Response:
        """Give what was selected and why, in names, versions, counts and reasons (CA-16)."""
        return Response(selectors.assembly_record(assembly_id, now=timezone.now()))


class WhyView(ContextView):
    needs = {"POST": NEEDS}

    @operation(
        summary="Ask why a model saw a record, or did not",
        body=AskWhy,
        answer=Why,
        refusals=(refusals.PolicyUnknown,),
        examples=(
            example("about a memory", _MEMORY, is_request=True),
            example(
                "it was replaced",
                {
                    "outcome": "omitted",
                    "form": None,
                    "reason": "superseded",
                    "rules": [
                        {"rule": "provenance", "outcome": "passed", "form": "memory", "detail": ""},
                        {"rule": "supersession", "outcome": "superseded", "form": None, "detail": "memory-2"},
                    ],
                    "provenance": [
                        {
                            **_MEMORY,
                            "tool": "",
                            "comes_from": [{"type": "tool_artifact", "id": "artifact-1"}],
                            "locators": [],
                        }
                    ],
                    "assembler": {"then": "1", "now": "1"},
                    "is_reproduced": True,
                    "gone": 0,
                },
            ),
        ),
    )
    def post(self, request: Request, assembly_id: UUID) -> Response:
        """Evaluate the policy of then over the graph as of then, and say what each rule says of the record (CA-17)."""
        shape = self.body(request, AskWhy)
        return Response(
            explain(
                workspace=self.caller.workspace,
                assembly_id=assembly_id,
                reference=Reference(shape.type, shape.id),
                live=self.admitted.live,
                now=timezone.now(),
            )
        )
