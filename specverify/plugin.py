"""The pytest plugin: subjects files become test modules, plans of `specverify audit` become parameters, records go to shards."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from specverify.audit.bench import Bench, Pen, Pool
    from specverify.audit.settings import Plan, Settings

pytest.register_assert_rewrite("specprops")

SUBJECTS_FILE = "specverify_subjects.py"
STATE = pytest.StashKey["State"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of a user's own pytest run; `specverify audit` passes a plan instead."""
    group = parser.getgroup("specverify", "exactness of speculative decoders")
    group.addoption("--specverify-run-key", default=None, help="key that all seeds are hashed from (default: fixed)")
    group.addoption("--specverify-budget", type=_positive, default=None, help="draws of a confirmation (default: 20000)")
    group.addoption("--specverify-fail-on", action="append", default=[], choices=["grid", "advisory"], help="let these fail the run too")
    group.addoption("--specverify-scope", choices=["none", "small", "large"], default=None, help="tables on which every explored step is judged, all of them")
    group.addoption("--specverify-python", default=None, help="interpreter that has the subjects' dependencies")
    group.addoption("--specverify-in-process", action="store_true", help="run subjects in this process, without isolation, for a debugger")
    group.addoption("--specverify-plan", default=None, help="plan file, written by `specverify audit`")
    group.addoption("--specverify-run", default=None, help="folder for the run's records (default: none are kept)")


def pytest_configure(config: pytest.Config) -> None:
    """Find the run's folder, take in the subjects file of the root, and read the plan."""
    config.addinivalue_line("markers", "specverify: a property of specverify on one subject")
    config.stash[STATE] = state = State(config)
    if config.option.specverify_plan and not state.is_worker:
        from specverify.subjects.bootstrap import end_with_parent

        threading.Thread(target=end_with_parent, args=(os.getppid(),), daemon=True).start()  # an audit that is killed leaves nobody at work
    _add_subjects_file(config, state)  # xdist's workers start from the original arguments, so each process does it


def _add_subjects_file(config: pytest.Config, state: State) -> None:
    """`testpaths` would leave the file out silently; arguments on the command line are the user's choice, and are told."""
    path = config.rootpath / SUBJECTS_FILE
    state.subjects_expected = bool(config.option.specverify_plan) or _subjects_near(config)
    if not path.exists() or config.option.specverify_plan:
        return
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        state.left_out = path if not any(_covers(config, argument, path) for argument in config.args) else None
    elif not any(_covers(config, argument, path) for argument in config.args):
        config.args.append(str(path))


def _subjects_near(config: pytest.Config) -> bool:
    """Whether a subjects file lies in the root, or up to two folders below what pytest was given: then its own scheduler is worth its cost."""
    given = [config.invocation_params.dir / argument.partition("::")[0] for argument in config.args]
    return any(any(place.glob(depth + SUBJECTS_FILE)) for place in (config.rootpath, *given) if place.is_dir() for depth in ("", "*/", "*/*/"))


def _covers(config: pytest.Config, argument: str, path: Path) -> bool:
    given = (config.invocation_params.dir / argument.partition("::")[0]).resolve()
    return given == path.resolve() or given in path.resolve().parents


