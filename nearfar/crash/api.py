"""`crash_test`: records a program and explores the images that a power cut could leave."""

from __future__ import annotations

import dataclasses
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import CommandError
from nearfar.crash import resume
from nearfar.crash.adapters.oracle import ContentOracle
from nearfar.crash.adapters.pool_check import pool_checks
from nearfar.crash.analysis.owners import name_owners
from nearfar.crash.analysis.pool_images import PoolImages
from nearfar.crash.analysis.pool_state import PoolState
from nearfar.crash.baseline import KnownBugs
from nearfar.crash.bugs import Bugs, FoundBug
from nearfar.crash.checker import Check, parse
from nearfar.crash.coverage import code_of, places_of
from nearfar.crash.engine import ACCEPTED_STATES, Engine, ExplorationPlan, Oracle
from nearfar.crash.explore import Exploration, Progress
from nearfar.crash.interleavings import Interleavings, turns_of
from nearfar.crash.judge import (
    ExplorationBudget,
    Judge,
    RefusedError,
    ServedDiffersError,
    accepts_uncrashed,
)
from nearfar.crash.limits import MAX_SEED
from nearfar.crash.lint_trace import lints_of, suspects_of
from nearfar.crash.record import RecordedRun, environment, record
from nearfar.crash.report.words import lint_text
from nearfar.crash.scratch import check_free_space, copy_pool, scratch
from nearfar.crash.summary import CrashSummary, merged, report_of
from nearfar.crash.symbols import TraceSymbols
from nearfar.crash.trace import CrashTrace
from nearfar.crash.warnings import warnings_of
from nearfar.documents.crash_report import CrashReport

Say = Callable[[str], None]
_CHECKER_MODES = (
    "started for each state",
    "forked for each state",
    "called as a function",
    "kept and reads a line for each state",
)


@dataclass(frozen=True)
class CrashRequest:
    """Program, checks and limits of an exploration."""

    command: Sequence[str]
    """Program and arguments; ``{pool}`` stands for the pool's path."""
    checks: Sequence[Check]
    """Checks of each image; the first is the user's."""
    pool: Path | None
    """Pool before the run, which is copied; None: the program creates it."""
    budget: ExplorationBudget
    timeout_s: float
    """Time limit of one check."""
    seed: int
    eadr: bool
    json: bool
    workers: int = 1
    schedules: int = 1
    """Number of recordings of the program, each with a different order of its threads."""
    preemptions: int = 0
    """Most preemptions in orders of which no two are equivalent; 0: orders are random."""
    oracle: Callable[[CrashTrace], Oracle] | None = None
    """Returns the judge of the output of checks with ``oracle``."""
    pool_check: bool = False
    """Also run libpmemobj's own check on its pools."""
    keep: Path | None = None
    """Folder for the state of an exploration that the budget ends early."""
    resume: bool = False
    """Continue the exploration in ``keep``."""
    first: bool = False
    """Stop at the first bug that the baseline does not name."""
    baseline: CrashReport | None = None
    """A report of known bugs."""


@dataclass(frozen=True)
class CrashOutcome:
    """Result of an exploration."""

    report: CrashReport
    bugs: list[FoundBug]
    """The report's bugs in its order, with their images."""
    interrupted: bool
    checks: list[Check]
    """All checks, in order."""


def crash_test(request: CrashRequest, say: Say) -> CrashOutcome:
    """Record and explore; Ctrl-C ends the test with the bugs found so far."""
    if not any("{pool}" in word for word in request.command):
        raise CommandError(
            "the program does not get the pool's path: put {pool} among its arguments"
        )
    with scratch() as folder:
        test = _Test(request, folder, say)
        test.run()
    all_bugs = merged(test.bugs.all(), test.summary.lints)
    is_new = KnownBugs(request.baseline).is_new
    bugs = [found_bug for found_bug in all_bugs if is_new(found_bug.bug)]
    report = report_of(
        request.command,
        request.checks[0].command,
        test.summary,
        bugs,
        eadr=request.eadr,
        seed=request.seed,
        resumable=not request.preemptions,
        known=len(all_bugs) - len(bugs),
    )
    return CrashOutcome(report, bugs, test.summary.interrupted, test.checks)


