from django.apps import AppConfig


class AgentstateConfig(AppConfig):
    name = "agentstate"
