"""Calibration: the ratio of a provider's tokenizer to our estimates, learned from its reports."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from condense.tokens.counters import TokenCount

# The weight of an older report, as a share of the one after it.
FADING = 0.85
# The belief without any report, as standard deviations: a tokenizer takes between half and twice
# the estimate, and a vendor adds some hundred tokens of its own to every request.
SLOPE_DOUBT, CONSTANT_DOUBT = 0.5, 300.0
# The scatter of estimates around the line: a share of their size, and some tokens.
SCATTER, SCATTER_TOKENS = 0.02, 8.0
# Reports farther off than this many times the scatter are outliers and lose weight (Huber's
# constant); after this many rounds it is settled which ones they are.
OUTLIER, ROUNDS = 1.345, 12
# No tokenizer is farther off; a report that says so is about something else.
SLOPES = (0.2, 5.0)


class Report(NamedTuple):
    """The text of one whole prompt in tokens: as estimated, and as the provider measured it."""

    estimated: int
    measured: int


class FittedLine(NamedTuple):
    """Measured tokens as a constant plus a multiple of the estimate."""

    constant: float
    slope: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """A line through the latest reports of text alone; without any, estimates stay unchanged.

    The slope is the ratio of the tokenizers; the constant is the vendor's addition to every
    request. They are drawn towards 1 and 0 until reports say otherwise, the latest ones weigh most,
    and outliers hardly anything. The tokens of ``media`` (images and PDFs, see
    ``condense.count_media``) are the same for every tokenizer.
    """

    MEMORY: ClassVar[int] = 16
    """How many reports are kept."""

    reports: tuple[Report, ...] = ()

    def observe(self, estimated: int, measured: int, *, media: int = 0) -> "Calibration":
        """Return the calibration that knows one more report; one without text says nothing."""
        report = Report(estimated - media, measured - media)
        if min(report) <= 0:
            return self
        return Calibration((*self.reports, report)[-self.MEMORY :])

    @property
    def line(self) -> FittedLine:
        """The line that fits the reports best."""
        doubts = [1.0] * len(self.reports)
        line = _fit(self.reports, doubts)
        for _ in range(ROUNDS if self.reports else 0):
            before = doubts
            doubts = [
                max(
                    1.0,
                    abs(measured - line.constant - line.slope * estimated)
                    / (SCATTER * estimated + SCATTER_TOKENS)
                    / OUTLIER,
                )
                for estimated, measured in self.reports
            ]
            if doubts == before:
                break
            line = _fit(self.reports, doubts)
        return line

    def apply(self, estimate: int, *, media: int = 0) -> TokenCount:
        """Return the size to expect of a whole prompt that is estimated at ``estimate``."""
        line, text = self.line, estimate - media
        # A constant learned from large prompts must not swallow a small one.
        expected = max(line.constant + line.slope * text, text * line.slope / 2)
        return TokenCount(max(0, round(expected)) + media)

    def extend(self, measured: int, newer: int, *, media: int = 0) -> TokenCount:
        """Return a measured size plus later content, which is estimated at ``newer``."""
        added = round((newer - media) * self.line.slope) + media
        return TokenCount(measured + added, measured=not newer)


def _fit(reports: tuple[Report, ...], doubts: list[float]) -> FittedLine:
    """Return the line of weighted least squares; its prior has the constant 0 and the slope 1."""
    cc, cs, ss = CONSTANT_DOUBT**-2, 0.0, SLOPE_DOUBT**-2
    c = s = 0.0
    for age, (report, doubt) in enumerate(zip(reversed(reports), reversed(doubts), strict=True)):
        scatter = SCATTER * report.estimated + SCATTER_TOKENS
        weight = FADING**age / (doubt * scatter**2)
        off = report.measured - report.estimated
        cc += weight
        cs += weight * report.estimated
        ss += weight * report.estimated**2
        c += weight * off
        s += weight * report.estimated * off
    determinant = cc * ss - cs * cs
    slope = 1 + (cc * s - cs * c) / determinant
    slope = min(max(slope, SLOPES[0]), SLOPES[1])
    return FittedLine((c - cs * (slope - 1)) / cc, slope)
