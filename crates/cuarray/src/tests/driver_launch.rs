//! Modules and launches: guards order kernels, invalid launches are refused, and nothing is freed before its kernels
//! are done.

use super::driver_fixture::{Fixture, calls, entry, streams};
use crate::{
    Context, Driver, Interface, Layout, RawView, Stream, TypeStr, TypedView,
    driver::{Allocation, copy, fill},
    kernel::{Function, LaunchConfig, Module},
    sync::Memory,
};
use cuarray_abi::{CU_STREAM_CAPTURE_MODE_RELAXED, CUgraph, CUresult, CUstream};
use cuarray_sim::Config;
use std::sync::Arc;

/// The kernel `add` adds a value to each of n numbers. The kernel `sum_of` adds both fields of a structure to
/// each number, through dynamic shared memory.
const PTX: &str = "
.version 8.0
.target sm_80
.address_size 64
.extern .shared .align 4 .b8 tile[];
.visible .entry add(.param .u64 data, .param .u32 n, .param .f32 value)
{
    .reg .pred %p; .reg .b32 %r<5>; .reg .f32 %f<3>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data];
    ld.param.u32 %r1, [n];
    ld.param.f32 %f2, [value];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mad.lo.s32 %r2, %r3, %r4, %r2;
    setp.ge.u32 %p, %r2, %r1;
    @%p ret;
    mul.wide.u32 %rd2, %r2, 4;
    add.s64 %rd1, %rd1, %rd2;
    ld.global.f32 %f1, [%rd1];
    add.f32 %f1, %f1, %f2;
    st.global.f32 [%rd1], %f1;
    ret;
}
.visible .entry sum_of(.param .u64 from, .param .u64 to, .param .align 8 .b8 step[16])
{
    .reg .b32 %r<4>; .reg .f32 %f<3>; .reg .b64 %rd<6>; .reg .f64 %d<2>;
    ld.param.u64 %rd1, [from];
    ld.param.u64 %rd2, [to];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd1, %rd1, %rd3;
    add.s64 %rd2, %rd2, %rd3;
    ld.global.f32 %f1, [%rd1];
    mov.u32 %r2, tile;
    shl.b32 %r3, %r1, 2;
    add.u32 %r2, %r2, %r3;
    st.shared.f32 [%r2], %f1;
    bar.sync 0;
    ld.shared.f32 %f1, [%r2];
    ld.param.f32 %f2, [step];
    add.f32 %f1, %f1, %f2;
    ld.param.f64 %d1, [step+8];
    cvt.rn.f32.f64 %f2, %d1;
    add.f32 %f1, %f1, %f2;
    st.global.f32 [%rd2], %f1;
    ret;
}
";

crate::element! {
    struct Step {
        small: f32,
        large: f64,
    }
}

const N: usize = 1000;

/// 1000 numbers that the test owns.
struct Data {
    memory: Arc<Memory>,
    context: Context,
}

impl Data {
    fn new(context: &Context) -> Data {
        let memory = Arc::new(Memory::new(context, || Allocation::device(context, 4 * N)).unwrap());
        let data = Data { memory, context: context.clone() };
        // SAFETY: the memory has that many bytes.
        unsafe { fill::fill_bytes(context, data.ptr(), &1f32.to_ne_bytes(), N, None) }.unwrap();
        context.synchronize().unwrap();
        data
    }

    fn ptr(&self) -> u64 {
        self.memory.allocation().device_ptr()
    }

    fn interface(&self) -> Interface {
        Interface::new(self.ptr(), TypeStr::of::<f32>(), Layout::c_contiguous(&[N], 4).unwrap()).unwrap()
    }

    fn view(&self, home: Option<&Stream>) -> RawView {
        RawView::from_memory(&self.memory, self.interface(), home).unwrap()
    }

    /// The numbers that a copy in the stream reads; synchronizes the stream.
    fn read(&self, stream: &Stream) -> Vec<f32> {
        let mut host = vec![0f32; N];
        // SAFETY: both have that many bytes; the host's bytes are read after the stream is synchronized.
        unsafe { copy::copy_device_to_host(&self.context, host.as_mut_ptr().cast(), self.ptr(), 4 * N, Some(stream)) }
            .unwrap();
        stream.synchronize().unwrap();
        host
    }
}

fn function(context: &Context, name: &str) -> Function {
    Module::load_ptx(context, PTX).unwrap().function(name).unwrap()
}

