"""What masking leaves is still of the declared type, so that a state can be written back as it was read."""

import pytest

from agentstate.rules import values
from agentstate.types import Field
from workspaces.masking import FieldRule, mask_fields, policy_from
from workspaces.rules.documents import DEFAULTS

POLICY = policy_from(DEFAULTS["masking"], hash_key=b"k" * 32)

SAMPLES = {
    "string": "Ana Souza",
    "text": "call me at +55 11 91234-5678",
    "integer": 7,
    "number": 7.5,
    "percent": 12.5,
    "money": {"amount": "12.50", "currency": "BRL"},
    "bool": True,
    "date": "1990-01-31",
    "datetime": "1990-01-31T10:00:00Z",
    "duration": "24h",
    "enum": "gold",
    "ref": "customer:crm:4711",
    "list": ["ana@example.com", 5],
    "object": {"name": "Ana", "age": 30},
    "any": "Ana",
}


@pytest.mark.parametrize("pii", [True, "name", "phone", "card"])
@pytest.mark.parametrize("form", sorted(SAMPLES))
def test_what_is_masked_is_still_of_its_type(form: str, *, pii: bool | str) -> None:
    """WM-11, WM-14, PR-6: a masked value is accepted when it is written back, and then changes no more."""
    rule = {"field": FieldRule(type=form, pii=pii)}
    once = mask_fields({"field": SAMPLES[form]}, declared=rule, policy=POLICY)
    field = Field(name="field", type=form, pii=pii, values=("gold",))
    assert not values.problems(field, once.fields["field"], "/body/field")
    again = mask_fields(once.fields, declared=rule, policy=POLICY)
    assert again.fields == once.fields
    assert again.counts == {}
