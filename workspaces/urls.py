"""Routes of the platform."""

from django.urls import path

from workspaces import views

urlpatterns = [
    path("v1/profiles/search", views.ProfileSearchView.as_view(), name="profile-search"),
    path("v1/sources/me", views.SourceMeView.as_view(), name="source-me"),
    path("v1/sdk/profile", views.SdkProfileView.as_view(), name="sdk-profile"),
    path("v1/ingest/status", views.IngestStatusView.as_view(), name="ingest-status"),
    path("v1/signing-keys", views.SigningKeysView.as_view(), name="signing-keys"),
    path("v1/batch", views.BatchView.as_view(), name="batch"),
]
