"""Two workers of Ray on one machine add 1 to parts of an array in turn."""

import numpy as np
import ray

import cuarray
import cuarray.distributed

PARTS, ROUNDS, ELEMENTS = 4, 3, 1000


@ray.remote
class Worker:
    def zeros(self) -> cuarray.DeviceArray:
        return cuarray.to_device(np.zeros(ELEMENTS, "f4"))

    def add_one(self, array: cuarray.DeviceArray) -> cuarray.DeviceArray:
        """A kernel would do this on the device; NumPy keeps the example short."""
        return cuarray.to_device(array.copy_to_host() + 1)


def main() -> None:
    cuarray.distributed.register_ray()
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        runtime_env={"worker_process_setup_hook": cuarray.distributed.register_ray},
    )
    workers = [Worker.remote() for _ in range(2)]
    parts = [workers[part % 2].zeros.remote() for part in range(PARTS)]
    for step in range(1, ROUNDS + 1):
        parts = [workers[(at + step) % 2].add_one.remote(part) for at, part in enumerate(parts)]
    results = [array.copy_to_host() for array in ray.get(parts)]
    ray.shutdown()
    assert all((result == ROUNDS).all() for result in results)
    print(f"2 workers added {ROUNDS} to each of {PARTS * ELEMENTS} elements")


if __name__ == "__main__":
    main()