/// Adds `value` to all numbers, in `stream`.
fn add(add: &Function, stream: &Stream, view: &mut RawView, value: f32) {
    let mut array = view.acquire_mut(stream).unwrap();
    let config = LaunchConfig::for_elements(N, 128).unwrap();
    // SAFETY: the kernel adds to N numbers, and the array has as many.
    unsafe { add.launch(stream, config, (&mut array, N as u32, value)) }.unwrap();
    array.release().unwrap();
}

#[test]
fn guards_order_kernels_in_different_streams() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let kernel = function(&context, "add");
    let [one, two, three] = streams(&context);
    for home in [None, Some(&one)] {
        let data = Data::new(&context);
        let mut view = data.view(home);
        for (stream, value) in [(&one, 1.0), (&two, 2.0), (&three, 4.0), (&one, 8.0)] {
            add(&kernel, stream, &mut view, value);
        }
        // A second array over the same memory shares its synchronization state.
        let mut again = data.view(home);
        add(&kernel, &two, &mut again, 16.0);
        let array = view.acquire(&three).unwrap();
        assert_eq!(data.read(&three), vec![32.0; N]);
        array.release().unwrap();
    }
}

#[test]
fn guard_of_the_per_thread_stream_of_another_thread_is_refused() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let (add, data, copied) = (function(&context, "add"), Data::new(&context), Data::new(&context));
    let (home, stream) = (Stream::new(&context).unwrap(), Stream::per_thread_default(&context));
    let mut view = data.view(Some(&home));
    let mut typed: TypedView<f32> = copied.view(Some(&home)).typed().unwrap();
    let mut of_launch = view.acquire_mut(&stream).unwrap();
    let mut of_copies = typed.acquire_mut(&stream).unwrap();
    let config = LaunchConfig::for_elements(N, 128).unwrap();
    let sim = fixture.sim.clone();
    std::thread::scope(|scope| {
        let there = scope.spawn(|| {
            let _entered = sim.enter();
            // SAFETY: the kernel adds to N numbers, and the array has as many.
            let launched = unsafe { add.launch(&stream, config, (&mut of_launch, N as u32, 1.0f32)) };
            assert!(launched.unwrap_err().to_string().contains("acquired in another thread"));
            assert!(of_copies.copy_to_host().unwrap_err().is_unsupported());
            assert!(of_copies.copy_from_host(&[0.0; N]).unwrap_err().is_unsupported());
            of_copies.release().unwrap();
        });
        there.join().unwrap();
    });
    // SAFETY: the kernel adds to N numbers, and the array has as many.
    unsafe { add.launch(&stream, config, (&mut of_launch, N as u32, 1.0f32)) }.unwrap();
    of_launch.release().unwrap();
    assert_eq!(data.read(&home), vec![2.0; N]);
}

#[test]
fn kernel_is_ordered_with_the_stream_of_a_producer_in_both_directions() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let data = Data::new(&context);
    let kernel = function(&context, "add");
    let [producer, consumer] = streams(&context);
    let interface = data.interface().with_stream(entry(&producer));
    // SAFETY: the memory and the stream live as long as the view.
    let mut view = unsafe { RawView::new(&fixture.driver, interface, None) }.unwrap();
    // SAFETY: the memory has that many bytes.
    unsafe { fill::fill_bytes(&context, data.ptr(), &5f32.to_ne_bytes(), N, Some(&producer)) }.unwrap();
    add(&kernel, &consumer, &mut view, 0.5);
    assert_eq!(data.read(&producer), vec![5.5; N]);
}

#[test]
fn launch_passes_structures_by_value_and_sets_dynamic_shared_memory() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let (from, to) = (Data::new(&context), Data::new(&context));
    let kernel = function(&context, "sum_of");
    assert_eq!(kernel.parameters(), Some(&[8, 8, 16][..]));
    let [stream] = streams(&context);
    let (source, mut target) = (from.view(None), to.view(None));
    let (source, mut target) = (source.acquire(&stream).unwrap(), target.acquire_mut(&stream).unwrap());
    let config = LaunchConfig::new([1, 1, 1], [N as u32, 1, 1]).with_dynamic_shared(4 * N as u32);
    let step = Step { small: 0.25, large: 3.0 };
    // SAFETY: the kernel reads N numbers, writes as many, and has shared memory for as many.
    unsafe { kernel.launch(&stream, config, (&source, &mut target, step)) }.unwrap();
    assert_eq!(to.read(&stream), vec![4.25; N]);

    let much = kernel.max_dynamic_shared() + 1;
    let config = config.with_dynamic_shared(much);
    // SAFETY: the kernel reads N numbers, writes as many, and has shared memory for as many.
    let refused = unsafe { kernel.launch(&stream, config, (&source, &mut target, step)) }.unwrap_err();
    assert!(refused.to_string().contains("set_max_dynamic_shared"), "{refused}");
    kernel.set_max_dynamic_shared(much).unwrap();
    // SAFETY: the kernel reads N numbers, writes as many, and has shared memory for as many.
    unsafe { kernel.launch(&stream, config, (&source, &mut target, step)) }.unwrap();
    assert_eq!(to.read(&stream), vec![4.25; N]);
    let beyond = kernel.set_max_dynamic_shared(u32::MAX).unwrap_err();
    assert_eq!(beyond.driver_code(), Some(CUresult::CUDA_ERROR_INVALID_VALUE));
}

