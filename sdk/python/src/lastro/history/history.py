"""The history of a host's agents: its store and settings, and the sessions in it (SD-8)."""

import time
from collections.abc import Callable
from typing import Literal

from lastro.history.contract import HistoryStore
from lastro.history.drafting import Draft
from lastro.history.errors import DecisionHistoryIdentityMissing
from lastro.history.events import OnEvent, untold
from lastro.history.formats import require_provider
from lastro.history.records import ContentMode, Provider, SessionKey
from lastro.history.sessions import Session
from lastro.history.settings import Settings, Summarize
from lastro.history.stores.none import NoStore
from lastro.history.stores.ram import RamStore
from lastro.history.stores.reserving import new_id, require_worker
from lastro.history.windows import Limits

LOCAL = "local"
"""The namespace of a store that nobody else can have."""


class History:
    """Give sessions of one namespace, all with the same settings.

    `store` None is a RamStore of its own, False keeps nothing (HI-13). A store that is given can be shared, so a
    namespace comes with it, from trusted configuration and never from a model or a request (HI-2); without one it is
    DecisionHistoryIdentityMissing. `max_messages` and `max_bytes` (UTF-8 JSON) bound a window (HI-9),
    `max_retained_bytes` what a session keeps (HI-4), `max_summary_bytes` what `summarize` may give (HI-18).
    `on_event` gets numbers only (HI-12) and must not raise. `repair` serves a broken history without what breaks it.
    """

    def __init__(  # noqa: PLR0913 - every setting of a host, each by its name
        self,
        store: HistoryStore | Literal[False] | None = None,
        *,
        namespace: str = "",
        max_messages: int = 128,
        max_bytes: int = 262_144,
        max_retained_bytes: int | None = None,
        on_event: OnEvent = untold,
        summarize: Summarize | None = None,
        max_summary_bytes: int = 4096,
        content_mode: ContentMode = "inline",
        repair: bool = False,
        dialect: str = "",
        clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] = new_id,
    ) -> None:
        if store and not namespace:
            raise DecisionHistoryIdentityMissing("a store that can be shared needs a namespace")
        self.namespace = namespace or LOCAL
        self.settings = Settings(
            store=RamStore(clock=clock) if store is None else store or NoStore(),
            keeps=store is not False,
            limits=Limits(max_messages, max_bytes),
            max_retained_bytes=max_retained_bytes,
            content_mode=content_mode,
            repair=repair,
            dialect=dialect,
            summarize=summarize,
            max_summary_bytes=max_summary_bytes,
            on_event=on_event,
            clock=clock,
            new_id=new_id,
        )

    def session(  # noqa: PLR0913 - the parts of an identity, each by its name
        self,
        session_id: str = "",
        *,
        run_id: str = "",
        invocation_id: str = "",
        agent_ref: str = "",
        conversation: str = "",
        subject: str = "",
        provider: Provider | None = None,
        worker: str = "",
        resumed: bool = False,
    ) -> Session:
        """Give one session, by an id of the host's or by run, invocation and agent (HI-1).

        `conversation` and `subject` (a handle) are the names by which an erasure finds it (HI-22). `provider` reads a
        session that no decision has pinned yet. `worker` labels this process in a refusal of another (HI-5).
        `resumed`: the host takes up an invocation after an approval; where its messages are gone, an event says so
        (HI-8).
        """
        require_worker(worker)
        if provider is not None:
            require_provider(provider)
        key = SessionKey(self.namespace, session_id, run_id, invocation_id, agent_ref)
        draft = Draft(
            settings=self.settings,
            conversation=conversation,
            subject=subject,
            provider=provider,
            resumed=resumed,
        )
        return Session(key=key, draft=draft, worker=worker)

    def close(self) -> None:
        """Close the store."""
        self.settings.store.close()

    async def aclose(self) -> None:
        """Do as `close`."""
        await self.settings.store.aclose()
