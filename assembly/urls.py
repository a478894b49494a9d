"""Routes of the runtime graph."""

from django.urls import path

from assembly.views import payloads

urlpatterns = [
    path(
        "v1/graph/artifacts/<uuid:payload_id>/payload", payloads.PayloadView.as_view(), name="graph-payload"
    ),
]
