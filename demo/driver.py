"""The CUDA driver of this process; no other module of the demo knows the simulated one."""

import ctypes
import os
from dataclasses import dataclass

import cuarray


@dataclass(frozen=True)
class Driver:
    path: str
    device: str
    version: str
    is_simulated: bool

    def __str__(self):
        kind = "simulated CUDA driver" if self.is_simulated else "real CUDA driver"
        return f"{kind} {self.version}, device 0: {self.device}\n  {self.path}"

    def findings(self):
        """Return the kinds of new findings since the last call; None for a driver without findings.

        A simulated driver that takes the place of the system's has none that this process could ask for.
        """
        if not self.is_simulated or os.environ.get("CUARRAY_SIM_FINDINGS") == "0":
            return None
        import cuarray_sim

        if not cuarray_sim.is_installed():
            return None
        kinds = [finding["kind"] for finding in cuarray_sim.findings()["findings"]]
        cuarray_sim.clear_findings()
        return kinds

    @property
    def environment_for_mpi(self):
        """The environment of processes in which an MPI built without CUDA reads device memory."""
        return {"CUARRAY_SIM_HOST_READABLE": "1"} if self.is_simulated else {}

    @property
    def host_reads_device_memory(self):
        """Whether the host may read device memory directly; no real device allows it."""
        return self.is_simulated and os.environ.get("CUARRAY_SIM_HOST_READABLE") == "1"


def current():
    """Return the driver that cuarray has loaded; raise `cuarray.CudaError` if there is none."""
    path = cuarray.driver_path()
    library = ctypes.CDLL(path)
    name, version = ctypes.create_string_buffer(256), ctypes.c_int()
    library.cuInit(0)
    library.cuDriverGetVersion(ctypes.byref(version))
    library.cuDeviceGetName(name, len(name), 0)
    return Driver(
        path=path,
        device=name.value.decode(),
        version=f"{version.value // 1000}.{version.value % 1000 // 10}",
        is_simulated=hasattr(library, "cuarraySimStatistics"),
    )
