"""Operations of PyTorch that are carried out on the host, on request."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import nn
from torch.nn.parallel import comm
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import cuarray_sim
from cuarray_sim.pytorch import OnHost

Sides = Callable[[], list[tuple[str, str]]]


@pytest.fixture
def on_host() -> Iterator[None]:
    with OnHost():
        yield


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: x * 2 + 1,
        lambda x: x.sum(),
        lambda x: x.view(4, 6).t() @ x.view(4, 6),
        lambda x: torch.softmax(x, 0),
        lambda x: x.sort(descending=True)[1],
        lambda x: x.view(4, 6)[:, ::2].exp().cumsum(1),
        lambda x: x[x > 5],
        lambda x: x.nonzero(),
        lambda x: torch.cat([x, x.flip(0)]),
        lambda x: x.to(torch.float64).view(4, 6).t().contiguous(),
        lambda x: nn.functional.conv1d(x.view(1, 1, 24), x[:3].view(1, 1, 3)),
        lambda x: nn.functional.batch_norm(x.view(4, 6), None, None, training=True),
        lambda x: torch.linspace(0, 1, 5, device=x.device),
        lambda x: torch.linalg.eigvals(x[:16].view(4, 4).exp().sin()).abs().sort()[0],
        lambda x: torch.linalg.lstsq(x.view(6, 4).sin(), x[:6, None])[0],
        lambda x: torch.linalg.svdvals(x.view(4, 6).cos()),
        lambda x: torch.fft.rfft(x),
        lambda x: torch.mul(x, 2, out=torch.empty(0, device=x.device)),
        lambda x: torch.masked_select(x, x > 5, out=torch.empty(0, device=x.device)),
        lambda x: torch.nonzero(x, out=torch.empty(0, dtype=torch.int64, device=x.device)),
    ],
)
def test_result_is_that_of_the_host(on_host: None, operation: Callable[[torch.Tensor], torch.Tensor]) -> None:
    numbers = torch.arange(24.0)
    found = operation(numbers.cuda())
    assert found.is_cuda
    torch.testing.assert_close(found.cpu(), operation(numbers))


def test_operation_outside_of_modes_makes_its_result(on_host: None) -> None:
    from torch.utils._python_dispatch import _disable_current_modes

    tensor = torch.tensor([-1.0, 2.0]).cuda()
    with _disable_current_modes():
        # PyTorch makes an empty tensor, which the kernel gives its size.
        found = tensor.abs()
    assert found.cpu().tolist() == [1, 2]


def test_work_is_pending_until_a_synchronization(on_host: None) -> None:
    stream, tensor = torch.cuda.Stream(), torch.ones(1000).cuda()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        result = tensor + 1
    assert not stream.query()
    stream.synchronize()
    assert result.cpu().sum() == 2000


@pytest.mark.cuarray_sim(expect="data-race")
def test_missing_wait_between_operations_is_a_race_at_the_users_lines(on_host: None, sides: Sides) -> None:
    first, second, tensor = torch.cuda.Stream(), torch.cuda.Stream(), torch.zeros(1000).cuda()
    torch.cuda.synchronize()
    with torch.cuda.stream(first):
        tensor.add_(1)
    with torch.cuda.stream(second):
        tensor * 2
    assert sides() == [("torch", "tensor.add_(1)"), ("torch", "tensor * 2")]


def test_write_of_a_column_leaves_the_other_columns_to_other_streams(on_host: None) -> None:
    first, second, tensor = torch.cuda.Stream(), torch.cuda.Stream(), torch.zeros(4, 6).cuda()
    torch.cuda.synchronize()
    with torch.cuda.stream(first):
        tensor[:, 0].fill_(1)
    with torch.cuda.stream(second):
        tensor[:, 1].fill_(2)
    torch.cuda.synchronize()
    assert tensor.cpu().sum() == 4 * 3


def test_training_gives_the_losses_of_the_host(on_host: None) -> None:
    def losses(device: str) -> list[float]:
        torch.manual_seed(0)
        layer = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)).to(device)
        optimizer, found = torch.optim.Adam(layer.parameters()), []
        for _ in range(3):
            loss = layer(torch.ones(2, 3).to(device)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    assert losses("cuda") == pytest.approx(losses("cpu"))


def test_random_numbers_follow_the_seed_of_the_device(on_host: None) -> None:
    torch.cuda.manual_seed(1)
    host = torch.get_rng_state()
    first = torch.rand(3, device="cuda").cpu()
    assert not torch.equal(first, torch.rand(3, device="cuda").cpu())
    assert torch.equal(torch.get_rng_state(), host)
    torch.cuda.manual_seed(1)
    assert torch.equal(torch.rand(3, device="cuda").cpu(), first)


def test_operation_that_replaces_a_tensor_does_not_read_it(on_host: None) -> None:
    # A read of memory that nothing has written would be a finding.
    tensor = torch.empty(5, device="cuda").fill_(2)
    torch.add(tensor, 1, out=(out := torch.empty(5, device="cuda")))
    assert out.cpu().tolist() == [3] * 5
    torch.mul(out, 2, out=out)
    assert out.cpu().tolist() == [6] * 5


def test_operation_of_another_thread_while_a_mode_is_active_is_right(on_host: None) -> None:
    # Backward passes and compilers run in threads or places that have no mode.
    tensor = torch.ones(3).cuda()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: (tensor + 1).cpu().tolist()).result() == [2, 2, 2]


def test_captured_operation_is_refused_by_name(on_host: None) -> None:
    tensor, graph = torch.ones(3).cuda(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        tensor.zero_()
        with pytest.raises(RuntimeError, match=r"cannot capture aten\.add\.Tensor"):
            tensor + 1


def test_wrong_arguments_are_the_error_of_pytorch(on_host: None) -> None:
    with pytest.raises(RuntimeError, match="size"):
        torch.zeros(3).cuda() + torch.zeros(4).cuda()


@pytest.mark.cuarray_sim(allow="refused-module")
def test_operation_outside_is_refused() -> None:
    with OnHost():
        tensor = torch.ones(3, device="cuda")
    with pytest.raises(RuntimeError, match="no kernel image"):
        tensor + 1


# PyTorch keeps the communicator of NCCL, which has events.
@pytest.mark.cuarray_sim_leaks
def test_operation_on_tensors_of_two_devices_waits_for_both(on_host: None) -> None:
    first = torch.arange(1.0, 11.0).reshape(2, 5)
    with torch.cuda.device(1):
        one, other = first.cuda(0), (first + 10).cuda(1)
        gathered = comm.gather((one, other), 1)
        assert gathered.cpu().tolist() == torch.cat((first, first + 10), 1).tolist()
        assert (one + 1).cpu().tolist() == (first + 1).tolist()
        [added] = comm.reduce_add_coalesced([[one], [other]], 0)
        assert (added.device.index, added.cpu().tolist()) == (0, (2 * first + 10).tolist())


def test_copy_to_another_device_is_there(on_host: None) -> None:
    """PyTorch copies a tensor with gaps or repeated elements by a kernel first."""
    first = torch.arange(1.0, 11.0).reshape(2, 5)
    for view in (lambda x: x, lambda x: x[:, ::2], lambda x: x[:, :1].expand(2, 5), lambda x: x.t()):
        source = view(first.cuda(0))
        for copied in (source.to(1), source.to("cuda:1", torch.float64), *comm.scatter(source, [1])):
            assert copied.device.index == 1
            assert copied.cpu().tolist() == view(first).tolist()


@pytest.mark.cuarray_sim_leaks
def test_gradient_of_a_module_on_two_devices(on_host: None) -> None:
    layer, numbers = nn.Linear(5, 3), torch.arange(20.0).reshape(4, 5)
    layer(numbers).sum().backward()
    parallel = nn.Linear(5, 3)
    parallel.load_state_dict(layer.state_dict())
    nn.DataParallel(parallel.cuda(0), [0, 1])(numbers.cuda(0)).sum().backward()
    assert layer.weight.grad is not None
    assert parallel.weight.grad is not None
    torch.testing.assert_close(parallel.weight.grad.cpu(), layer.weight.grad)


def test_scaler_steps_parameters_of_two_devices(on_host: None) -> None:
    parameters = [torch.ones(3, device=device, requires_grad=True) for device in ("cuda:0", "cuda:1")]
    optimizer, scaler = torch.optim.SGD(parameters, lr=1.0), torch.amp.GradScaler("cuda", init_scale=2.0)
    loss = sum((parameter.sum() * factor).cpu() for parameter, factor in zip(parameters, (3, 4), strict=True))
    scaler.scale(loss.cuda(0)).backward()
    scaler.step(optimizer)
    assert [parameter.detach().cpu().tolist() for parameter in parameters] == [[-2.0] * 3, [-3.0] * 3]


def test_sparse_tensors_stay_sparse(on_host: None) -> None:
    dense = torch.tensor([[0.0, 2.0], [3.0, 0.0]])
    sparse = dense.cuda().to_sparse()
    for made in (sparse, sparse + sparse, sparse.coalesce()):
        assert (made.layout, made.device.type) == (torch.sparse_coo, "cuda")
    assert (sparse + sparse).to_dense().cpu().tolist() == (2 * dense).tolist()
    assert torch.sparse.mm(sparse, dense.cuda()).cpu().tolist() == (dense @ dense).tolist()


def test_tensor_is_printed(on_host: None) -> None:
    tensor = torch.arange(2000.0).cuda()
    assert str(tensor[:3]) == "tensor([0., 1., 2.], device='cuda:0')"
    assert "...," in str(tensor.half().view(2, 1000))
    assert str(tensor[:2] > 0) == "tensor([False,  True], device='cuda:0')"


def test_conversion_without_a_mode_has_the_type_the_device_and_the_layout(on_host: None) -> None:
    from torch.utils._python_dispatch import _disable_current_modes

    tensor = torch.arange(6.0).view(2, 3).t().cuda()
    with _disable_current_modes():
        found = [
            tensor.to(torch.int64),
            tensor.to("cpu"),
            tensor.to("cpu", torch.float64),
            tensor.to(tensor, copy=True),
        ]
    for each, (device, dtype) in zip(
        found,
        [("cuda", torch.int64), ("cpu", torch.float32), ("cpu", torch.float64), ("cuda", torch.float32)],
        strict=True,
    ):
        assert (each.device.type, each.dtype, each.stride()) == (device, dtype, tensor.stride())
        assert each.cpu().tolist() == [[0, 3], [1, 4], [2, 5]]


def test_operation_for_cuda_only_is_refused_by_name(on_host: None) -> None:
    with pytest.raises(NotImplementedError, match=r"aten\._cslt_compress\.default: PyTorch has it for CUDA only"):
        torch._cslt_compress(torch.zeros(32, 32, dtype=torch.half).cuda())


@pytest.mark.parametrize("batch_first", [True, False], ids=["batch-first", "step-first"])
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no-bias"])
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers_have_the_results_and_gradients_of_the_host(
    on_host: None, kind: type[nn.RNNBase], bias: bool, batch_first: bool
) -> None:
    def results(device: str) -> list[torch.Tensor]:
        torch.manual_seed(0)
        settings = {"bias": bias, "batch_first": batch_first, "bidirectional": True, "dtype": torch.double}
        layer = kind(5, 7, num_layers=2, **settings).to(device)
        inputs = torch.randn(4, 3, 5, dtype=torch.double).to(device).requires_grad_()
        found, states = layer(inputs)
        (found.square().sum() + sum(state.sum() for state in states)).backward()
        return [each.detach().cpu() for each in (found, inputs.grad, *(weights.grad for weights in layer.parameters()))]

    for found, expected in zip(results("cuda"), results("cpu"), strict=True):
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_packed_sequences_of_any_order_have_the_results_and_gradients_of_the_host(
    on_host: None, kind: type[nn.RNNBase]
) -> None:
    def results(device: str) -> list[torch.Tensor]:
        torch.manual_seed(0)
        layer, x = kind(5, 7, num_layers=2, bidirectional=True).to(device), torch.randn(4, 3, 5).to(device)
        packed = pack_padded_sequence(x.requires_grad_(), torch.tensor([2, 4, 1]), enforce_sorted=False)
        found, lengths = pad_packed_sequence(layer(packed)[0])
        assert lengths.tolist() == [2, 4, 1]
        found.square().sum().backward()
        return [each.detach().cpu() for each in (found, x.grad, *(weights.grad for weights in layer.parameters()))]

    for found, expected in zip(results("cuda"), results("cpu"), strict=True):
        torch.testing.assert_close(found, expected)


@pytest.mark.cuarray_sim(expect="data-race")
def test_recurrent_layer_is_a_call_of_cudnn(on_host: None) -> None:
    layer, x = nn.LSTM(5, 7, num_layers=2, dropout=0.5).cuda(), torch.zeros(4, 3, 5, device="cuda")
    source = torch.ones(4, 3, 5).pin_memory()
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        x.copy_(source, non_blocking=True)
    layer(x)
    (finding,) = cuarray_sim.findings()["findings"]
    assert (finding["sides"][1]["call"], finding["sides"][1]["detail"]) == ("cudnnRNNForward", "argument x")


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_dropout_of_a_recurrent_layer_keeps_the_mean(on_host: None, kind: type[nn.RNNBase]) -> None:
    torch.manual_seed(0)
    layer, x = kind(5, 7, num_layers=2, dropout=0.5, bidirectional=True), torch.randn(4, 3, 5)
    expected, states = layer.eval()(x)
    results = [layer.train().cuda()(x.cuda()) for _ in range(100)]
    assert not torch.equal(results[0][0].cpu(), results[1][0].cpu())
    # The states of the second layer are almost linear in its inputs, and the first layer has no dropout.
    torch.testing.assert_close(torch.stack([each[0].cpu() for each in results]).mean(0), expected, rtol=0, atol=0.15)
    last, right = (each[0] if isinstance(each, tuple) else each for each in (results[0][1], states))
    torch.testing.assert_close(last[:2].cpu(), right[:2])


def test_generator_of_the_device_draws_the_same_numbers_from_a_seed(on_host: None) -> None:
    def drawn() -> list[float]:
        generator = torch.Generator("cuda").manual_seed(3)
        first, second = (torch.rand(4, device="cuda", generator=generator) for _ in range(2))
        return [*first.tolist(), *second.tolist()]

    found = drawn()
    torch.manual_seed(5)
    assert drawn() == found
    assert len(set(found)) == 8


def test_convolutional_net_trains_with_mixed_precision_and_infers(on_host: None) -> None:
    def net(device: str) -> nn.Module:
        torch.manual_seed(0)
        layers = [nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 3)]
        return nn.Sequential(*layers).to(device)

    found, images, classes = net("cuda"), torch.randn(8, 1, 8, 8), torch.arange(8) % 3
    torch.testing.assert_close(found(images.cuda()).cpu(), net("cpu")(images))
    optimizer, scaler = torch.optim.SGD(found.parameters(), lr=0.1, momentum=0.9), torch.amp.GradScaler("cuda")
    losses = []
    for _ in range(8):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(found(images.cuda()), classes.cuda())
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2
    infers = net("cpu")
    infers.load_state_dict(found.state_dict())
    torch.testing.assert_close(found.eval()(images.cuda()).cpu(), infers.eval()(images))


def test_attention_runs(on_host: None) -> None:
    heads = torch.randn(2, 2, 4, 8)
    found = nn.functional.scaled_dot_product_attention(heads.cuda(), heads.cuda(), heads.cuda())
    torch.testing.assert_close(found.cpu(), nn.functional.scaled_dot_product_attention(heads, heads, heads))
