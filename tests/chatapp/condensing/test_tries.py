"""One attempt is one row with its tries in it: cost, work and reason are the same everywhere."""

import csv
import io
import uuid
from datetime import timedelta
from decimal import Decimal
from importlib import import_module
from types import SimpleNamespace

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

from chatapp.models import Condensation, Conversation, Preferences, Review, accounts
from chatapp.models.calls import taken_by
from tests.chatapp.audited import condense_on_record, problems, raw
from tests.chatapp.claude import converse
from tests.chatapp.condensing.conftest import talk_long
from tests.chatapp.condensing.review_steps import answer, until_shown
from tests.chatapp.sockets import Page
from tests.chatapp.web.api.programs import bearer
from tests.standin.behaviours import Reply
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)

REFUSED = "I'm sorry, I can't help with that."
REASON = "It has 0 of 9 sections"
REVIEWED = 155  # seconds


@pytest.fixture
def conversation(alice: User, standin: Standin) -> Conversation:
    """A conversation that is long enough to be condensed."""
    return talk_long(converse(alice, standin))


def metrics() -> dict[str, float]:
    """Return the sums of what is counted of condensations."""
    families = text_string_to_metric_families(Client().get("/metrics").text)
    counted: dict[str, float] = {}
    for one in (sample for family in families for sample in family.samples):
        if "condens" in one.name or one.labels.get("rule") == "refusal":
            counted[one.name] = counted.get(one.name, 0) + one.value
    return counted


def put_back(review: Review) -> None:
    """Have a review and its attempt be as old as a person needs to think."""
    ago = timedelta(seconds=REVIEWED)
    attempts = Condensation.objects.filter(pk=review.condensation_id)
    attempts.change(started_at=attempts.get().started_at - ago)
    Review.objects.filter(pk=review.pk).change(shown_at=review.shown_at - ago)


async def begin(page: Page, standin: Standin, **fields: str) -> Review:
    """Ask for a condensation whose summary is refused; return the review of what stands for it."""
    standin.then(*[Reply(f"<summary>{REFUSED}</summary>")] * 2)
    await page.send("condense.start", review=True, **fields)
    return await until_shown(page)


async def test_a_refused_try_is_part_of_the_attempt_at_every_door(
    conversation: Conversation,
    alice: User,
    standin: Standin,
    browser: Client,
    settings: Settings,
    page: Page,
) -> None:
    """Cost and work are one sum, the person's time is apart, the reason is the rule's."""
    settings.ALLOW_METRICS = True
    before = await sync_to_async(metrics)()
    review = await begin(page, standin)
    await sync_to_async(put_back)(review)
    await answer(browser, review, "accept", summary=review.shown)
    await page.until_idle()
    whole = await Condensation.objects.select_related("message").aget(made_for=None)
    refused = await Condensation.objects.aget(made_for=whole)
    assert (whole.cost, refused.cost) == (0, whole.whole_cost)
    assert whole.whole_cost
    assert whole.duration is not None
    assert whole.duration < 60
    assert REVIEWED <= whole.review_seconds < REVIEWED + 60
    read = sync_to_async(browser.get)
    chat = f"/c/{conversation.pk}/"
    copies = (f"{chat}export/html/", f"{chat}export/markdown/")
    for address in ("/condensations/", chat, f"{chat}condensations/{whole.pk}/", *copies):
        text = (await read(address)).text
        assert text.count(REASON) >= 1
        assert "+ your review 2 min" in text
        assert f"{whole.whole_cost:.4f}".rstrip("0") in text
    assert (await read("/condensations/")).text.count('class="attempt is-') == 1
    written = csv.DictReader(io.StringIO((await read("/condensations/?as=csv")).text))
    answered = [*written, *(await read("/condensations/?as=json")).json()]
    program = await sync_to_async(bearer)(alice)
    for address in (
        "/api/condensations",
        f"/api/conversations/{conversation.pk}/condensations",
    ):
        answered += (await sync_to_async(Client().get)(address, headers=program)).json()["items"]
    assert len(answered) == 4
    for told in answered:
        assert Decimal(told["cost"]) == whole.whole_cost
        assert float(told["seconds"]) == pytest.approx(whole.duration)
        assert float(told["review_seconds"]) == pytest.approx(whole.review_seconds)
        assert REASON in str(told["tries"])
    after = await sync_to_async(metrics)()
    grown = {name: after[name] - before[name] for name in after if after[name] != before[name]}
    assert grown == {
        "palimpsest_condensations_total": 1,
        "palimpsest_condensing_seconds_total": pytest.approx(whole.duration),
        "palimpsest_condensing_cost_usd_total": pytest.approx(float(whole.whole_cost)),
        "palimpsest_refused_summaries_total": 1,
    }
    assert await sync_to_async(problems)(conversation) == []