def _positive(text: str) -> int:
    """A whole number above zero, or argparse's error."""
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text} is no number of draws")
    return int(text)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """xdist: tell each worker the run's folder."""
    node.workerinput["specverify_run"] = str(node.config.stash[STATE].run)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A subject's properties stay in one process, in their order, unless the user chose another way to distribute.

    xdist's own groups will not do: they travel in the node id, which pytest 9.2 no longer lets xdist 3.8 change.
    """
    if config.option.dist not in ("load", "loadgroup") or not config.stash[STATE].subjects_expected:
        return None
    from specverify.scheduler import by_subject

    return by_subject(config, log)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A subjects file is a collector of the suite's modules."""
    if file_path.name == SUBJECTS_FILE and not parent.config.option.specverify_plan:
        return SubjectsFile.from_parent(parent, path=file_path)
    return None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One item per property and subject of its contract."""
    row = getattr(metafunc.function, "specverify_property", None)
    if row is None:
        return
    owner = metafunc.definition.getparent(SubjectsFile)
    benches = owner.benches if owner is not None else metafunc.config.stash[STATE].planned()
    mine = [bench for bench in benches if bench.subject.description.contract == row.contract and bench.wanted(row.id)]
    ids = [f"{bench.subject.label}-{row.id}{lane(bench, benches)}" for bench in mine]
    metafunc.parametrize("bench", [pytest.param(bench, id=id_, marks=pytest.mark.specverify) for bench, id_ in zip(mine, ids, strict=True)])


def lane(bench: Bench, benches: list[Bench]) -> str:
    """The end of a node id that tells the scheduler which of its slots a subject takes, such as "-1of2"; one of a slot is called at a time."""
    slots = bench.subject.description.slots
    if slots is None or slots < 1:
        return ""
    place = [one for one in benches if one.subject.description.slots == slots].index(bench)
    return f"-{place % slots + 1}of{slots}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A property without a subject of its contract gives no item; the others go subject by subject, in one process as in many."""
    empty = [item for item in items if hasattr(getattr(item, "function", None), "specverify_property") and _bench(item) is None]
    if empty:
        items[:] = [item for item in items if item not in empty]
        config.hook.pytest_deselected(items=empty)
    places: dict[object, int] = {}
    items.sort(key=lambda item: places.setdefault(_bench(item) or item, len(places)))
    config.stash[STATE].share_alpha([bench for bench in map(_bench, items) if bench is not None])


def _bench(item: pytest.Item) -> Bench | None:
    """The bench that a property's item is parametrised with, or none."""
    callspec = getattr(item, "callspec", None)
    bench = callspec.params.get("bench") if callspec is not None else None
    return bench if hasattr(bench, "share_alpha") else None


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """End a worker whose subjects are done, so that a long run does not hold them all."""
    bench, after = _bench(item), _bench(nextitem) if nextitem is not None else None
    if bench is not None and (after is None or after.subject.worker is not bench.subject.worker):
        bench.subject.worker.close()


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the workers; drop a folder that nobody asked for."""
    state = config.stash.get(STATE, None)
    if state is not None:
        state.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """A line per subject, then what is no failure but worth knowing."""
    state = config.stash[STATE]
    if state.left_out is not None:
        terminalreporter.write_line(f"specverify: {state.left_out} was not run, since paths were given; add it to them, or give none.", yellow=True)
    from specverify.report.summary import summary

    lines = summary(state.records()) if not config.option.specverify_plan else []
    if lines:
        terminalreporter.section("specverify")
        for line in lines:
            terminalreporter.write_line(line)


class SubjectsFile(pytest.File):
    """A subjects file: the worker loads it, never this process. Its children are the suite's modules for the contracts that it fills."""

    benches: list[Bench]

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """Modules of the suite, and a failing item for each subject that cannot be called."""
        from specverify.audit.suite import modules
        from specverify.errors import SpecverifyError

        try:
            plan = self.config.stash[STATE].plan_of(self.path)
        except SpecverifyError as error:
            raise self.CollectError(str(error)) from None
        self.benches = self.config.stash[STATE].benches(plan)
        for planned in plan.subjects:
            if planned.description.problem is not None:
                yield Misfit.from_parent(self, name=planned.label, problem=planned.description.problem)
        for module in modules(bench.subject.description.contract for bench in self.benches):
            spec = importlib.util.find_spec(module)
            if spec is not None and spec.origin is not None:
                yield SuiteModule.from_parent(self, path=Path(spec.origin), nodeid=f"{self.nodeid}::{module.rpartition('.')[2]}", dotted=module)


class SuiteModule(pytest.Module):
    """A module of the suite as the child of a subjects file; imported by its own name, whatever the user's import mode."""

    def __init__(self, *, dotted: str, **keywords: Any) -> None:
        self._dotted = dotted
        super().__init__(**keywords)

    def _getobj(self) -> Any:
        return importlib.import_module(self._dotted)


