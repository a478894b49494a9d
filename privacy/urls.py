"""Routes of governance."""

from django.urls import path

from privacy.views import documents, erasures, holds, links, packages

urlpatterns = [
    path("v1/config/diffs", documents.DocumentChangesView.as_view(), name="config-diffs"),
    path("v1/config/diffs/<uuid:change_id>", documents.DocumentChangeView.as_view(), name="config-diff"),
    path("v1/config/diffs/<uuid:change_id>/deny", documents.DocumentDenialView.as_view(), name="config-deny"),
    path(
        "v1/config/diffs/<uuid:change_id>/withdraw",
        documents.DocumentWithdrawalView.as_view(),
        name="config-withdraw",
    ),
    path(
        "v1/config/diffs/<uuid:change_id>/publish",
        documents.DocumentPublicationView.as_view(),
        name="config-publish",
    ),
    path(
        "v1/config/diffs/<uuid:change_id>/approve",
        documents.DocumentApprovalView.as_view(),
        name="config-approve",
    ),
    path("v1/config/<str:kind>", documents.DocumentView.as_view(), name="config"),
    path("v1/config/<str:kind>/schema", documents.DocumentSchemaView.as_view(), name="config-schema"),
    path("v1/forget", erasures.ForgetView.as_view(), name="forget"),
    path("v1/forget/<uuid:request_id>", erasures.ForgetStatusView.as_view(), name="forget-status"),
    path("v1/legal-holds", holds.HoldsView.as_view(), name="legal-holds"),
    path("v1/legal-holds/<uuid:hold_id>/lift", holds.HoldLiftView.as_view(), name="legal-hold-lift"),
    path("v1/export", packages.ExportView.as_view(), name="export"),
    path("v1/export/<uuid:run_id>", packages.ExportRunView.as_view(), name="export-run"),
    path(
        "v1/packages/<uuid:run_id>/download",
        packages.PackageDownloadView.as_view(),
        name="package-download",
    ),
    path("v1/profiles/link", links.LinkView.as_view(), name="profile-link"),
    path("v1/profiles/unlink", links.UnlinkView.as_view(), name="profile-unlink"),
]
