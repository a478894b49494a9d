"""Routes of context assembly."""

from django.urls import path

from assembly.views import graph, payloads

urlpatterns = [
    path("v1/graph", graph.GraphView.as_view(), name="graph"),
    path(
        "v1/graph/artifacts/<uuid:payload_id>/payload", payloads.PayloadView.as_view(), name="graph-payload"
    ),
]
