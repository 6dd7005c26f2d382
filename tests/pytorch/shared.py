"""A tensor in a queue: a child process reads it after the pending work of its parent, and writes it."""

import torch
import torch.multiprocessing as multiprocessing


def child(tensors: multiprocessing.Queue, answers: multiprocessing.Queue) -> None:
    tensor = tensors.get()
    print("child:", tensor.device, tensor[:3].cpu().tolist(), flush=True)
    tensor.copy_(torch.full((1000,), 7))
    torch.cuda.synchronize()
    del tensor
    answers.put("written")


if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    tensors, answers = context.Queue(), context.Queue()
    process = context.Process(target=child, args=(tensors, answers))
    process.start()
    values = torch.arange(1000, pin_memory=True)
    tensor = values.to("cuda", non_blocking=True)
    tensors.put(tensor)
    answers.get(timeout=200)
    process.join()
    print("parent:", process.exitcode, tensor[:3].cpu().tolist())
    del tensor
    torch.cuda.ipc_collect()
