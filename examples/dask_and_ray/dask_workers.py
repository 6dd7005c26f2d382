"""Two workers of Dask on one machine add 1 to parts of an array in turn, and pass device memory to each other."""

import numpy as np
from distributed import Client, LocalCluster

import cuarray
import cuarray.distributed

PARTS, ROUNDS, ELEMENTS = 4, 3, 1000


def register() -> None:
    cuarray.distributed.register_dask(ipc=True)


def zeros() -> cuarray.DeviceArray:
    return cuarray.to_device(np.zeros(ELEMENTS, "f4"))


def add_one(array: cuarray.DeviceArray) -> cuarray.DeviceArray:
    """A kernel would do this on the device; NumPy keeps the example short."""
    return cuarray.to_device(array.copy_to_host() + 1)


def main() -> None:
    register()
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        client.run(register)
        workers = list(client.scheduler_info()["workers"])
        parts = [client.submit(zeros, workers=[workers[part % 2]], pure=False) for part in range(PARTS)]
        for step in range(1, ROUNDS + 1):
            # The other worker than in the last round.
            parts = [client.submit(add_one, part, workers=[workers[(at + step) % 2]]) for at, part in enumerate(parts)]
        results = [array.copy_to_host() for array in client.gather(parts)]
    assert all((result == ROUNDS).all() for result in results)
    print(f"2 workers added {ROUNDS} to each of {PARTS * ELEMENTS} elements")


if __name__ == "__main__":
    main()