async def test_a_rating_with_a_word_is_told_to_the_next_summary(
    conversation: Conversation,
    alice: User,
    bob: User,
    standin: Standin,
    browser: Client,
    page: Page,
) -> None:
    """Its owner gives it, and takes it back; it is at every door and on the record."""
    standin.then(Reply("<summary>All of it.</summary>"))
    await sync_to_async(accounts.preferences_of)(alice)
    await Preferences.objects.aupdate(check_summaries=False)
    await page.send("condense.start")
    await page.until_idle()
    attempt = await Condensation.objects.aget()
    path = f"/c/{conversation.pk}/condensations/{attempt.pk}/rating/"
    given = {"rating": "-1", "words": "It lost <b>Ines</b>."}
    post = sync_to_async(browser.post)
    htmx = {"HX-Request": "true"}
    assert (await post(path, {"rating": "7"}, headers=htmx)).status_code == 422
    assert (await post(path, given)).status_code == 302
    other = Client()
    await sync_to_async(other.force_login)(bob)
    assert (await sync_to_async(other.post)(path, given)).status_code == 404
    read = sync_to_async(browser.get)
    for address in ("/condensations/", f"/c/{conversation.pk}/"):
        assert "You found it bad: It lost &lt;b&gt;Ines&lt;/b&gt;." in (await read(address)).text
    assert (await read("/condensations/?as=json")).json()[0]["rating"] == -1
    await sync_to_async(talk_long)(conversation)
    standin.then(Reply("<summary>All of it, again.</summary>"))
    await page.send("condense.start")
    await page.until_idle()
    asked = str(standin.requests[-1].body["messages"][-1])
    assert "Bad: It lost <b>Ines</b>." in asked
    headers = await sync_to_async(bearer)(alice)
    address = f"/api/conversations/{conversation.pk}/condensations/{attempt.pk}/rating"
    taken_back = await sync_to_async(Client().post)(
        address, {"rating": 0}, content_type="application/json", headers=headers
    )
    assert (taken_back.json()["rating"], taken_back.json()["rating_words"]) == (None, "")
    assert await sync_to_async(problems)(conversation) == []


@pytest.mark.parametrize(
    ("decision", "sent", "status", "strategy"),
    [
        ("use", {}, "used", "fresh_start"),
        ("accept", {"summary": REFUSED, "edit": "on"}, "used", "fresh_start"),
        ("accept", {"summary": REFUSED}, "accepted", "ledger"),
        ("accept", {"summary": "Own words.", "edit": "on"}, "edited", "fresh_start"),
    ],
)
async def test_what_a_person_makes_of_a_refused_summary_is_on_record(
    conversation: Conversation,
    alice: User,
    standin: Standin,
    browser: Client,
    decision: str,
    sent: dict[str, str],
    status: str,
    strategy: str,
    page: Page,
) -> None:
    """Who, and what: used as it is, changed, or left for the key facts."""
    review = await begin(page, standin)
    for edit in ({}, {"edit": "on"}):
        seen = await answer(browser, review, "", "figures/", summary=REFUSED, **edit)
        assert ("help with that" in seen.text) == bool(edit)
    assert (await answer(browser, review, decision, **sent)).status_code == 204
    await page.until_idle()
    await review.arefresh_from_db()
    assert (review.status, review.answered_by_id) == (status, alice.pk)
    whole = await Condensation.objects.aget(made_for=None)
    assert (whole.strategy, bool(whole.prompt)) == (strategy, strategy != "ledger")
    assert await sync_to_async(problems)(conversation) == []


def test_attempts_of_before_are_linked_to_their_tries(conversation: Conversation) -> None:
    """By the moment they began at; what both cost and worked is on the one that was applied."""
    migration = import_module("chatapp.migrations.0061_attempts")
    made = condense_on_record(conversation, cost=Decimal("0.25"), finished_at=timezone.now())
    made.refresh_from_db()
    columns = {one.attname: getattr(made, one.attname) for one in made._meta.concrete_fields}
    columns |= {"id": uuid.uuid4(), "message_id": None, "status": "failed", "fell_back_to": "x"}
    columns |= {"started_at": made.started_at - timedelta(seconds=8)}
    tried = Condensation.objects.create(**columns)
    # What came in its place failed as well; it was the day before the other.
    yesterday = made.started_at - timedelta(days=1)
    columns |= {"at_seq": made.at_seq, "fell_back_to": "x", "started_at": yesterday}
    in_vain = Condensation.objects.create(**columns | {"id": uuid.uuid4()})
    ended = {"fell_back_to": "", "started_at": yesterday + timedelta(seconds=1)}
    instead = Condensation.objects.create(**columns | ended | {"id": uuid.uuid4()})
    # As models are to a migration: without what the application adds.
    tables = {"Condensation": Condensation, "Review": Review}
    bare = {name: SimpleNamespace(objects=raw(model)) for name, model in tables.items()}
    migration.link_tries(SimpleNamespace(get_model=lambda _app, name: bare[name]), None)
    made.refresh_from_db()
    assert made.finished_at
    assert (made.tried, instead.tried) == ([tried], [in_vain])
    assert made.whole_cost == Decimal("0.5")
    assert made.duration == (made.finished_at - tried.started_at).total_seconds()
    # A person looked at what came to nothing, too.
    looked = {"shown_at": tried.started_at, "answered_at": tried.started_at + timedelta(seconds=5)}
    Review.objects.create(condensation=tried, ordinal=1, **looked)
    migration.link_tries(SimpleNamespace(get_model=lambda _app, name: bare[name]), None)
    made.refresh_from_db()
    taken = {"work_seconds": made.work_seconds, "review_seconds": 5}
    assert made.work_seconds == pytest.approx(
        (made.finished_at - looked["answered_at"]).total_seconds()
    )
    assert taken_by(made, made.finished_at).items() >= taken.items()
    tried.delete()
    raw(Condensation).update(
        total_cost=None, total_measured=None, work_seconds=None, review_seconds=0
    )


def test_work_on_a_draft_ends_before_its_later_reviews(conversation: Conversation) -> None:
    """One that was open by then counts apart from the work, for as long as it was open."""
    made = condense_on_record(conversation)
    for number, seconds in enumerate((5, 60)):
        shown = made.started_at + timedelta(seconds=seconds)
        Review.objects.create(condensation=made, ordinal=number, proposal={}, shown_at=shown)
    taken = taken_by(made, made.started_at + timedelta(seconds=8))
    assert (taken["work_seconds"], taken["review_seconds"]) == (5, 3)