#[test]
fn invalid_launch_is_an_error_with_its_reason() {
    let fixture = Fixture::with(Config { devices: 2, ..Config::default() });
    let context = fixture.primary();
    let second = fixture.driver.device(1).unwrap().primary_context().unwrap();
    let data = Data::new(&context);
    let kernel = function(&context, "add");
    let [stream, other] = streams(&context);
    let [other_context_stream] = streams(&second);
    let mut view = data.view(None);
    let mut array = view.acquire_mut(&stream).unwrap();
    let one = LaunchConfig::new([1, 1, 1], [1, 1, 1]);
    let n = N as u32;
    let launches = calls(&fixture.sim, "cuLaunchKernel");
    macro_rules! refused {
        ($stream:expr, $config:expr, $arguments:expr, $why:literal) => {
            // SAFETY: nothing is launched.
            let error = unsafe { kernel.launch($stream, $config, $arguments) }.unwrap_err();
            assert!(error.to_string().contains($why) && error.to_string().contains("\"add\""), "{error}");
            assert!(!error.is_driver());
        };
    }
    refused!(&other, one, (&mut array, n, 1f32), "argument 0 is an array acquired for");
    refused!(&other_context_stream, one, (&mut array, n, 1f32), "another context");
    refused!(&stream, one, (&mut array, n), "takes 3 arguments, got 2");
    refused!(&stream, one, (), "takes 3 arguments, got 0");
    refused!(&stream, one, (&mut array, n, 1f64), "parameter 2 has 4 bytes, and the argument has 8");
    refused!(&stream, LaunchConfig::new([0, 1, 1], [1, 1, 1]), (&mut array, n, 1f32), "is empty");
    refused!(&stream, LaunchConfig::new([1, 1, 1], [1, 0, 1]), (&mut array, n, 1f32), "is empty");
    refused!(&stream, LaunchConfig::new([1, 65536, 1], [1, 1, 1]), (&mut array, n, 1f32), "too large");
    refused!(&stream, LaunchConfig::new([1 << 31, 1, 1], [1, 1, 1]), (&mut array, n, 1f32), "too large");
    refused!(&stream, LaunchConfig::new([1, 1, 1], [1024, 2, 1]), (&mut array, n, 1f32), "2048 threads");
    refused!(&stream, LaunchConfig::new([1, 1, 1], [u32::MAX; 3]), (&mut array, n, 1f32), "threads");
    refused!(&stream, one.with_dynamic_shared(50_000), (&mut array, n, 1f32), "49152");
    assert_eq!(calls(&fixture.sim, "cuLaunchKernel"), launches);

    assert!(LaunchConfig::for_elements(10, 0).is_err());
    assert!(LaunchConfig::for_elements(1 << 40, 128).is_err());
    assert_eq!(LaunchConfig::for_elements(0, 128).unwrap(), LaunchConfig::new([1, 1, 1], [128, 1, 1]));
    assert_eq!(LaunchConfig::for_elements(129, 128).unwrap(), LaunchConfig::new([2, 1, 1], [128, 1, 1]));
}

