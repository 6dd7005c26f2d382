"""One page: its folder, its environment, and its blocks one after the other."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from .blocks import PARSED, RUN, SHOWN, Block, blocks, commands, fits
from .shell import Shell

ROOT = Path(__file__).parents[2]
SESSION = Path(__file__).parent / "session.py"
# The command for pages without their own pip command; docs/introduction.md tells the reader to run it first.
DEFAULT = "pip install cuarray cuarray-sim"


@dataclass
class Outcome:
    """The numbers of blocks, and the failures."""

    blocks: int = 0
    run: int = 0
    parsed: int = 0
    shown: int = 0
    failures: list[str] = field(default_factory=list)

    def __iadd__(self, other: Outcome) -> Outcome:
        self.blocks += other.blocks
        self.run += other.run
        self.parsed += other.parsed
        self.shown += other.shown
        return self

    def __str__(self) -> str:
        return f"{self.blocks} blocks, {self.run} run, {self.parsed} parsed only, {self.shown} text"


class Machine:
    """The folders and environments of a run."""

    def __init__(self, wheels: Path, *, keep: bool) -> None:
        if not list(wheels.glob("cuarray-*.whl")) or not list(wheels.glob("cuarray_sim-*.whl")):
            raise SystemExit(f"{wheels} lacks the wheels: run `make wheels`")
        # Outside the repository, so that cargo does not take a page's crate for a member of its workspace.
        self.folder = Path(tempfile.mkdtemp(prefix="cuarray-documents-"))
        self.keep = keep
        self._environments: dict[str, Path] = {}
        self.installed: set[tuple[Path, str]] = set()
        self._tree: Path | None = None
        self._count = 0
        # Pages run in several threads.
        self.lock = threading.RLock()
        drop = ("CUARRAY", "NUMBA", "PYTHON", "VIRTUAL_ENV", "CARGO", "RUST", "PIP_REQUIRE", "LD_LIBRARY_PATH", "MAKE")
        self.variables = {name: value for name, value in os.environ.items() if not name.startswith(drop)}
        self.variables |= {name: os.environ[name] for name in ("CARGO_HOME", "RUSTUP_HOME") if name in os.environ}
        links = f"{wheels} {os.environ.get('PIP_FIND_LINKS', '')}".strip()
        self.variables |= {
            "PIP_FIND_LINKS": links,
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "CARGO_TARGET_DIR": str(ROOT / "target" / "documents"),
            "CARGO_TERM_QUIET": "true",
            # The examples are built to be run once, so a short build matters more than fast code.
            "CARGO_PROFILE_RELEASE_OPT_LEVEL": "0",
            "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "256",
            "CARGO_PROFILE_RELEASE_LTO": "off",
            # Modules are compiled when a page imports them. pip would compile all of them. pip reads 0 here as `--no-compile`.
            "PIP_NO_COMPILE": "0",
            # Output and errors in the order in which a terminal shows them.
            "PYTHONUNBUFFERED": "1",
            "LC_ALL": "C.UTF-8",
        }
        (self.folder / ".cargo").mkdir()
        patches = "".join(
            f'{name} = {{ path = "{ROOT / "crates" / name}" }}\n'
            for name in ("cuarray", "cuarray-abi", "cuarray-ptx", "cuarray-races", "cuarray-sim", "cuarray-testing")
        )
        (self.folder / ".cargo" / "config.toml").write_text(f"[patch.crates-io]\n{patches}", encoding="utf-8")

    def __enter__(self) -> Machine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.keep:
            print(f"kept: {self.folder}")
        else:
            shutil.rmtree(self.folder, ignore_errors=True)

    def environment(self, installs: list[str]) -> Path:
        """Return the virtual environment of the pages with these pip commands. A new one is empty."""
        key = hashlib.sha256("\n".join(installs).encode()).hexdigest()[:8]
        with self.lock:
            if key not in self._environments:
                made = self.folder / f"venv-{key}"
                subprocess.run([sys.executable, "-m", "venv", made], check=True)
                self._environments[key] = made
            return self._environments[key]

    def tree(self) -> Path:
        """Return a copy of the repository's tracked files, for the pages of examples."""
        with self.lock:
            if self._tree is None:
                self._tree = self.folder / "cuarray"
                self._tree.mkdir()
                listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)
                subprocess.run(
                    ["tar", "--create", "--null", "--files-from=-", f"--file={self.folder / 'tree.tar'}"],
                    cwd=ROOT,
                    check=True,
                    input=listed.stdout,
                )
                subprocess.run(["tar", "--extract", f"--file={self.folder / 'tree.tar'}"], cwd=self._tree, check=True)
            return self._tree

    def folder_of(self, page: Path) -> Path:
        """Return the folder in which a page's commands run."""
        # The commands of an example, or of a page with its own files, run in the folder of these files.
        if page.parts[0] == "examples" or (ROOT / page).with_suffix("").is_dir():
            return self.tree() / page.parent
        with self.lock:
            self._count += 1
            made = self.folder / f"{page.stem}-{self._count}"
        made.mkdir()
        return made


