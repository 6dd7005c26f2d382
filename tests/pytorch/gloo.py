"""Two processes that exchange tensors of a device through Gloo; each prints what it has received."""

import sys
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing


def numbers(tensor):
    return [int(number) for number in tensor.cpu()]


def work(rank, rendezvous):
    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=2)
    total = torch.full((4,), float(rank + 1)).cuda()
    dist.all_reduce(total)
    sent = (torch.arange(3.0) if rank == 0 else torch.zeros(3)).cuda()
    dist.broadcast(sent, 0)
    gathered = [torch.zeros(1).cuda() for _ in range(2)]
    dist.all_gather(gathered, torch.full((1,), float(rank)).cuda())
    received = torch.zeros(2)
    if rank == 0:
        dist.send(torch.full((2,), 9.0), 1)
        dist.recv(received, 1)
    else:
        dist.recv(received, 0)
        dist.send(received, 0)
    # One write for each line, as both processes write into one pipe.
    sys.stdout.write(
        f"rank {rank}: sum {numbers(total)}, broadcast {numbers(sent)}, "
        f"gathered {[numbers(each)[0] for each in gathered]}, received {numbers(received)}\n"
    )
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        multiprocessing.spawn(work, args=(str(Path(directory) / "rendezvous"),), nprocs=2)
