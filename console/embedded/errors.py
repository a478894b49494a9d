"""What can go wrong with the embedded services, as one sentence for the person at the terminal."""

import signal


class EmbeddedError(Exception):
    """A step that cannot be done on this machine; its text says what to do instead."""


class Stopped(BaseException):
    """A signal that asks the whole run to end; not an Exception, so that no step swallows it."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number

    @property
    def exit_code(self) -> int:
        return 128 + self.number
