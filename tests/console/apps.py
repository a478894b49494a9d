"""The authenticator app of a person, as a test holds it in the hand."""

from datetime import datetime, timedelta

import msgspec
import pyotp
from django.utils import timezone

from workspaces.models import Person, SecondFactor
from workspaces.rules.sign_ins import STEP_SECONDS
from workspaces.selectors.sign_ins import unconfirmed_secret
from workspaces.services import second_factors
from workspaces.types import Origin


class App(msgspec.Struct, frozen=True):
    """What the app shows, and the recovery codes that its owner copied."""

    person: Person
    secret: str
    codes: list[str]

    def code(self, now: datetime | None = None) -> str:
        """Give the six digits of a moment, by default of now."""
        return pyotp.TOTP(self.secret).at(now or timezone.now())

    def fresh_code(self) -> str:
        """Give the code of now, as if no code of this step had been taken yet."""
        SecondFactor.objects.filter(person=self.person).update(last_step=0)
        return self.code()

    def wrong_code(self) -> str:
        """Give a code that is none of those that would be taken now."""
        now = timezone.now()
        near = {self.code(now + timedelta(seconds=STEP_SECONDS * step)) for step in range(-2, 3)}
        return next(code for code in ("000000", "111111", "222222", "333333") if code not in near)


def app_of(person: Person, *, session_key: str = "") -> App:
    """Set up the app of a person, with the code of two minutes ago."""
    then = timezone.now() - timedelta(minutes=2)
    second_factors.begin_setup(person=person, now=then)
    secret = unconfirmed_secret(person.id)
    codes = second_factors.finish_setup(
        person=person,
        code=pyotp.TOTP(secret).at(then),
        session_key=session_key,
        origin=Origin(),
        now=then,
    )
    return App(person, secret, codes)