#[test]
fn module_loads_ptx_text_of_any_type_and_refuses_other_images() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let closed = std::ffi::CString::new(PTX).unwrap();
    let module = Module::load_ptx(&context, PTX.as_bytes()).unwrap();
    let mut names = module.function_names().unwrap();
    names.sort();
    assert_eq!(names, ["add", "sum_of"]);
    assert_eq!(module, module.function("add").unwrap().module().clone());
    assert_ne!(module, Module::load_ptx(&context, closed.to_bytes_with_nul()).unwrap());
    // SAFETY: the image is PTX that ends with a nul.
    unsafe { Module::load_image(&context, closed.to_bytes_with_nul()) }.unwrap().function("add").unwrap();

    let loads = calls(&fixture.sim, "cuModuleLoadDataEx");
    for image in [&b"\x7fELF\x02"[..], b"P\xedU\xba\x01", b".version\x00 8.0", b"\xb1CbF", b"\xff"] {
        let error = Module::load_ptx(&context, image).unwrap_err();
        assert!(error.to_string().contains("not PTX"), "{error}");
    }
    assert_eq!(calls(&fixture.sim, "cuModuleLoadDataEx"), loads);

    let error =
        Module::load_ptx(&context, PTX.replace("add.f32 %f1, %f1, %f2;", "add.f32 %f1, %nothing;")).unwrap_err();
    assert_eq!(error.driver_code(), Some(CUresult::CUDA_ERROR_INVALID_PTX));
    let text = error.to_string();
    assert!(text.starts_with("cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX (") && text.contains("line "), "{text}");
    let error = module.function("ad").unwrap_err();
    assert_eq!(error.driver_code(), Some(CUresult::CUDA_ERROR_NOT_FOUND));
    assert!(error.to_string().contains("the module has no kernel \"ad\"; it has"), "{error}");
    assert!(error.to_string().contains("sum_of"), "{error}");
    assert!(module.function("a\0d").is_err());
    assert_eq!(fixture.current(), 0);
}

#[test]
fn module_is_unloaded_after_its_kernels_without_waiting() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let [non_blocking] = streams(&context);
    let owned = Stream::non_blocking(&context).unwrap();
    // SAFETY: `owned` outlives the external stream.
    let external = unsafe { Stream::from_raw(&fixture.driver, owned.handle(), None) };
    let (legacy, per_thread) = (Stream::legacy_default(&context), Stream::per_thread_default(&context));
    for stream in [non_blocking, external, legacy, per_thread] {
        let data = Data::new(&context);
        let kernel = function(&context, "add");
        let mut view = data.view(Some(&stream));
        add(&kernel, &stream, &mut view, 2.0);
        let (unloads, waits) = (calls(&fixture.sim, "cuModuleUnload"), calls(&fixture.sim, "cuCtxSynchronize"));
        drop(kernel);
        assert_eq!(calls(&fixture.sim, "cuModuleUnload"), unloads, "{stream:?}");
        assert_eq!(data.read(&stream), vec![3.0; N]);
        fixture.driver.reclaim(false);
        assert_eq!(calls(&fixture.sim, "cuModuleUnload"), unloads + 1, "{stream:?}");
        assert_eq!(calls(&fixture.sim, "cuCtxSynchronize"), waits);
    }
    // A module without launches is unloaded at once, and so is a module whose work is done.
    let unloads = calls(&fixture.sim, "cuModuleUnload");
    drop(Module::load_ptx(&context, PTX).unwrap());
    assert_eq!(calls(&fixture.sim, "cuModuleUnload"), unloads + 1);
    let (data, kernel) = (Data::new(&context), function(&context, "add"));
    let [stream] = streams(&context);
    add(&kernel, &stream, &mut data.view(None), 2.0);
    drop((kernel, stream));
    assert!(fixture.driver.reclaim(true));
    assert_eq!(calls(&fixture.sim, "cuModuleUnload"), unloads + 2);
    assert!(fixture.driver.take_drop_error().is_none());
}

#[test]
fn memory_is_freed_after_the_kernels_that_use_it() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let kernel = function(&context, "add");
    for home in [false, true] {
        let [stream, home_stream] = streams(&context);
        let data = Data::new(&context);
        add(&kernel, &stream, &mut data.view(home.then_some(&home_stream)), 1.0);
        let frees = calls(&fixture.sim, "cuMemFree_v2");
        drop(data);
        assert_eq!(calls(&fixture.sim, "cuMemFree_v2"), frees);
        stream.synchronize().unwrap();
        home_stream.synchronize().unwrap();
        assert!(fixture.driver.reclaim(false));
        assert_eq!(calls(&fixture.sim, "cuMemFree_v2"), frees + 1);
    }
}

#[test]
fn view_beyond_its_memory_is_refused() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let data = Data::new(&context);
    let of = |shape: &[usize], from: i64| {
        let layout = Layout::c_contiguous(shape, 4).unwrap();
        let interface =
            Interface::new(data.ptr().checked_add_signed(from).unwrap(), TypeStr::of::<f32>(), layout).unwrap();
        RawView::from_memory(&data.memory, interface, None)
    };
    assert!(of(&[N], 0).is_ok() && of(&[N - 1], 4).is_ok() && of(&[0], 0).is_ok());
    for (shape, from) in [([N + 1], 0), ([N], 4), ([1], -4), ([1], 4 * N as i64)] {
        let error = of(&shape, from).unwrap_err();
        assert!(error.to_string().contains("not within the memory"), "{error}");
    }
    let reversed = Layout::strided(&[N], &[-4], 4).unwrap();
    let interface = Interface::new(data.ptr() + 4 * (N as u64 - 1), TypeStr::of::<f32>(), reversed).unwrap();
    assert!(RawView::from_memory(&data.memory, interface, None).is_ok());
}

