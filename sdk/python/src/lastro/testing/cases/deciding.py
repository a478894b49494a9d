"""A decision that one act begins and another one ends: a thread holds it meanwhile, as a worker would."""

import threading
from collections.abc import Sequence

from lastro.errors import LastroError
from lastro.history.drafting import Decision, Turn
from lastro.history.records import NewItem, Pins, Provider
from lastro.history.sessions import Session
from lastro.history.steps import taken
from lastro.history.windows import Window

PATIENCE_SECONDS = 30.0


class NotDecided(LastroError):
    """A decision of a case ended without an answer: nothing of it is stored."""

    code = "not_decided"


class Running:
    """A decision of one worker. Raises what refused its beginning, or its end."""

    def __init__(self, session: Session, *, provider: Provider, create: bool) -> None:
        self.window: Window | None = None
        self._session, self._create = session, create
        self._pins = Pins(provider=provider, model="a-model")
        self._messages: Sequence[NewItem] | None = None
        self._error: LastroError | None = None
        self._begun, self._go_on = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._begun.wait(PATIENCE_SECONDS)
        self._require()

    def commit(self, items: Sequence[NewItem]) -> None:
        """Store the worker's answer."""
        self._messages = items
        self.end()
        self._require()

    def end(self) -> None:
        """End it; nothing is stored where there is no answer."""
        self._go_on.set()
        self._thread.join(PATIENCE_SECONDS)

    def _run(self) -> None:
        decision = Decision(pins=self._pins, operation=self._decide, leaf="", observations=0)
        session = self._session
        try:
            session.transact(lambda view: taken(session.draft.decided(view, decision)), create=self._create)
        except LastroError as error:
            self._error = error
        finally:
            self._begun.set()

    def _decide(self, turn: Turn) -> Sequence[NewItem]:
        self.window = turn.window
        self._begun.set()
        if not self._go_on.wait(PATIENCE_SECONDS) or self._messages is None:
            raise NotDecided
        return self._messages

    def _require(self) -> None:
        if self._error is not None:
            raise self._error