class _Test:
    """Exploration of all schedules of one request."""

    def __init__(self, request: CrashRequest, folder: Path, say: Say) -> None:
        self._request = request
        self._folder = folder
        self._say = say
        self.checks = list(request.checks)
        for check in self.checks:
            parse(check.command)  # refuses a bad check before the program runs
        self._pool = folder / "pool"
        self._begun_s = time.monotonic()
        self._states_before = 0
        self._known = KnownBugs(request.baseline)
        self._judges_refused = False
        self._orders = Interleavings(request.preemptions) if request.preemptions else None
        self._choices: dict[int, bytes] = {}
        self._explored = 0
        self._explored_refused = False
        self.bugs = Bugs()
        self.summary = CrashSummary()

    def run(self) -> None:
        """Record and explore every schedule; `--resume` continues the first one from its save.

        Ctrl-C or the end of the budget stops the test and saves the trace for `--resume`.
        """
        first, first_trace, resumed = 0, self._folder / "trace", None
        progress = Progress()
        if self._request.resume:
            assert self._request.keep is not None
            saved, resumed = resume.load(self._request.keep, self._identity())
            first, first_trace = saved.schedule, self._request.keep / "trace"
            progress = resume.progress_of(saved.progress)
            self.summary.progress = resume.progress_of(saved.before)
            self.summary.progress.complete = True
            self.bugs.restore(saved.bugs)
            self._states_before = progress.states + self.summary.progress.states
        (self._folder / ACCEPTED_STATES).write_bytes(b"")
        refused: dict[int, RefusedError] = {}
        for schedule, trace, recorded in self._runs(first, first_trace, resumed):
            try:
                self._explore(schedule, trace, recorded, progress)
            except RefusedError as error:
                if not self._has_orders(recorded):
                    raise
                refused[schedule] = error
            except KeyboardInterrupt:
                self.summary.interrupted = True
                self.summary.warn(["interrupted: the report has the bugs found so far"])
            # Each chosen order has a share of the budget, whose end does not end the test.
            share_spent = self._orders is not None and progress.ended in ("states", "seconds")
            if not (progress.complete or share_spent or schedule in refused):
                self._save(schedule, trace, recorded, progress)
                self._warn_of_orders(refused)
                return
            if schedule not in refused:
                self.summary.add(recorded, progress)
            progress = Progress()
            if self._explore_refused(refused):
                break
        self._warn_of_orders(refused)
        if self._request.keep is not None:
            resume.forget(self._request.keep)

    def _runs(
        self, first: int, trace: Path, recorded: RecordedRun | None
    ) -> Iterator[tuple[int, Path, RecordedRun]]:
        """Record the schedules; yield those whose thread order no earlier one is equivalent to."""
        self._explored = first
        for schedule in range(first, self._request.schedules):
            if self._orders is not None:
                spent = time.monotonic() - self._begun_s > self._request.budget.seconds
                spent |= self.summary.progress.states >= self._request.budget.states
                if spent or (choices := self._orders.next()) is None:
                    return
                self._choices[schedule] = choices
            recorded = recorded or self._record(trace, schedule)
            if self._orders is None or self._orders.learn(turns_of(recorded.trace)):
                self._explored += 1
                yield schedule, trace, recorded
            trace, recorded = self._folder / "trace", None

    def _warn_of_orders(self, refused: Mapping[int, RefusedError]) -> None:
        """Add notes on the explored orders of the threads, and on refused pools."""
        if refused and len(refused) == self._explored:
            raise next(iter(refused.values()))
        if refused:
            sentence = (
                f"{len(refused)} of {self._explored} orders of the threads leave a pool that the "
                "checker refuses without a power cut: the threads race"
            )
            self.summary.warn([sentence])
        if self._orders is not None:
            self.summary.warn([self._orders.sentence()])

    def _has_orders(self, recorded: RecordedRun) -> bool:
        """Return whether another order of the threads may leave another pool."""
        return self._request.schedules > 1 and recorded.trace.several_threads

    def _explore_refused(self, refused: Mapping[int, RefusedError]) -> bool:
        """Explore the first order whose final pool was refused, once another's was accepted.

        Return whether a bug of the refused order ends the test.
        """
        if not refused or len(refused) == self._explored or self._explored_refused:
            return False
        schedule, trace = min(refused), self._folder / "trace"
        recorded, progress = self._record(trace, schedule), Progress()
        self._explored_refused = self._judges_refused = True
        self._explore(schedule, trace, recorded, progress)
        self._judges_refused = False
        self.summary.add(recorded, progress)
        return progress.ended == "first bug"

    def _identity(self) -> dict[str, str]:
        """Return the properties that must be the same when the exploration is resumed."""
        request = self._request
        return {
            "program": shlex.join(request.command),
            "checker": "; ".join(check.command for check in request.checks),
            "seed": str(request.seed),
            "eADR": str(request.eadr),
            # The number of workers decides which worker gets which points.
            "number of workers": str(request.workers),
            "preemptions": str(request.preemptions),
        }

    def _save(self, schedule: int, trace: Path, recorded: RecordedRun, progress: Progress) -> None:
        if self._request.keep is not None:
            resume.save(
                self._request.keep,
                trace,
                recorded,
                request=self._identity(),
                schedule=schedule,
                progress=progress,
                before=self.summary.progress,
                bugs=self.bugs.all(),
            )
        self.summary.add(recorded, progress)

    def _record(self, trace: Path, schedule: int) -> RecordedRun:
        request = self._request
        self._pool.unlink(missing_ok=True)
        if request.pool is not None:
            copy_pool(request.pool, self._pool)
        command = [word.replace("{pool}", str(self._pool)) for word in request.command]
        # The number of schedules does not change the order of the first one.
        order = (request.seed * 1_000_003 + schedule) % (MAX_SEED + 1)
        recorded = record(
            command,
            self._pool,
            trace,
            json=request.json,
            schedule=order,
            choices=self._choices.get(schedule),
        )
        events = sum(recorded.trace.counts.values())
        self._say(f"recorded {events} events in {recorded.seconds:.1f} s")
        return recorded

    def _plan(
        self,
        schedule: int,
        trace: Path,
        recorded: RecordedRun,
        progress: Progress,
        symbols: TraceSymbols,
    ) -> ExplorationPlan:
        request = self._request
        schedules_left = request.schedules - schedule
        spent_s = time.monotonic() - self._begun_s
        states = self.summary.progress.states + progress.states - self._states_before
        return ExplorationPlan(
            trace=trace,
            pool_bytes=recorded.trace.pool_bytes,
            seed=request.seed,
            eadr=request.eadr,
            workers=request.workers,
            shares_states=request.workers > 1 or request.schedules > 1,
            seconds=max(request.budget.seconds - spent_s * (schedule > 0), 1.0) / schedules_left,
            states=max((request.budget.states - states) // schedules_left, 1),
            timeout_s=request.timeout_s,
            checks=[(check, parse(check.command)) for check in self.checks],
            environment=environment(),
            suspects=suspects_of(recorded.trace, symbols, eadr=request.eadr),
            begun_s=self._begun_s,
            first_bug=self._known.is_new if request.first else None,
            first_rank=progress.rank,
            first_chunk=progress.chunk,
        )

    def _explore(
        self, schedule: int, trace: Path, recorded: RecordedRun, progress: Progress
    ) -> None:
        """Explore the images of one recording, and lint the first."""
        check_free_space(self._folder, self._request.workers * recorded.trace.image_bytes)
        symbols = TraceSymbols(recorded.trace)
        if self._request.pool_check and len(self.checks) == len(self._request.checks):
            self.checks += pool_checks(recorded.trace)
        self.summary.warn(warnings_of(recorded, eadr=self._request.eadr))
        plan = self._plan(schedule, trace, recorded, progress, symbols)
        request = self._request
        oracle = request.oracle(recorded.trace) if request.oracle is not None else None
        expected = oracle.expected if isinstance(oracle, ContentOracle) else None
        self.bugs.start_trace(symbols, expected)
        before, bugs_before = dataclasses.replace(progress), self.bugs.all()
        try:
            self._explore_with(plan, recorded, oracle, progress)
        except RefusedError:
            # A lint may explain why the checker refuses the pool.
            if not self._has_orders(recorded):
                self._lint(recorded, symbols)
                for lint in self.summary.lints:
                    self._say(f"lint: {lint_text(lint)}")
            raise
        except ServedDiffersError:
            progress.reset(before)
            self.bugs.restore(bugs_before)
            self.summary.warn(
                [
                    "the loaded checker refuses images that it accepts when started by itself: it "
                    "was started for each image, which is slower"
                ]
            )
            self.bugs.start_trace(symbols, expected)
            (self._folder / ACCEPTED_STATES).write_bytes(b"")
            self._explore_with(dataclasses.replace(plan, served=False), recorded, oracle, progress)
        if not self.summary.places:
            self._lint(recorded, symbols)

    def _lint(self, recorded: RecordedRun, symbols: TraceSymbols) -> None:
        """Add coverage and lints of one recording to the summary."""
        request = self._request
        self.summary.places = places_of(recorded.trace, symbols)
        self.summary.code = code_of(list(recorded.trace.stacks()), symbols)
        check = request.checks[0].command
        images = PoolImages(
            self._folder / "image", check, request.timeout_s, environment(), before=request.pool
        )
        self.summary.lints, warning = lints_of(
            recorded.trace,
            symbols,
            images,
            eadr=request.eadr,
            ended=not recorded.failed,
            # The pool of a resumed recording was compared with its trace by the earlier test.
            pool=None if request.resume else self._pool,
        )
        self.summary.warn([warning] if warning else [])
        state = PoolState(recorded.trace)
        state.add_existing(images.before())
        name_owners(recorded.trace, state, self.bugs.all())

    def _explore_with(
        self,
        plan: ExplorationPlan,
        recorded: RecordedRun,
        oracle: Oracle | None,
        progress: Progress,
    ) -> None:
        engines: list[Engine] = []
        try:
            for worker in range(plan.workers):
                engines.append(Engine(plan, worker, self._folder / f"state-{worker}", oracle))
            accepts = self._judges_refused or accepts_uncrashed(recorded, engines[0])
            if not accepts and plan.served:
                raise ServedDiffersError
            self._say(f"the checker is {_CHECKER_MODES[engines[0].modes[0]]}")
            judge = Judge(time.monotonic() + plan.seconds)
            self.bugs.use_judge(judge)
            Exploration(recorded.trace, plan, engines, progress).run(judge, self.bugs)
        finally:
            for engine in engines:
                engine.close()
