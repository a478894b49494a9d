"""What runs by itself, and how often."""

SCHEDULE: dict[str, dict[str, object]] = {
    "states.sweep": {"task": "agentstate.tasks.sweep_states", "schedule": 60.0},
    "packages.build": {"task": "privacy.tasks.build_packages", "schedule": 60.0},
    "packages.sweep": {"task": "privacy.tasks.sweep_packages", "schedule": 60.0},
    "keys.destroy": {"task": "workspaces.tasks.destroy_retired_keys", "schedule": 60.0},
    "answers.forget": {"task": "workspaces.tasks.forget_answers", "schedule": 3600.0},
}
