"""Routes of context assembly."""

from django.urls import path

from assembly.views import assemblies, graph, payloads

urlpatterns = [
    path("v1/graph", graph.GraphView.as_view(), name="graph"),
    path("v1/context/assemble", assemblies.AssembleView.as_view(), name="context-assemble"),
    path("v1/context/assemblies", assemblies.AssembliesView.as_view(), name="context-assemblies"),
    path(
        "v1/context/assemblies/<uuid:assembly_id>",
        assemblies.AssemblyView.as_view(),
        name="context-assembly",
    ),
    path(
        "v1/context/assemblies/<uuid:assembly_id>/why",
        assemblies.WhyView.as_view(),
        name="context-assembly-why",
    ),
    path(
        "v1/graph/artifacts/<uuid:payload_id>/payload", payloads.PayloadView.as_view(), name="graph-payload"
    ),
]
