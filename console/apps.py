from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "console"

    def ready(self) -> None:
        """Register the checks of the settings."""
        from console import checks  # noqa: F401
