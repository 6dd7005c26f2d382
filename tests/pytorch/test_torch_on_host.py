"""`--torch-on-host`: unmodified programs of PyTorch, whose operations are carried out on the host in all threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import threading

import torch
from torch import nn

torch.manual_seed(0)
inputs = torch.randn(32, 6, 16).cuda()
model = nn.Sequential(
    nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True), nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 1)
).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for _ in range(10):
    loss = nn.functional.mse_loss(model(inputs), inputs.sum(2, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("loss", loss.item())


def work():
    print("thread", inputs[0].softmax(1).sum().item())


thread = threading.Thread(target=work)
thread.start()
thread.join()
print(inputs[0, 0, :2])
"""


def run(folder: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CUARRAY_SIM_")}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**environment, **settings},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_unmodified_program_trains_as_on_the_host(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "host.py").write_text(PROGRAM.replace(".cuda()", ""))
    found = run(tmp_path, "-m", "cuarray_sim", "--torch-on-host", "train.py")
    assert found.returncode == 0, found.stderr
    assert "operations of PyTorch were carried out on the host" in found.stderr
    expected = run(tmp_path, "host.py").stdout.splitlines()
    lines = found.stdout.splitlines()
    assert [line.split()[0] for line in lines] == [line.split()[0] for line in expected]
    for line, other in zip(lines[:11], expected[:11], strict=True):
        assert abs(float(line.split()[1]) - float(other.split()[1])) < 1e-4
    assert "device='cuda:0'" in lines[11]


def test_race_of_an_unmodified_program_has_its_lines(tmp_path: Path) -> None:
    (tmp_path / "race.py").write_text(
        "import torch\n"
        "side = torch.cuda.Stream()\n"
        "numbers = torch.zeros(4).cuda()\n"
        "numbers.add_(1)\n"
        "with torch.cuda.stream(side):\n"
        "    doubled = numbers * 2\n"
        "torch.cuda.synchronize()\n"
    )
    found = run(tmp_path, "-m", "cuarray_sim", "--torch-on-host", "race.py")
    assert found.returncode == 66, found.stderr
    assert "data-race" in found.stderr
    assert "race.py:4" in found.stderr
    assert "race.py:6" in found.stderr


def test_program_that_installs_again_and_computes_on_the_host_ends_as_usual(tmp_path: Path) -> None:
    (tmp_path / "host.py").write_text(
        "import cuarray_sim, torch\ncuarray_sim.install()\ncuarray_sim.install()\nprint(torch.ones(2) + 1)\n"
    )
    found = run(tmp_path, "-m", "cuarray_sim", "--torch-on-host", "host.py")
    assert (found.returncode, found.stdout) == (0, "tensor([2., 2.])\n"), found.stderr
    assert "Traceback" not in found.stderr
    (tmp_path / "device.py").write_text(
        "import torch, cuarray_sim\ncuarray_sim.install()\nprint((torch.ones(2).cuda() + 1).cpu())\n"
    )
    found = run(tmp_path, "device.py", CUARRAY_SIM_TORCH_ON_HOST="1")
    assert (found.returncode, found.stdout) == (0, "tensor([2., 2.])\n"), found.stderr
    assert "1 operations of PyTorch were carried out" in found.stderr


def test_child_process_and_pytest_obey_the_setting(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import subprocess, sys, torch\n"
        # The environment of `make peers-torch` has no file `.pth` of cuarray-sim.
        "CODE = 'import cuarray_sim.child, torch; print(int((torch.ones(3).cuda() + 1).sum()))'\n"
        "def test_sum():\n"
        "    assert (torch.ones(3).cuda() + 1).sum() == 6\n"
        "def test_child():\n"
        "    assert subprocess.run([sys.executable, '-c', CODE], capture_output=True, text=True, check=True).stdout == '6\\n'\n"
        "def test_without_a_wait():\n"
        "    doubled = torch.ones(4, device='cuda') * 2\n"
    )
    options = ["-p", "no:cacheprovider", "--cuarray-sim"]
    found = run(tmp_path, "-m", "pytest", *options, "--cuarray-sim-torch-on-host", "test_it.py")
    # The buffers of the operations are no leaks of the tests.
    assert found.returncode == 0, found.stdout + found.stderr
    without = run(tmp_path, "-m", "pytest", *options, "test_it.py")
    assert without.returncode == 1
    assert "no kernel image" in without.stdout
