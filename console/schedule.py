"""What runs by itself, and how often."""

SCHEDULE: dict[str, dict[str, object]] = {
    "states.sweep": {"task": "agentstate.tasks.sweep_states", "schedule": 60.0},
    "history.sweep": {"task": "history.tasks.sweep_history", "schedule": 60.0},
    "blobs.sweep": {"task": "assembly.tasks.sweep_blobs", "schedule": 600.0},
    "graphs.sweep": {"task": "assembly.tasks.sweep_graphs", "schedule": 60.0},
    "packages.build": {"task": "privacy.tasks.build_packages", "schedule": 60.0},
    "packages.sweep": {"task": "privacy.tasks.sweep_packages", "schedule": 60.0},
    "keys.destroy": {"task": "workspaces.tasks.destroy_retired_keys", "schedule": 60.0},
    "outside.deliver": {"task": "workspaces.tasks.deliver_outside", "schedule": 10.0},
    "erasures.run": {"task": "privacy.tasks.run_erasures", "schedule": 10.0},
    "holds.settle": {"task": "privacy.tasks.settle_holds", "schedule": 10.0},
    # Hourly, so that a restart skips no day; each request is told of once a day.
    "erasures.overdue": {"task": "privacy.tasks.tell_overdue", "schedule": 3600.0},
    # Each chain once an hour, as the database says: so the first leave soon after the first start.
    "audit.checkpoints": {"task": "workspaces.tasks.make_checkpoints", "schedule": 60.0},
    "audit.verify": {"task": "workspaces.tasks.verify_audit", "schedule": 21600.0},
    "changes.publish": {"task": "privacy.tasks.publish_scheduled", "schedule": 30.0},
    "sessions.forget": {"task": "workspaces.tasks.forget_sessions", "schedule": 3600.0},
    "usage.forget": {"task": "workspaces.tasks.forget_usage", "schedule": 3600.0},
    "answers.forget": {"task": "workspaces.tasks.forget_answers", "schedule": 3600.0},
}

SCHEDULED = {str(entry["task"]): float(str(entry["schedule"])) for entry in SCHEDULE.values()}
"""Every scheduled task, with the seconds from one run to the next."""
