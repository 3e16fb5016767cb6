"""Two records side by side."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from lookalike._settings import Settings, plan

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True)
class Passage:
    """What both texts have. Spans are positions in the texts: ``left_text[start:end]``."""

    text: str
    tokens: int
    left: tuple[int, int]
    right: tuple[int, int]
    #: The tokens that both have, over all tokens of the longer side: 1 if the passage is verbatim.
    similarity: float = 1.0


@dataclass(frozen=True)
class Comparison:
    """How alike two texts are, and where."""

    #: Shared shingles over all shingles of both.
    jaccard: float
    #: How much of the left text is in the right one.
    left_in_right: float
    #: How much of the right text is in the left one.
    right_in_left: float
    #: Shingles that both have, and that each has.
    shared: int
    left_shingles: int
    right_shingles: int
    #: The Jaccard similarity that sketches tell, and its standard error; None where the settings use no sketches.
    estimate: float | None
    standard_error: float | None
    #: What both have in common, in the order of the left text: verbatim, or with small edits.
    passages: list[Passage]
    #: Passages whose words were changed or put in another order, as far as they are not among ``passages``.
    reworded: list[Passage]
    left_text: str
    right_text: str

    def __repr__(self) -> str:
        return f"<jaccard {self.jaccard:.6f}, {len(self.passages)} shared passages>"

    def _repr_html_(self) -> str:
        sides = (
            (self.left_text, [passage.left for passage in self.passages]),
            (self.right_text, [passage.right for passage in self.passages]),
        )
        cells = "".join(f"<td>{_marked(text, spans)}</td>" for text, spans in sides)
        style = "text-align:left;vertical-align:top;white-space:pre-wrap"
        return f"<p>Jaccard {self.jaccard:.6f}</p><table><tr style='{style}'>{cells}</tr></table>"


def _marked(text: str, spans: list[tuple[int, int]]) -> str:
    """A text as HTML, with these spans marked."""
    pieces, at = [], 0
    for start, end in sorted(spans):
        start = max(start, at)
        if start < end:
            pieces += [escape(text[at:start]), "<mark>", escape(text[start:end]), "</mark>"]
            at = end
    return "".join([*pieces, escape(text[at:])])


def compare(left: str, right: str, **settings: Unpack[Settings]) -> Comparison:
    """Say how alike two texts are, and which passages they share.

    >>> import lookalike as la
    >>> found = la.compare("It was a dark and stormy night.", "They say it was a dark and stormy night; so what?")
    >>> [passage.text for passage in found.passages]
    ['It was a dark and stormy night']
    >>> found.left_in_right
    1.0
    """
    for side, text in (("left", left), ("right", right)):
        if not isinstance(text, str):
            raise TypeError(f"the {side} text is of type {type(text).__name__}; it must be a str")
    found: dict[str, Any] = plan(**settings).compare(left, right)
    for kind in ("passages", "reworded"):
        found[kind] = [
            Passage(left[from_:to], tokens, (from_, to), (other_from, other_to), similarity)
            for tokens, similarity, (from_, to), (other_from, other_to) in found[kind]
        ]
    return Comparison(**found, left_text=left, right_text=right)


def similarity(left: Any, right: Any, **settings: Unpack[Settings]) -> float:
    """How alike two records are, exactly: texts, or sets of items. With ``measure="containment"``: how much of the left one
    is in the right one.

    >>> import lookalike as la
    >>> la.similarity({"milk", "bread", "eggs"}, {"milk", "bread", "beer"})
    0.5
    >>> la.similarity("a b c d e f", "a b c d e f g", shingles="words:2")
    0.8333333333333334
    """
    return plan(**settings).similarity(left, right)
