"""Routes of working memory."""

from django.urls import path

from agentstate import views

urlpatterns = [
    path("v1/agent-state", views.AgentStateView.as_view(), name="agent-state"),
    path("v1/agent-state/read", views.AgentStateReadView.as_view(), name="agent-state-read"),
    path("v1/agent-state/delete", views.AgentStateDeleteView.as_view(), name="agent-state-delete"),
    path(
        "v1/profiles/<uuid:profile_id>/agent-state", views.ProfileStatesView.as_view(), name="profile-states"
    ),
]
