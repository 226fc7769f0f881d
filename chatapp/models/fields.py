"""Columns for words: their values can be written, sent and shown later.

Users, models, tools and providers write characters that UTF-8 or JSON can't carry. These columns
mend them when they are stored, in the row at hand as well, so that no reader has to check again. In
a migration they are Django's own fields, as they are to a database.
"""

import base64
import re
from collections.abc import Iterable
from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, Self, override

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Case, F, Q, When
from django.db.models.expressions import BaseExpression
from django.db.models.functions import Cast, Round
from django.utils.encoding import force_bytes
from django.utils.translation import gettext_lazy as _

import condense
from chatapp.models.errors import DecryptionFailed

USD_PLACES = 10

if TYPE_CHECKING:
    AnyField = models.Field[Any, Any]
    Characters = models.CharField[str, str]
    Text = models.TextField[str, str]
    Json = models.JSONField[Any, Any]
else:
    # Generic for the type checker only.
    AnyField = object
    Characters, Text, Json = models.CharField, models.TextField, models.JSONField


class _WellFormed(AnyField):
    """The common part of these columns: values are mended before they are stored."""

    @override
    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        """Mend the row as well: it is shown before it is read again."""
        value = self.get_prep_value(super().pre_save(model_instance, add))
        setattr(model_instance, self.attname, value)
        return value

    @override
    def get_prep_value(self, value: Any) -> Any:
        """Return the value as it can be written."""
        # Django makes text of an expression, such as the default that a database gives.
        if isinstance(value, BaseExpression):
            return value
        return condense.well_formed_json(super().get_prep_value(value))

    @override
    def deconstruct(self) -> tuple[str, str, list[Any], dict[str, Any]]:
        """Return Django's own field, so that no migration imports this file."""
        name, _path, args, kwargs = super().deconstruct()
        return name, f"django.db.models.{type(self).__bases__[-1].__name__}", list(args), kwargs


class CharField(_WellFormed, Characters):
    """One line of text, such as a title, without the characters that reverse direction."""

    @override
    def to_python(self, value: Any) -> Any:
        """Return the line without direction characters."""
        line = super().to_python(value)
        return condense.upright(line) if isinstance(line, str) else line

    def from_db_value(self, value: Any, _expression: Any, _connection: Any) -> Any:
        """Return a stored line, which may be older than this rule, without them."""
        return self.to_python(value)


class TextField(_WellFormed, Text):
    """Text of any length."""


class JSONField(_WellFormed, Json):
    """A JSON value; of a model's or a tool's making, mostly."""


def contains(column: str, text: str) -> Q:
    """Return the condition that a column has a text, in capitals or not."""
    # SQLite by itself knows no capitals but those of English.
    lookup, wanted = ("icontains", text) if text.isascii() else ("iregex", re.escape(text))
    return Q((f"{column}__{lookup}", wanted))


class SentencesField(JSONField):
    """The templates and values of the sentences in a row's columns ``SAID``; null without any."""

    @override
    def pre_save(self, model_instance: Any, add: bool) -> Any:
        """Collect them."""
        setattr(model_instance, self.attname, sentences_of(model_instance))
        return super().pre_save(model_instance, add)


class Speaking(models.Model):
    """A row with English sentences in the columns ``SAID``, of which the audit chain has digests.

    Their ``sentences`` are stored apart; one that does not make the stored text is not used.
    """

    SAID: ClassVar[frozenset[str]]
    sentences = SentencesField(null=True, editable=False)

    class Meta:
        abstract = True

    @override
    @classmethod
    def from_db(cls, *stored: Any, **how: Any) -> Self:
        """Return the stored row with its sentences."""
        row = super().from_db(*stored, **how)
        row.restore_sentences()
        return row

    def restore_sentences(self) -> None:
        """Put the ``sentences`` in the place of their texts."""
        if known := read_sentences(self.__dict__.get("sentences")):
            for name in self.SAID & self.__dict__.keys():
                said = condense.each_text(getattr(self, name), lambda one: known.get(one, one))
                setattr(self, name, said)


def sentences_of(row: Any) -> list[Any] | None:
    """Return the sentences with values in a row, None if there are none."""
    return sentences_in([getattr(row, name) for name in row.SAID])


def sentences_in(value: object) -> list[Any] | None:
    """Return the sentences with values in a JSON value, None if there are none."""
    found = list[Any]()
    condense.each_text(value, found.append)
    made = {str(one): one.to_json() for one in found if getattr(one, "values", None)}
    return [*made.values()] or None


