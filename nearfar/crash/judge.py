"""Judges states: each image once, within the budget."""

from __future__ import annotations

import time
from dataclasses import dataclass

from nearfar.crash.checker import Checker, Verdict
from nearfar.crash.image import Image
from nearfar.crash.memory import Memory, State


@dataclass(frozen=True)
class Budget:
    """When to stop."""

    states: int
    seconds: float


class Judge:
    """Counts what it judged; remembers every verdict by the image's key."""

    def __init__(self, checker: Checker, image: Image, budget: Budget) -> None:
        self._checker = checker
        self._image = image
        self._budget = budget
        self._known: dict[tuple[int, int, int], Verdict] = {}
        self._begun = time.monotonic()
        self.states = 0
        self.duplicates = 0
        self.judge_s = 0.0

    def exhausted(self) -> bool:
        """Return whether the budget is spent."""
        return (
            self.states >= self._budget.states
            or time.monotonic() - self._begun >= self._budget.seconds
        )

    def is_new(self, memory: Memory, state: State) -> bool:
        """Return whether the image was not judged yet; count it if it was."""
        if self._key(memory, state) in self._known:
            self.duplicates += 1
            return False
        return True

    def judge(self, memory: Memory, state: State) -> Verdict:
        """Return the checker's verdict on `state`, from memory if it was given before."""
        key = self._key(memory, state)
        if key not in self._known:
            begun = time.monotonic()
            self._image.write(memory.durable, memory.content(state))
            self._known[key] = self._checker.run(memory.done, memory.begun)
            self.states += 1
            self.judge_s += time.monotonic() - begun
        return self._known[key]

    def _key(self, memory: Memory, state: State) -> tuple[int, int, int]:
        operation = (memory.done, memory.begun) if self._checker.by_operation else (0, 0)
        return (memory.key_of(state), *operation)
