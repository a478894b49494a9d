"""What the phone library knows of a region, in the form in which the detector asks it (PR-8)."""

import re
from functools import lru_cache

import msgspec
from phonenumbers import (
    COUNTRY_CODE_TO_REGION_CODE,
    PhoneMetadata,
    PhoneNumber,
    PhoneNumberDesc,
    PhoneNumberFormat,
    format_number,
)

FEWEST_DIGITS = 7
MOST_DIGITS = 15
_GROUP = re.compile(r"[0-9]+")


class Region(msgspec.Struct, frozen=True):
    """A region: how its numbers are dialled, how long they are, and which there are."""

    country_code: str
    prefix: str
    lengths: frozenset[int]
    local_lengths: frozenset[int]
    pattern: re.Pattern[str]

    def may_read(self, digits: str, *, worded: bool) -> bool:
        """Tell whether these digits are as many as a number has, with what is dialled before it or left out."""
        count = len(digits)
        if count in self.lengths or (worded and count in self.local_lengths):
            return True
        if self.prefix and digits.startswith(self.prefix) and count - len(self.prefix) in self.lengths:
            return True
        return (
            worded and digits.startswith(self.country_code) and count - len(self.country_code) in self.lengths
        )

    def readings(self, digits: str, *, worded: bool) -> list[str]:
        """List the numbers that these digits may be: as they are, without prefix, without country code."""
        possible = [digits]
        if self.prefix and digits.startswith(self.prefix):
            possible.append(digits[len(self.prefix) :])
        if worded and digits.startswith(self.country_code):
            possible.append(digits[len(self.country_code) :])
        return [
            number for number in possible if len(number) in self.lengths and self.pattern.fullmatch(number)
        ]

    def printed_sizes(self, number: str) -> list[int]:
        """Answer how many digits each group of a number has when it is printed for its own region."""
        printed = format_number(_number(int(self.country_code), number), PhoneNumberFormat.NATIONAL)
        return [len(group) for group in _GROUP.findall(printed)]


def cuts_of(sizes: list[int]) -> set[int]:
    """Answer after how many digits, from the right, groups of these sizes are cut."""
    cuts, digits = set(), 0
    for size in sizes[:0:-1]:
        digits += size
        cuts.add(digits)
    return cuts


def is_international(digits: str) -> bool:
    """Tell whether digits that begin with a country code are a phone number."""
    if not FEWEST_DIGITS <= len(digits) <= MOST_DIGITS:
        return False
    for length in (1, 2, 3):
        if int(digits[:length]) in COUNTRY_CODE_TO_REGION_CODE:
            national = digits[length:]
            return any(region.pattern.fullmatch(national) for region in _regions_at(digits[:length]))
    return False


@lru_cache(maxsize=len(COUNTRY_CODE_TO_REGION_CODE))
def _regions_at(country_code: str) -> tuple[Region, ...]:
    code = int(country_code)
    names = COUNTRY_CODE_TO_REGION_CODE[code]
    known = (PhoneMetadata.metadata_for_region_or_calling_code(code, name) for name in names)
    return tuple(_region(facts) for facts in known if facts is not None)


@lru_cache(maxsize=1000)
def regions_of(names: tuple[str, ...]) -> tuple[Region, ...]:
    """Answer what is known of these regions, without those that nobody knows."""
    known = (PhoneMetadata.metadata_for_region(name) for name in names)
    return tuple(_region(facts, *_neighbours(facts)) for facts in known if facts is not None)


def _neighbours(facts: PhoneMetadata) -> list[PhoneMetadata]:
    """List what is known of the regions that share a country code: theirs are dialled as if they were one's own."""
    names = COUNTRY_CODE_TO_REGION_CODE.get(facts.country_code or 0, ())
    known = (PhoneMetadata.metadata_for_region(name) for name in names if name != facts.id)
    return [found for found in known if found is not None]


def _region(facts: PhoneMetadata, *neighbours: PhoneMetadata) -> Region:
    used = [description for each in (facts, *neighbours) for description in _descriptions(each)]
    lengths = frozenset(length for description in used for length in description.possible_length)
    local = {length for description in used for length in description.possible_length_local_only or ()}
    local_lengths = frozenset(length for length in local if length >= FEWEST_DIGITS)
    country_code, prefix = str(facts.country_code), facts.national_prefix or ""
    patterns = dict.fromkeys(description.national_number_pattern for description in used)
    return Region(
        country_code=country_code,
        prefix=prefix,
        lengths=lengths,
        local_lengths=local_lengths,
        pattern=re.compile("|".join(f"(?:{pattern})" for pattern in patterns)),
    )


def _descriptions(facts: PhoneMetadata) -> list[PhoneNumberDesc]:
    descriptions = (
        facts.fixed_line, facts.mobile, facts.toll_free, facts.premium_rate, facts.shared_cost,
        facts.personal_number, facts.voip, facts.pager, facts.uan, facts.voicemail,
    )  # fmt: skip
    return [
        description for description in descriptions if description and description.national_number_pattern
    ]


def _number(country_code: int, national: str) -> PhoneNumber:
    zeros = len(national) - len(national.lstrip("0"))
    return PhoneNumber(
        country_code=country_code,
        national_number=int(national),
        italian_leading_zero=True if zeros else None,
        number_of_leading_zeros=zeros if zeros > 1 else None,
    )
