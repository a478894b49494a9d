"""Routes of context assembly."""

from django.urls import path

from assembly.views import graph

urlpatterns = [
    path("v1/graph", graph.GraphView.as_view(), name="graph"),
]
