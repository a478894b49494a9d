from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "console"

    def ready(self) -> None:
        """Register the checks of the settings, and the Celery application, by which a request wakes a worker."""
        from console import celery, checks  # noqa: F401