def pip_commands(found: list[Block]) -> list[str]:
    """Return the pip commands of a page that name packages, each once, in order. A command that
    installs a folder (``pip install .``) is left out, because pages do not share folders."""
    listed = []
    for block in found:
        if block.language == "console" and not block.reason:
            listed += [command.text for command in commands(block.text)]
        elif block.language == "yaml" and block.file:
            listed += re.findall(r"^ *- run: (.*)", block.text, re.MULTILINE)
    return list(dict.fromkeys(command for command in listed if from_the_registry(command)))


def installs_of(path: Path) -> list[str]:
    """Return the pip commands of a page's environment."""
    return pip_commands(blocks(path, (ROOT / path).read_text(encoding="utf-8"))) or [DEFAULT]


def from_the_registry(command: str) -> bool:
    """Whether a command is a pip command that does not install a folder."""
    return command.startswith("pip ") and not re.search(r" [.$/]", command)


class Page:
    """A page that is being run."""

    def __init__(self, machine: Machine, page: Path, found: list[Block]) -> None:
        self.machine = machine
        self.folder = machine.folder_of(page)
        self.installs = pip_commands(found)
        self.environment = machine.environment(self.installs or [DEFAULT])
        search = f"{self.environment / 'bin'}{os.pathsep}{machine.variables['PATH']}"
        self.variables = {**machine.variables, "PATH": search, "VIRTUAL_ENV": str(self.environment)}
        self.shell = Shell(self.folder, self.variables)
        if not self.installs:
            self.run(DEFAULT)

    def run(self, command: str) -> tuple[int, str]:
        """Run a command of the page. Skip an installation that an earlier page has done in this environment."""
        done = (self.environment, command)
        if from_the_registry(command):
            if done in self.machine.installed:
                return 0, ""
            self.machine.installed.add(done)
        return self.shell.run(command)

    def call(self, command: str) -> str:
        """Run a command that no page shows, and require success."""
        status, printed = self.run(command)
        if status:
            message = f"`{command}` ended with {status}:\n{printed[-6000:]}"
            raise AssertionError(message)
        return printed

    def console(self, block: Block) -> None:
        """Run the commands of a console block."""
        todo = commands(block.text)
        for index, command in enumerate(todo):
            status, printed = self.run(command.text)
            status_is_shown = index + 1 < len(todo) and todo[index + 1].text == "echo $?"
            if status and not status_is_shown:
                message = f"`{command.text}` ended with {status}:\n{printed[-6000:]}"
                raise AssertionError(message)
            if command.output and not fits(command.output, printed):
                message = f"`{command.text}` printed\n{printed[-6000:]}\nand the page shows\n{command.output}"
                raise AssertionError(message)

    def save(self, block: Block) -> None:
        """Write the file that a block shows."""
        assert block.file is not None
        path = self.folder / block.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")

    def python(self, found: list[Block]) -> None:
        """Run Python blocks in one process, on the simulated driver unless they install it themselves."""
        listed = self.folder / ".blocks.json"
        listed.write_text(json.dumps([(each.place, each.language, each.text) for each in found]), encoding="utf-8")
        installs = any("cuarray_sim.install(" in each.text for each in found)
        self.call(f"python {'' if installs else '-m cuarray_sim '}'{SESSION}' {listed.name}")

    def rust(self, found: list[Block]) -> None:
        """Compile and run Rust blocks as documentation tests of a separate crate."""
        crate = self.folder / ".rust"
        (crate / "src").mkdir(parents=True)
        (crate / "Cargo.toml").write_text(
            '[package]\nname = "blocks"\nedition = "2024"\n\n[dependencies]\n'
            'cuarray = { version = "0.1", features = ["half"] }\ncuarray-ptx = "0.1"\ncuarray-sim = "0.1"\n'
            'cuarray-testing = "0.1"\nproptest = "1"\n',
            encoding="utf-8",
        )
        documents = "\n".join(f"```rust\n{each.text}```\n" for each in found)
        (crate / "src" / "lib.md").write_text(documents, encoding="utf-8")
        (crate / "src" / "lib.rs").write_text('#![doc = include_str!("lib.md")]\n', encoding="utf-8")
        self.call(f"cargo test --quiet --doc --manifest-path '{crate / 'Cargo.toml'}'")

    def c(self, block: Block) -> None:
        """Compile a C block that is not saved as a file."""
        source = self.folder / ".block.c"
        source.write_text(block.text, encoding="utf-8")
        include = ROOT / "python" / "cuarray" / "cuarray" / "include"
        self.call(f"cc -std=c99 -Wall -Wextra -Werror -fsyntax-only -I'{include}' {source.name}")

    def workflow(self, block: Block) -> None:
        """Run the steps of a hosted CI's workflow, except those that use the CI's actions."""
        load = "import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin)))"
        jobs = parse_yaml(self.machine, block.text, load)["jobs"]
        for job in jobs.values():
            for step in job["steps"]:
                if "run" in step:
                    self.call(step["run"])


