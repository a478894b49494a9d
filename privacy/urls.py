"""Routes of governance."""

from django.urls import path

from privacy import views

urlpatterns = [
    path("v1/config/diffs", views.DocumentChangesView.as_view(), name="config-diffs"),
    path(
        "v1/config/diffs/<uuid:change_id>/approve",
        views.DocumentApprovalView.as_view(),
        name="config-approve",
    ),
    path("v1/config/<str:kind>", views.DocumentView.as_view(), name="config"),
    path("v1/config/<str:kind>/schema", views.DocumentSchemaView.as_view(), name="config-schema"),
]
