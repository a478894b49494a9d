"""The addresses of the staff console. Pages of a workspace lie under its slug; no handle is in any of them (CO-3)."""

from django.urls import path

from console.views import (
    approvals,
    audit,
    documents,
    features,
    home,
    keys,
    me,
    passwords,
    people,
    profiles,
    session,
    types,
)

app_name = "console"

urlpatterns = [
    path("", home.home, name="home"),
    path("sign-in/", session.sign_in, name="sign_in"),
    path("sign-out/", session.sign_out, name="sign_out"),
    path("invitation/<str:token>/", session.invitation, name="invitation"),
    path("password/", passwords.password_reset, name="password_reset"),
    path("password/sent/", passwords.password_reset_done, name="password_reset_done"),
    path("password/<uidb64>/<token>/", passwords.password_reset_confirm, name="password_reset_confirm"),
    path("password/changed/", passwords.password_reset_complete, name="password_reset_complete"),
    path("theme/", session.theme, name="theme"),
    path("me/", me.me, name="me"),
    path("features/", home.features_matrix, name="features_matrix"),
    path("w/<slug:slug>/", home.workspace, name="workspace"),
    path("w/<slug:slug>/find/", profiles.find, name="find"),
    path("w/<slug:slug>/profiles/", profiles.profiles, name="profiles"),
    path("w/<slug:slug>/profiles/<uuid:profile_id>/", profiles.profile, name="profile"),
    path(
        "w/<slug:slug>/profiles/<uuid:profile_id>/working-memory/",
        profiles.working_memory,
        name="profile_working_memory",
    ),
    path("w/<slug:slug>/features/", features.features, name="features"),
    path("w/<slug:slug>/features/<slug:key>/change/", features.feature_change, name="feature_change"),
    path("w/<slug:slug>/types/", types.types, name="types"),
    path("w/<slug:slug>/documents/object-types/draft/", types.types_draft, name="types_draft"),
    path("w/<slug:slug>/types/<slug:name>/", types.type_page, name="type"),
    path("w/<slug:slug>/documents/<slug:kind>/", documents.document, name="document"),
    path("w/<slug:slug>/approvals/", approvals.approvals, name="approvals"),
    path("w/<slug:slug>/approvals/four-eyes/", approvals.four_eyes, name="four_eyes"),
    path("w/<slug:slug>/approvals/<uuid:request_id>/", approvals.approval, name="approval"),
    path(
        "w/<slug:slug>/approvals/<uuid:request_id>/<slug:act>/",
        approvals.approval_act,
        name="approval_act",
    ),
    path("w/<slug:slug>/keys/", keys.keys, name="keys"),
    path("w/<slug:slug>/keys/new/", keys.key_new, name="key_new"),
    path("w/<slug:slug>/keys/<uuid:key_id>/rotate/", keys.key_rotate, name="key_rotate"),
    path("w/<slug:slug>/keys/<uuid:key_id>/revoke/", keys.key_revoke, name="key_revoke"),
    path("w/<slug:slug>/people/", people.people, name="people"),
    path("w/<slug:slug>/people/invite/", people.invite, name="invite"),
    path(
        "w/<slug:slug>/people/invitations/<uuid:invitation_id>/withdraw/",
        people.invitation_withdraw,
        name="invitation_withdraw",
    ),
    path("w/<slug:slug>/people/<uuid:person_id>/roles/", people.person_roles, name="person_roles"),
    path("w/<slug:slug>/audit/", audit.audit, name="audit"),
    path("w/<slug:slug>/audit/export/<slug:form>/", audit.audit_export, name="audit_export"),
    path("w/<slug:slug>/audit/<uuid:entry_id>/", audit.audit_entry, name="audit_entry"),
    path("w/<slug:slug>/tokens/new/", me.token_new, name="token_new"),
    path("w/<slug:slug>/tokens/<uuid:token_id>/revoke/", me.token_revoke, name="token_revoke"),
]
