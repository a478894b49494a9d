"""Routes of governance."""

from django.urls import path

from privacy import views

urlpatterns = [
    path("v1/config/diffs", views.DocumentChangesView.as_view(), name="config-diffs"),
    path("v1/config/diffs/<uuid:change_id>", views.DocumentChangeView.as_view(), name="config-diff"),
    path("v1/config/diffs/<uuid:change_id>/deny", views.DocumentDenialView.as_view(), name="config-deny"),
    path(
        "v1/config/diffs/<uuid:change_id>/withdraw",
        views.DocumentWithdrawalView.as_view(),
        name="config-withdraw",
    ),
    path(
        "v1/config/diffs/<uuid:change_id>/publish",
        views.DocumentPublicationView.as_view(),
        name="config-publish",
    ),
    path(
        "v1/config/diffs/<uuid:change_id>/approve",
        views.DocumentApprovalView.as_view(),
        name="config-approve",
    ),
    path("v1/config/<str:kind>", views.DocumentView.as_view(), name="config"),
    path("v1/config/<str:kind>/schema", views.DocumentSchemaView.as_view(), name="config-schema"),
]
