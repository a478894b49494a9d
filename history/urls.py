"""Routes of history."""

from django.urls import path

from history.views import decisions, records, sessions

urlpatterns = [
    path("v1/history/begin", decisions.BeginView.as_view(), name="history-begin"),
    path("v1/history/append", decisions.AppendView.as_view(), name="history-append"),
    path("v1/history/commit", decisions.CommitView.as_view(), name="history-commit"),
    path("v1/history/abort", decisions.AbortView.as_view(), name="history-abort"),
    path("v1/history/window", sessions.WindowView.as_view(), name="history-window"),
    path("v1/history/read", sessions.ReadView.as_view(), name="history-read"),
    path("v1/history/fork", sessions.ForkView.as_view(), name="history-fork"),
    path("v1/history/recover", sessions.RecoverView.as_view(), name="history-recover"),
    path("v1/history/delete", sessions.DeleteView.as_view(), name="history-delete"),
    path("v1/history/items", records.RecordsView.as_view(), name="history-items"),
    path("v1/history/items/remove", records.RemoveRecordsView.as_view(), name="history-items-remove"),
]
