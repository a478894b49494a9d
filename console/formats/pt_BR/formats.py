"""Dates in figures: Django's own format writes the month with a capital (17 de Agosto)."""

DATE_FORMAT = "d/m/Y"
DATETIME_FORMAT = "d/m/Y, H:i"
SHORT_DATE_FORMAT = DATE_FORMAT
SHORT_DATETIME_FORMAT = DATETIME_FORMAT
TIME_FORMAT = "H:i"
