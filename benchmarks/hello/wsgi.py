"""Hello world as JSON, with no middleware, no database and no application."""

import secrets

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, JsonResponse
from django.urls import path

settings.configure(
    SECRET_KEY=secrets.token_hex(32),
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF=__name__,
    REST_FRAMEWORK={"UNAUTHENTICATED_USER": None},
)

from rest_framework.request import Request  # noqa: E402  (needs the settings)
from rest_framework.response import Response  # noqa: E402
from rest_framework.views import APIView  # noqa: E402


def hello(_request: HttpRequest) -> JsonResponse:
    """Say hello."""
    return JsonResponse({"hello": "world"})


class Empty(APIView):
    """A view of REST framework that does nothing."""

    authentication_classes = ()
    permission_classes = ()

    def get(self, request: Request) -> Response:
        """Say hello."""
        return Response({"hello": "world"})


urlpatterns = [path("hello", hello), path("empty", Empty.as_view())]
application = get_wsgi_application()
