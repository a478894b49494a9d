"""Routes of history."""

from django.urls import path

from history.views import decisions, sessions

urlpatterns = [
    path("v1/history/begin", decisions.BeginView.as_view(), name="history-begin"),
    path("v1/history/append", decisions.AppendView.as_view(), name="history-append"),
    path("v1/history/commit", decisions.CommitView.as_view(), name="history-commit"),
    path("v1/history/abort", decisions.AbortView.as_view(), name="history-abort"),
    path("v1/history/window", sessions.WindowView.as_view(), name="history-window"),
    path("v1/history/read", sessions.ReadView.as_view(), name="history-read"),
]
