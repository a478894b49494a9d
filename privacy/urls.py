"""Routes of governance."""

from django.urls import path

from privacy.views import documents, packages

urlpatterns = [
    path("v1/config/diffs", documents.DocumentChangesView.as_view(), name="config-diffs"),
    path(
        "v1/config/diffs/<uuid:change_id>/approve",
        documents.DocumentApprovalView.as_view(),
        name="config-approve",
    ),
    path("v1/config/<str:kind>", documents.DocumentView.as_view(), name="config"),
    path("v1/config/<str:kind>/schema", documents.DocumentSchemaView.as_view(), name="config-schema"),
    path("v1/export", packages.ExportView.as_view(), name="export"),
    path("v1/export/<uuid:run_id>", packages.ExportRunView.as_view(), name="export-run"),
    path(
        "v1/packages/<uuid:run_id>/download",
        packages.PackageDownloadView.as_view(),
        name="package-download",
    ),
]
