from decimal import Decimal
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.http import QueryDict

from chatapp.agent.prompts import SYSTEM_PROMPT
from chatapp.models import Preferences, Profile, ServerSettings
from chatapp.models.accounts import preferences_of
from chatapp.web.forms.accounts import forms_of_saved
from chatapp.web.forms.conversations import PoliciesForm
from chatapp.web.forms.preferences import PreferencesForm, ProfileChoice, default_prompt
from chatapp.web.forms.profiles import ProfileForm, model_defaults, provider_traits
from condense import INHERIT
from tests.chatapp.profile_form import PROFILE


def profile_form(owner: User, instance: Profile | None = None, **changes: Any) -> ProfileForm:
    """Return the form as the browser would send it."""
    return ProfileForm(PROFILE | changes, instance=instance or Profile(owner=owner))


def saved(form: ProfileForm) -> Profile:
    """Return the profile of a valid form."""
    assert form.is_valid(), form.errors
    return form.save()


def preferences_form(owner: User, **changes: Any) -> PreferencesForm:
    """Return the settings as the browser would send them."""
    prompt = default_prompt(Preferences())
    sent = {"threshold": 80, "step_limit": 50, "condensing_prompt": prompt}
    return PreferencesForm(sent | changes, instance=preferences_of(owner))


def test_a_profile_inherits_unless_it_has_a_value_of_its_own(alice: User, bob: User) -> None:
    """Both ways lead to what is stored, and back: the number that was there is not in the way.

    Its name is its owner's only one; Bob may have a profile of the same name.
    """
    profile = saved(profile_form(alice))
    assert profile.threshold == INHERIT
    assert list(profile_form(alice).errors) == ["name"]
    assert profile_form(alice, profile).is_valid()
    assert profile_form(bob).is_valid()
    own = saved(profile_form(alice, name="Own", mode="own", own_threshold=70))
    assert own.threshold == 70
    assert saved(profile_form(alice, own, name="Own", own_threshold=70)).threshold == INHERIT


def test_a_system_prompt_like_the_default_is_not_stored(alice: User) -> None:
    """A better default then reaches the user; a text of one's own is kept as it is."""
    form = ProfileForm(instance=Profile(owner=alice))
    assert form["system_prompt"].value() == SYSTEM_PROMPT
    profile = saved(profile_form(alice, system_prompt=SYSTEM_PROMPT.replace("\n", "\r\n")))
    assert profile.system_prompt == ""
    assert saved(profile_form(alice, profile, system_prompt=" Be\r\nterse. ")).system_prompt == (
        "Be\nterse."
    )


NO_THRESHOLD, NUMBERS = ("", 4, 101, "half"), ("context_window", "max_output", "price_input")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("own_threshold", value) for value in NO_THRESHOLD),
        *((name, "9" * digits) for name in NUMBERS for digits in (10, 5_000)),
        # A reserve as large as the window would leave no room for a prompt.
        ("max_output", 200_000),
    ],
)
def test_numbers_that_no_model_has_are_refused_at_their_field(
    alice: User, field: str, value: Any
) -> None:
    """And the page can still show the form; a threshold is a number from 5 to 100."""
    form = profile_form(alice, **{"mode": "own", "own_threshold": 70, field: value})
    assert list(form.errors) == [field]
    form.limits()
    if value in NO_THRESHOLD:
        assert list(preferences_form(alice, threshold=value).errors) == ["threshold"]


def test_a_key_is_stored_never_shown_and_stays_unless_it_is_removed(alice: User) -> None:
    """The form that edits the profile does not contain it; an empty field means "as it was"."""
    profile = saved(profile_form(alice, key="sk-secret"))
    assert profile.read_key() == "sk-secret"
    assert "sk-secret" not in ProfileForm(instance=profile).as_p()
    assert saved(profile_form(alice, profile)).read_key() == "sk-secret"
    assert not saved(profile_form(alice, profile, remove_key="on")).has_key


def test_a_stored_profile_is_shown_as_a_person_would_type_it(alice: User) -> None:
    """$5, not $5.000000, and no password of an address, whatever way it came there."""
    profile = saved(profile_form(alice))
    Profile.objects.update(base_url="http://user:pw@x.org/v1")
    profile.refresh_from_db()
    form = ProfileForm(instance=profile)
    assert [field.value() for field in form.prices()] == ["5", "25", "0.5", "6.25"]
    shown = str(form["base_url"])
    assert ("http://x.org/v1" in shown, "pw" in shown) == (True, False)


def test_a_condensing_prompt_is_stored_unless_it_is_the_default(alice: User) -> None:
    """What is used is what is seen, and a better default reaches who did not write their own."""
    form, default = PreferencesForm(instance=preferences_of(alice)), default_prompt(Preferences())
    assert form["condensing_prompt"].value() == default
    assert default_prompt(Preferences(attach_ledger=False)) != default
    form = preferences_form(alice, condensing_prompt=default.replace("\n", "\r\n"))
    assert form.save().condensing_prompt == ""
    preferences = preferences_form(alice, condensing_prompt="Be brief.").save()
    shown = PreferencesForm(instance=preferences)["condensing_prompt"].value()
    assert (preferences.condensing_prompt, shown) == ("Be brief.", "Be brief.")