class Misfit(pytest.Item):
    """A declared subject that cannot be called as its contract."""

    def __init__(self, *, problem: str, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.problem = problem

    def runtest(self) -> None:
        """Fail with the reason."""
        pytest.fail(f"{self.problem}\n  hint: An adapter of a few lines takes the contract's arguments; the README shows one.", pytrace=False)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where the subjects file is."""
        return self.path, None, f"subject {self.name}"


class State:
    """What one pytest process holds: settings, workers, the pen, the run's folder."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        worker = getattr(config, "workerinput", None)
        self.is_worker = worker is not None
        asked = config.option.specverify_run or (worker or {}).get("specverify_run")
        self._temporary = asked is None
        self._run = Path(asked) if asked else None
        self.name = str(worker["workerid"]) if worker else "main"
        self.left_out: Path | None = None
        self.subjects_expected = False
        self._pen: Pen | None = None
        self._pool: Pool | None = None
        self._planned: list[Bench] | None = None

    @property
    def run(self) -> Path:
        """The run's folder; a temporary one if none was asked for."""
        if self._run is None:
            self._run = Path(tempfile.mkdtemp(prefix="specverify-"))
        return self._run

    def settings(self) -> Settings:
        """From the command line, and from the configuration in the root."""
        from specverify.audit.config import read
        from specverify.audit.settings import ALPHA, CONFIRM_DRAWS, RUN_KEY, Settings

        option, config = self._config.option, read(self._config.rootpath)
        return Settings(
            run_key=option.specverify_run_key or config.run_key or RUN_KEY,
            alpha=config.alpha or ALPHA,
            draws=option.specverify_budget or (config.budget if isinstance(config.budget, int) else CONFIRM_DRAWS),  # a time is the command's own
            fail_on=tuple(option.specverify_fail_on or config.fail_on or ()),
            in_process=option.specverify_in_process,
            scope=option.specverify_scope or config.scope or "small",
            known=tuple(config.known),
        ).finding(config.detect)

    def plan_of(self, path: Path) -> Plan:
        """Load a subjects file in a worker and describe it."""
        import sys

        from specverify.audit.plan import describe
        from specverify.subjects.source import from_path

        source = from_path(str(path), self._config.option.specverify_python or sys.executable)
        return describe([source], self.settings(), self._pool_of(self.settings()))

    def planned(self) -> list[Bench]:
        """The benches of `--specverify-plan`."""
        from specverify.audit.settings import Plan

        if self._planned is None:
            path = self._config.option.specverify_plan
            self._planned = self.benches(Plan.read(Path(path))) if path else []
        return self._planned

    def benches(self, plan: Plan) -> list[Bench]:
        """A bench for each subject of a plan."""
        from specverify.audit.bench import Pen, benches

        if self._pen is None:
            self._pen = Pen(self.run / "shards" / f"{self.name}.jsonl")
        return benches(plan, self._pool_of(plan.settings), self._pen)

    def share_alpha(self, benches: list[Bench]) -> None:
        """Settings with the number of pairs that share alpha, the same in every process since each collects everything."""
        from specverify.audit.suite import pairs

        unique = {id(bench): bench for bench in benches}.values()
        count = pairs([bench.subject.description.contract for bench in unique])
        for bench in unique:
            bench.share_alpha(count)

    def records(self) -> list[Any]:
        """All records of the run so far."""
        from specverify.audit.events import shard_records

        return shard_records(self.run) if self._run is not None else []

    def close(self) -> None:
        """End workers; remove a temporary folder, which the controller owns."""
        if self._pool is not None:
            self._pool.close()
        if self._pen is not None:
            self._pen.close()
        if self._temporary and not self.is_worker and self._run is not None:
            shutil.rmtree(self._run, ignore_errors=True)

    def _pool_of(self, settings: Settings) -> Pool:
        from specverify.audit.bench import Pool

        if self._pool is None:
            self._pool = Pool(settings)
        return self._pool
