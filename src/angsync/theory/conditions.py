"""Conditions of a statement, each with its two sides, so that one can see which fails and by how much."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Condition:
    """One sufficient condition: ``value`` against ``limit``."""

    name: str
    value: float
    limit: float
    relation: str
    """How value and limit must stand to each other: ``<=``, ``<`` or ``>=``."""

    @property
    def holds(self) -> bool:
        """Whether the relation is met; never with a NaN."""
        if self.relation == "<=":
            return self.value <= self.limit
        if self.relation == "<":
            return self.value < self.limit
        return self.value >= self.limit

    def __str__(self) -> str:
        return f"{self.name}: {self.value:.4g} {self.relation} {self.limit:.4g} {'holds' if self.holds else 'FAILS'}"


@dataclass(frozen=True)
class Conditions:
    """All conditions of one statement. They are sufficient: the conclusion may hold without them."""

    statement: str
    items: tuple[Condition, ...] = ()

    @property
    def hold(self) -> bool:
        """Whether the statement applies."""
        return all(item.holds for item in self.items)

    @property
    def failing(self) -> tuple[Condition, ...]:
        """Those that fail."""
        return tuple(item for item in self.items if not item.holds)

    def __str__(self) -> str:
        if self.hold:
            return f"{self.statement}: applies"
        return f"{self.statement}: does not apply ({'; '.join(map(str, self.failing))})"