def read_sentences(stored: Iterable[Any] | None) -> dict[str, condense.Sentence]:
    """Return the sentences of a result of ``sentences_in``, by their texts."""
    known = {}
    for one in stored or ():
        with suppress(ValueError, RecursionError):
            said = condense.Sentence.from_json(one)
            known[str(said)] = said
    return known


class ReceiptField(JSONField):
    """A receipt, as the engine gave it; it is empty if nothing was hidden."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "default": condense.Receipt})

    @override
    def deconstruct(self) -> tuple[str, str, list[Any], dict[str, Any]]:
        """Return the JSON list that it is to a database."""
        name, path, args, kwargs = super().deconstruct()
        return name, path, args, {**kwargs, "default": list}

    @override
    def from_db_value(self, value: Any, expression: Any, connection: Any) -> condense.Receipt:
        """Return the stored receipt, or an empty one if a join found no row."""
        stored = super().from_db_value(value, expression, connection)
        return condense.Receipt.from_json(stored) if stored else condense.Receipt()

    @override
    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        """Leave a receipt in the row, not its JSON."""
        value = super().pre_save(model_instance, add)
        if not isinstance(value, BaseExpression):
            setattr(model_instance, self.attname, condense.Receipt.from_json(value))
        return value

    @override
    def get_prep_value(self, value: Any) -> Any:
        """Return the receipt as it can be written."""
        is_receipt = isinstance(value, condense.Receipt)
        return super().get_prep_value(value.to_json() if is_receipt else value)


def usd(default: Decimal | None = Decimal(0)) -> "models.DecimalField[Any, Any]":
    """Return a column for USD, exact to one token at 0.0001 USD per million; null is unknown."""
    return models.DecimalField(max_digits=20, decimal_places=USD_PLACES, default=default, null=True)


class UsdSum(models.Sum):
    """The sum of a column of USD, exact even if a database adds floats.

    Without rows it is zero, and None without one ``where`` the condition holds.
    """

    def __init__(self, column: str, *, where: Q | None = None) -> None:
        units: Any = Cast(Round(F(column) * 10**USD_PLACES), models.BigIntegerField())
        super().__init__(Case(When(where, then=units)) if where else units)
        self.without = None if where else Decimal(0)

    @property
    def convert_value(self) -> Any:
        """The function that converts units of the last decimal place to USD."""

        def convert(units: int | None, *_asked: object) -> Decimal | None:
            return self.without if units is None else Decimal(units).scaleb(-USD_PLACES)

        return convert


def spending_limit(label: Any, *, help_text: Any = "") -> "models.DecimalField[Any, Any]":
    """Return a column for the USD that may be spent; null is no limit."""
    return models.DecimalField(
        label,
        help_text=help_text,
        max_digits=12,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[MinValueValidator(Decimal("0.01"))],
    )


def tokens_kept(help_text: Any) -> "models.PositiveIntegerField[int | None, int | None]":
    """Return a column for the tokens of newest messages to keep, null for no choice."""
    bounds = [MinValueValidator(500), MaxValueValidator(1_000_000)]
    return models.PositiveIntegerField(
        _("tokens to keep"), help_text=help_text, null=True, blank=True, validators=bounds
    )


class EncryptedField(TextField):
    """A result of ``encrypt``, or ""; ``rotate_keys`` finds the column by this type."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"blank": True, "editable": False, **options})


_PURPOSE = b"palimpsest stored keys"
# The beginning of each token of Fernet: its version and a time in this century.
_BEGINS = "gAAAAA"


def encrypt(text: str) -> str:
    """Return ``text`` encrypted, as ASCII."""
    return MultiFernet(_boxes()).encrypt(text.encode()).decode()


def decrypt(token: str) -> str:
    """Return the text that ``encrypt`` was given; raise DecryptionFailed if it can't be read."""
    try:
        return MultiFernet(_boxes()).decrypt(token.encode()).decode()
    except InvalidToken as error:
        raise DecryptionFailed from error


def is_encrypted(text: str) -> bool:
    """Return True if a text looks like a result of ``encrypt``, with any key."""
    return text.startswith(_BEGINS)


def renew(token: str) -> str:
    """Return a token encrypted with the newest key, itself if it is; raise as ``decrypt`` does."""
    newest, *older = _boxes()
    with suppress(InvalidToken):
        newest.decrypt(token.encode())
        return token
    try:
        return MultiFernet([newest, *older]).rotate(token.encode()).decode()
    except InvalidToken as error:
        raise DecryptionFailed from error


def _boxes() -> list[Fernet]:
    """Return one for each key: that of today encrypts, those before it still decrypt."""
    keys = []
    for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        kdf = HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE)
        keys.append(base64.urlsafe_b64encode(kdf.derive(force_bytes(secret))))
    return [Fernet(key) for key in keys]
