"""Who reads which language: pages, mails, exports and packages, and the API that has one (CO-11)."""

from typing import Any

import pytest
from django.conf import settings
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import translation

from tests import factories
from tests.api import InProcess
from tests.console.conftest import SignedIn
from tests.console.test_passwords import mailed_link
from tests.privacy.packages import MARIA, package, profile_of
from workspaces.languages import spoken_to
from workspaces.models import Person
from workspaces.types import WorkspaceRef

PORTUGUESE = {"accept-language": "pt-BR,pt;q=0.9,en;q=0.5"}


def spoken_by(answer: Any) -> tuple[str, str]:
    """Give the language that a page says it is in, in its head and in its headers."""
    return answer.content.decode().split('<html lang="')[1].split('"')[0], answer["Content-Language"]


def me(person: Person, **change: str) -> dict[str, str]:
    return {"name": person.name, "time_zone": "UTC", "language": person.language, **change}


def test_the_sign_in_speaks_what_the_browser_asks_for() -> None:
    """CO-11: by Accept-Language, and English where it asks for nothing that there is."""
    asked = Client().get("/console/sign-in/", headers=PORTUGUESE)
    assert spoken_by(asked) == ("pt-br", "pt-br")
    assert "Esqueceu a senha?" in asked.content.decode()
    assert spoken_by(Client().get("/console/sign-in/", headers={"accept-language": "de"})) == ("en", "en")


def test_who_is_signed_out_keeps_a_language_in_a_cookie() -> None:
    """CO-11, PL-19: the chooser is a form; what is no language is not kept, and it leads to no other site."""
    client = Client()
    chosen = client.post("/console/language/", {"language": "pt-br", "next": "/console/password/"})
    assert (chosen.status_code, chosen["Location"]) == (303, "/console/password/")
    assert spoken_by(client.get("/console/sign-in/")) == ("pt-br", "pt-br")
    assert client.post("/console/language/", {"language": "xx"}).cookies == {}
    away = client.post("/console/language/", {"language": "fr", "next": "https://elsewhere.example/"})
    assert away["Location"] == "/console/"


def test_a_person_chooses_a_language_for_good(security: Person, signed_in: SignedIn) -> None:
    """CO-11: what was chosen outlives the browser and weighs more than what that asks for; it can be taken back."""
    assert signed_in(security).post("/console/me/", me(security, language="pt-br")).status_code == 303
    page = signed_in(security).get("/console/me/", headers={"accept-language": "en"})
    assert spoken_by(page) == ("pt-br", "pt-br")
    assert "Minhas configurações" in page.content.decode()
    refused = signed_in(security).post("/console/me/", me(security, language="xx"))
    assert refused.status_code == 422
    assert list(refused.context["form"].errors) == ["language"]
    assert signed_in(security).post("/console/me/", me(security, language="")).status_code == 303
    assert spoken_by(signed_in(security).get("/console/me/")) == ("en", "en")


def test_the_chooser_of_an_error_page_keeps_it_with_the_person(security: Person, signed_in: SignedIn) -> None:
    """CO-11: whoever is signed in finds the language on every browser."""
    signed_in(security).post("/console/language/", {"language": "pt-br"})
    assert Person.objects.get(id=security.id).language == "pt-br"


def test_dates_and_numbers_follow_the_language(
    aurora: WorkspaceRef, security: Person, signed_in: SignedIn
) -> None:
    """CO-11: dates in figures as Portuguese writes them."""
    Person.objects.filter(id=security.id).update(language="pt-br")
    page = signed_in(security).get(f"/console/w/{aurora.slug}/audit/").content.decode()
    shown = page.split("<time", 1)[1].split(">", 1)[1].split("<")[0]
    assert shown[2] == shown[5] == "/"


def test_the_api_speaks_english_whatever_was_read_before(agent: InProcess) -> None:
    """CO-11, PL-8: a page in another language leaves nothing to the thread that then answers the API."""
    body = factories.write({"step": 7}, mode="nonsense")
    before = agent.put("/v1/agent-state", body).body
    assert spoken_by(Client().get("/console/sign-in/", headers=PORTUGUESE))[0] == "pt-br"
    after = agent.put("/v1/agent-state", body).body
    assert {**after, "request_id": ""} == {**before, "request_id": ""}
    assert Client().get("/v1/docs", headers=PORTUGUESE).content.decode().count("Entrar") == 0


def test_a_forgotten_password_is_answered_in_the_reader_s_language(security: Person) -> None:
    """CO-11: the mail is for its reader, whoever's browser asked for it."""
    Person.objects.filter(id=security.id).update(language="pt-br")
    mailed_link(security, **{"accept-language": "en"})
    assert mail.outbox[-1].subject == "Uma nova senha para o Lastro"
    Person.objects.filter(id=security.id).update(language="")
    mailed_link(security, **PORTUGUESE)
    assert "Escolha-a aqui" in str(mail.outbox[-1].body)


def test_an_invitation_is_written_in_the_language_of_who_invites(
    aurora: WorkspaceRef, owner: Person, signed_in: SignedIn, django_capture_on_commit_callbacks: Any
) -> None:
    """CO-11: nobody knows what the invited person reads, and their colleague is the best guess."""
    Person.objects.filter(id=owner.id).update(language="pt-br")
    wish = {"email": "inga@example.com", "roles": ["support"], "reason": "A new colleague"}
    with django_capture_on_commit_callbacks(execute=True):
        assert signed_in(owner).post(f"/console/w/{aurora.slug}/people/invite/", wish).status_code == 303
    assert mail.outbox[-1].subject == "Você foi convidado para Aurora no Lastro"


def test_the_page_of_a_package_is_in_the_language_of_who_asked(
    aurora: WorkspaceRef, agent: InProcess, signed_in: SignedIn
) -> None:
    """CO-11, PR-18: its page speaks Portuguese; what machines read, and what was stored, stays as it is."""
    privacy = factories.make_person(aurora, "privacy", name="Petra")
    Person.objects.filter(id=privacy.id).update(language="pt-br")
    agent.write(factories.write({"step": "cart"}, subject=MARIA))
    address = reverse("console:package_new", args=[aurora.slug, profile_of(aurora, MARIA).id])
    assert signed_in(privacy).post(address, {"reason": "Maria asked"}).status_code == 303
    found = package(aurora, MARIA)
    assert '<html lang="pt-br">' in found.page
    assert "Memória de trabalho de agentes" in found.page
    assert ">Guardado por<" in found.page
    assert ">order-taker<" in found.page
    assert found.manifest["format"] == "lastro-subject-package"


@pytest.mark.parametrize("chosen", ["", "xx", "pt-br"])
def test_who_chose_nothing_that_there_is_hears_what_is_spoken(chosen: str) -> None:
    """CO-11: a language that is no longer offered is no choice."""
    with translation.override("fr"), spoken_to(Person(language=chosen)):
        assert translation.get_language() == (chosen if chosen in dict(settings.LANGUAGES) else "fr")
