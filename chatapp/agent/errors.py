"""Everything that ends or delays a turn, as one tree below ``AgentError``.

An error carries the data that its handler needs, so that no handler parses a message.
"""

from condense import say


class AgentError(Exception):
    """Base of the tree; its text is a sentence for people."""


class ProviderError(AgentError):
    """A model call failed.

    ``retryable`` is True if the same call may succeed later, after no more than ``attempts``;
    ``retry_after`` are the seconds that the provider asks to wait, ``status`` the HTTP status, and
    ``details`` text to copy into a bug report. ``profile_at_fault``: its key, model or address must
    be mended. What was written before it is kept with its ``stop_reason``.
    """

    stop_reason = "error"

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        retry_after: float | None = None,
        status: int | None = None,
        details: str = "",
        profile_at_fault: bool = False,
        attempts: int | None = None,
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after = retry_after
        self.status = status
        self.details = details
        self.profile_at_fault = profile_at_fault
        self.attempts = attempts


class Declined(ProviderError):
    """The model declined to answer, perhaps in the middle of an answer."""

    stop_reason = "declined"


class ContextOverflow(ProviderError):
    """The provider says that the prompt is longer than the model's context window.

    ``window`` is its size in tokens, if the provider names it.
    """

    # The engine looks for this name: it knows no error of the application.
    is_context_overflow = True
    window: int | None = None


class ToolError(AgentError):
    """A tool failed; the text goes to the model as the result."""


class Unreadable(ToolError):
    """A document can't be read: "damaged", "locked", "empty" (of text), "slow" or "broken"."""

    def __init__(self, message: str, why: str) -> None:
        super().__init__(message)
        self.why = why


class ServerFailed(ToolError):
    """An MCP server failed; the text is for people and the model."""


class StepLimitReached(AgentError):
    """The turn made as many model calls as the settings allow."""

    def __init__(self, limit: int) -> None:
        said = say("Stopped after {limit} steps, the limit set in Settings.", limit=limit)
        super().__init__(said)
        self.limit = limit


class SpendingLimitReached(AgentError):
    """A spending limit is reached; the text names the ways to go on."""


class CondensingCancelled(AgentError):
    """A person cancelled a condensation without which the turn can't go on."""


class CondensingDeclined(AgentError):
    """A person cancelled a condensation, and the turn goes on."""


class LeftEarly(AgentError):
    """The server is about to stop, and everything so far is stored."""


class LeftWaiting(AgentError):
    """The server is about to stop while a person is asked; the turn goes on once they answer."""


class TurnEndedElsewhere(AgentError):
    """The turn was ended elsewhere, so nothing more may be stored in it."""
