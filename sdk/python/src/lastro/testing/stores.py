"""The conformance suite of stores: subclass it for pytest, or run it by one call (HI-24).

class TestMine(StoreSuite):
    def make_store(self, **settings):
        return MyStore(**settings)

check_store(MyStore)
"""

from collections.abc import Callable
from typing import Any
from unittest import SkipTest

from lastro.history.contract import HistoryStore
from lastro.testing.store_checks import CHECKS, may_run
from lastro.testing.uses import AsyncUse, Settable, SyncUse, Use

__all__ = ["Settable", "StoreSuite", "check_store"]

FORMS: dict[str, type[Use]] = {"sync": SyncUse, "async": AsyncUse}


class StoreSuite:
    """Every rule of the contract as one test of the sync form and one of the async form.

    `make_store` gets the settings of `RamStore` by their names, and gives an empty store. A store that cannot take
    some of them says so by `settable`: the checks that need them are left out.
    """

    settable: Settable = Settable()

    def make_store(self, **settings: Any) -> HistoryStore:
        """Give an empty store with these settings: bounds, `ttl`, `clock`."""
        raise NotImplementedError

    def run(self, check: Callable[[Use], None], form: type[Use]) -> None:
        """Run one check by one form, where the store can be set as it needs."""
        if not may_run(check, self.settable):
            raise SkipTest("the store cannot be set as this check needs")
        use = form(self.make_store, self.settable)
        try:
            check(use)
        finally:
            use.close()


def _test(check: Callable[[Use], None], form: type[Use]) -> Callable[[StoreSuite], None]:
    def test(self: StoreSuite) -> None:
        self.run(check, form)

    test.__doc__ = check.__doc__
    return test


for _check in CHECKS:
    for _name, _form in FORMS.items():
        setattr(StoreSuite, f"test_{_check.__name__}_{_name}", _test(_check, _form))


def check_store(make_store: Callable[..., HistoryStore], *, settable: Settable | None = None) -> int:
    """Run the whole suite on the stores of a factory, and give the number of checks; the first failure is raised."""
    suite = StoreSuite()
    suite.settable = settable or Settable()
    suite.make_store = make_store  # type: ignore[method-assign]
    checks = [check for check in CHECKS if may_run(check, suite.settable)]
    for check in checks:
        for form in FORMS.values():
            suite.run(check, form)
    return len(checks) * len(FORMS)