def parse_yaml(machine: Machine, text: str, load: str) -> dict:
    """Parse YAML, in an environment that has a parser."""
    environment = machine.environment(["pip install pyyaml"])
    python = environment / "bin" / "python"
    with machine.lock:
        if subprocess.run([python, "-c", "import yaml"], capture_output=True, check=False).returncode:
            subprocess.run(
                [python, "-m", "pip", "install", "--quiet", "pyyaml"],
                env=machine.variables,
                check=True,
            )
    done = subprocess.run([python, "-c", load], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def parse(machine: Machine, block: Block) -> None:
    """Parse a block that is not run."""
    if block.language == "toml":
        tomllib.loads(block.text)
    elif block.language == "json":
        json.loads(block.text)
    elif block.language == "yaml":
        parse_yaml(
            machine, block.text, "import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin), default=str))"
        )
    elif block.language == "python":
        compile(block.text, block.place, "exec")
    elif block.language in {"bash", "console"}:
        text = block.text
        if block.language == "console":
            text = "\n".join(command.text for command in commands(text))
        done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def run_page(machine: Machine, path: Path) -> Outcome:
    """Run the blocks of a page, and count them."""
    found = blocks(path, (ROOT / path).read_text(encoding="utf-8"))
    outcome = Outcome(blocks=len(found))
    page: Page | None = None

    def opened() -> Page:
        nonlocal page
        page = page or Page(machine, path, found)
        return page

    def attempt(block: Block, work: Callable[[], None], count: int) -> None:
        try:
            work()
        except Exception as error:
            outcome.failures.append(f"{block.place}: {error}")
        else:
            outcome.run += count

    for block in found:
        if block.language in SHOWN and not block.file:
            outcome.shown += 1
        elif block.language not in RUN | PARSED | SHOWN:
            outcome.failures.append(f"{block.place}: `{block.language}` is no language that the documents use")
        elif block.reason or (block.language in PARSED and not block.file):
            attempt(block, lambda block=block: parse(machine, block), 0)
            outcome.parsed += 1
        elif block.file:

            def save(block: Block = block) -> None:
                parse(machine, block)
                opened().save(block)
                if ".github/workflows" in (block.file or ""):
                    opened().workflow(block)

            attempt(block, save, 1)
        elif block.language == "console":
            attempt(block, lambda block=block: opened().console(block), 1)
        elif block.language == "c":
            attempt(block, lambda block=block: opened().c(block), 1)
    for languages, run in (({"python", "pycon"}, Page.python), ({"rust"}, Page.rust)):
        own = [each for each in found if each.language in languages and not each.file and not each.reason]
        if own:
            attempt(own[0], lambda own=own, run=run: run(opened(), own), len(own))
    if page is not None:
        page.shell.close()
    return outcome