#[test]
fn launches_work_on_drivers_without_parameter_queries() {
    let fixture = Fixture::altered(Config::default(), |api| {
        api.cuFuncGetParamInfo = None;
        api.cuModuleGetFunctionCount = None;
    });
    let context = fixture.primary();
    let module = Module::load_ptx(&context, PTX).unwrap();
    assert_eq!(module.function_names().unwrap_err().driver_call(), Some("cuModuleGetFunctionCount"));
    let error = module.function("ad").unwrap_err();
    assert!(error.to_string().ends_with("the module has no kernel \"ad\""), "{error}");
    let kernel = module.function("add").unwrap();
    assert_eq!(kernel.parameters(), None);
    let data = Data::new(&context);
    let [stream] = streams(&context);
    add(&kernel, &stream, &mut data.view(None), 1.0);
    assert_eq!(data.read(&stream), vec![2.0; N]);
}

#[test]
fn module_with_an_unrecorded_launch_is_never_unloaded() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let (data, kernel) = (Data::new(&context), function(&context, "add"));
    let legacy = Stream::legacy_default(&context);
    let mut view = data.view(Some(&legacy));
    let mut array = view.acquire_mut(&legacy).unwrap();
    let config = LaunchConfig::for_elements(N, 128).unwrap();
    fixture.sim.fail_next("cuEventRecord", CUresult::CUDA_ERROR_OUT_OF_MEMORY).unwrap();
    // SAFETY: the kernel adds to N numbers, and the array has as many.
    unsafe { kernel.launch(&legacy, config, (&mut array, N as u32, 1f32)) }.unwrap();
    assert_eq!(fixture.driver.take_drop_error().unwrap().driver_call(), Some("cuEventRecord"));
    array.release().unwrap();
    drop(kernel);
    assert_eq!(data.read(&legacy), vec![2.0; N]);
    fixture.driver.reclaim(true);
    assert_eq!(calls(&fixture.sim, "cuModuleUnload"), 0);
}

#[test]
fn launches_can_be_captured_and_replayed() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let (data, kernel) = (Data::new(&context), function(&context, "add"));
    let [home] = streams(&context);
    let api = fixture.sim.api();
    let _current = context.push().unwrap();
    let mut view = data.view(Some(&home));
    let (mut graph, mut exec) = (CUgraph::NULL, Default::default());
    // SAFETY: the streams are alive; the driver writes one handle each.
    unsafe {
        let raw = CUstream(home.handle());
        assert!(api.cuStreamBeginCapture_v2.unwrap()(raw, CU_STREAM_CAPTURE_MODE_RELAXED).is_success());
        add(&kernel, &home, &mut view, 1.0);
        assert!(api.cuStreamEndCapture.unwrap()(raw, &mut graph).is_success());
        assert!(api.cuGraphInstantiateWithFlags.unwrap()(&mut exec, graph, 0).is_success());
        assert_eq!(data.read(&home), vec![1.0; N]);
        for _ in 0..3 {
            assert!(api.cuGraphLaunch.unwrap()(exec, raw).is_success());
        }
        assert_eq!(data.read(&home), vec![4.0; N]);
        assert!(api.cuGraphExecDestroy.unwrap()(exec).is_success());
        assert!(api.cuGraphDestroy.unwrap()(graph).is_success());
    }
    drop(kernel);
    fixture.driver.reclaim(true);
    assert_eq!(calls(&fixture.sim, "cuModuleUnload"), 1);
}

#[test]
fn kernel_failure_is_reported_and_everything_is_still_dropped() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let (data, kernel) = (Data::new(&context), function(&context, "add"));
    let [stream] = streams(&context);
    let mut view = data.view(None);
    let mut array = view.acquire_mut(&stream).unwrap();
    let config = LaunchConfig::for_elements(1 << 20, 128).unwrap();
    // SAFETY: the kernel accesses memory outside the array, and the simulated driver stops it.
    unsafe { kernel.launch(&stream, config, (&mut array, 1u32 << 20, 1f32)) }.unwrap();
    let error = stream.synchronize().unwrap_err();
    assert_eq!(error.driver_code(), Some(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS));
    assert!(array.release().is_err());
    drop((view, data, kernel, stream));
    fixture.driver.reclaim(true);
    let driver: &Driver = &fixture.driver;
    assert_eq!(driver.take_drop_error().unwrap().driver_code(), Some(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS));
}