def test_a_switch_that_is_not_sent_is_off_unless_a_page_may_hide_it(alice: User) -> None:
    """Such a one says when it is off."""
    preferences_of(alice)
    names = ("auto_condense", "adaptive", "attach_ledger")
    Preferences.objects.filter(owner=alice).update(**dict.fromkeys(names, True))
    stored = preferences_form(alice).save()
    assert [getattr(stored, name) for name in names] == [False, False, True]
    assert not preferences_form(alice, attach_ledger="").save().attach_ledger


def test_a_field_that_a_page_left_alone_keeps_what_is_stored(alice: User) -> None:
    """Of each kind: numbers, choices, switches, texts, prices and names of other rows."""
    other = saved(profile_form(alice, name="Other"))
    stored = {"tokens_kept": 700, "find_contradictions": True, "price_input": 3, "text_only": True}
    mine = saved(profile_form(alice, mode="own", own_threshold=70, summaries_by=other.pk, **stored))
    changes = QueryDict(mutable=True)
    changes.update(PROFILE | {"name": "Mine"})
    changes.setlist("kept", [*stored, "mode", "own_threshold", "summaries_by", "key"])
    again = saved(ProfileForm(changes, instance=Profile.objects.get(pk=mine.pk)))
    assert (again.name, again.threshold, again.summaries_by) == ("Mine", 70, other)
    assert {name: getattr(again, name) for name in stored} == stored
    decided = {"read_file": "deny", "write_file": "allow"}
    sent = QueryDict("tool-read_file=allow&tool-write_file=ask&kept=tool-read_file")
    tools = PoliciesForm(sent, profile=mine, decided=decided, inherited={})
    assert tools.is_valid()
    assert tools.policies() == {"read_file": "deny", "write_file": "ask"}


def test_a_tool_that_operators_deny_keeps_what_was_decided_about_it(
    alice: User, settings: LazySettings
) -> None:
    """Also one that is off on this server: it would be as decided again, once it is on."""
    settings.ALLOW_COMMANDS = False
    ServerSettings(pk=1, denied_tools=["write_file"]).save()
    mine = saved(profile_form(alice))
    decided = {"write_file": "deny", "run_command": "ask", "read_file": "ask"}
    sent = QueryDict("tool-read_file=deny&tool-run_command=allow&tool-write_file=allow")
    tools = PoliciesForm(sent, profile=mine, decided=decided, inherited={})
    assert tools.is_valid()
    assert tools.policies() == decided | {"read_file": "deny"}


def test_a_profile_chooses_among_its_owners_prompts(alice: User, bob: User) -> None:
    """And says whose its threshold is."""
    profile = saved(profile_form(alice))
    for owner, wrong in ((alice, []), (bob, ["condensing_prompt"])):
        sent = {
            "mode": "inherit",
            "condensing_prompt": owner.condensing_prompts.create(text="T").pk,
        }
        assert list(ProfileChoice(sent, instance=profile).errors) == wrong
    for adaptive, own, source in ((0, -1, "Settings"), (1, -1, "Adapted"), (1, 60, "Profile")):
        profile.owner.preferences.adaptive, profile.threshold = bool(adaptive), own
        assert ProfileChoice(instance=profile).source == source
    too_many = {"prompts-INITIAL_FORMS": 0, "prompts-TOTAL_FORMS": 101}
    assert "at most 100" in str(forms_of_saved(too_many, alice)["prompts"].non_form_errors())


def test_known_models_fill_in_limits_and_prices() -> None:
    """With the names of the form's fields."""
    known = model_defaults()["claude-opus-5"]
    assert known["provider"] == "anthropic"
    assert set(known["fields"]) < set(ProfileForm.Meta.fields)
    assert Decimal(known["fields"]["price_input"]) == 5
    assert known["surcharge"] == ""
    assert provider_traits()["anthropic"]["serverKey"] is False
    assert "Above 100,000 tokens" in model_defaults()["claude-haiku-5-5"]["surcharge"]


@pytest.mark.parametrize(
    "url",
    ["ftp://x.org", "http://user:pw@x.org", "http://10.0.0.1", "http://localhost:9", "http://[::1"],
)
def test_an_address_that_may_not_be_called_is_refused(
    alice: User, settings: LazySettings, url: str
) -> None:
    """Where others can reach the server, its own network is for the operator to open."""
    assert saved(profile_form(alice, name="Local", base_url="http://ollama:9000")).base_url
    assert "base_url" in profile_form(alice, base_url="http://a:b@localhost:9000").errors
    # What the page hides for a provider without a network is not kept either.
    offline = profile_form(alice, name="Off", provider="offline", base_url="https://x.org")
    assert saved(offline).base_url == ""
    settings.ALLOW_PRIVATE_ADDRESSES = False
    form = profile_form(alice, base_url=url)
    assert list(form.errors) == ["base_url"]
    assert "pw" not in str(form["base_url"])


@pytest.mark.parametrize("sent", [102, 2_000, 10**9])
def test_no_more_forms_are_made_than_may_be_saved(alice: User, sent: int) -> None:
    """However many a request says that it has; which is refused."""
    for prefix in forms_of_saved(None, alice):
        counts = {f"{prefix}-TOTAL_FORMS": sent, f"{prefix}-INITIAL_FORMS": 0}
        formset = forms_of_saved(counts, alice)[prefix]
        assert len(formset.forms) <= 101
        assert not formset.is_valid()
