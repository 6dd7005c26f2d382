//! The timeline of calls and work, as viewers read it.

use crate::program::*;
use serde_json::Value;
use std::collections::HashMap;
use std::path::PathBuf;

const PTX: &[u8] = b".version 8.0
.target sm_80
.address_size 64
.visible .entry _ZN5model5scaleEv() { ret; }
\0";

fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("cuarray-sim-timeline-{name}-{}.json", std::process::id()))
}

/// The timeline that a program writes.
fn timeline(name: &str, config: Config, run: impl FnOnce(&Program)) -> Vec<Value> {
    let path = path(name);
    {
        let program = Program::with(Config { trace: Some(path.clone()), ..config });
        run(&program);
    }
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The slices of the host or of a device, in the order of their ends.
fn slices(events: &[Value], process: u64) -> Vec<&Value> {
    events.iter().filter(|event| event["ph"] == "X" && event["pid"] == process).collect()
}

/// The names that a timeline gives to processes and threads.
fn names(events: &[Value]) -> HashMap<(&str, u64, u64), &str> {
    let named = events.iter().filter(|event| event["ph"] == "M");
    let number = |event: &Value, key: &str| event[key].as_u64().unwrap();
    named
        .map(|event| {
            let key = (event["name"].as_str().unwrap(), number(event, "pid"), number(event, "tid"));
            (key, event["args"]["name"].as_str().unwrap())
        })
        .collect()
}

extern "C" fn nothing(_: *mut c_void) {}

#[test]
fn operations_have_their_stream_their_call_and_an_arrow_from_it() {
    for findings in [true, false] {
        let events = timeline(&format!("operations-{findings}"), Config { findings, ..Config::default() }, |program| {
            let (mut module, mut function, mut event) = (CUmodule::NULL, CUfunction::NULL, CUevent::NULL);
            ok!(program, cuModuleLoadData(&mut module, PTX.as_ptr().cast()));
            ok!(program, cuModuleGetFunction(&mut function, module, c"_ZN5model5scaleEv".as_ptr()));
            let (stream, other) = (program.stream(0), program.stream(CU_STREAM_NON_BLOCKING));
            let (bytes, source) = (program.alloc(4096), [7u8; 4096]);
            ok!(program, cuMemcpyHtoDAsync_v2(bytes, source.as_ptr().cast(), 4096, stream));
            let none = std::ptr::null_mut();
            ok!(program, cuLaunchKernel(function, 3, 2, 1, 32, 1, 1, 16, stream, none, none));
            ok!(program, cuLaunchHostFunc(stream, Some(nothing), std::ptr::null_mut()));
            ok!(program, cuEventCreate(&mut event, 0));
            ok!(program, cuEventRecord(event, stream));
            ok!(program, cuStreamWaitEvent(other, event, 0));
            ok!(program, cuMemsetD8Async(bytes, 1, 100, other));
            ok!(program, cuStreamSynchronize(other));
        });
        let names = names(&events);
        assert_eq!(names[&("process_name", 1, 0)], "device 0");
        assert!(names[&("process_name", 0, 0)].starts_with("process "), "{names:?}");
        let work = slices(&events, 1);
        let shown: Vec<_> = work
            .iter()
            .map(|slice| {
                let stream = names[&("thread_name", 1, slice["tid"].as_u64().unwrap())];
                (slice["name"].as_str().unwrap(), stream, slice["args"]["call"].as_str().unwrap())
            })
            .collect();
        let (first, second) = ("stream 1 (blocking)", "stream 2 (non-blocking)");
        assert_eq!(
            shown,
            [
                ("copy, host to device", first, "cuMemcpyHtoDAsync"),
                ("model::scale", first, "cuLaunchKernel"),
                ("host function", first, "cuLaunchHostFunc"),
                ("event record", first, "cuEventRecord"),
                ("fill", second, "cuMemsetD8Async"),
            ],
            "findings {findings}"
        );
        assert_eq!(work[0]["args"]["bytes"], 4096);
        assert_eq!((&work[1]["args"]["grid"], &work[1]["args"]["block"]), (&[3, 2, 1].into(), &[32, 1, 1].into()));
        // The program is machine code: its place is an object and an offset.
        let site = work[1]["args"]["site"].as_str().unwrap();
        let object = site.split_once("+0x").map(|(object, _)| object);
        assert!(object.is_some_and(is_this_program), "{site}");
        let calls = slices(&events, 0);
        for slice in &work {
            let of = |call: &&&Value| call["bind_id"] == slice["bind_id"] && call["flow_out"] == true;
            let call = calls.iter().find(of).unwrap_or_else(|| panic!("no arrow leads to {slice}"));
            assert_eq!((&call["name"], &slice["flow_in"]), (&slice["args"]["call"], &true.into()));
            assert!(call["ts"].as_f64() <= slice["ts"].as_f64(), "{call} {slice}");
        }
        // The pending work ran during the call that waited for it.
        let wait = calls.iter().find(|call| call["name"] == "cuStreamSynchronize").unwrap();
        let ends = |slice: &Value| slice["ts"].as_f64().unwrap() + slice["dur"].as_f64().unwrap();
        assert!(
            work.iter().all(|slice| slice["ts"].as_f64() >= wait["ts"].as_f64() && ends(slice) <= ends(wait) + 0.01)
        );
        let device_time = |slice: &Value, index: usize| slice["args"]["device nanoseconds"][index].as_u64().unwrap();
        assert!(work.windows(2).all(|pair| device_time(pair[0], 1) <= device_time(pair[1], 0)), "{work:?}");
        assert_eq!(device_time(work[0], 1) - device_time(work[0], 0), 4096 / 32);
    }
}

#[test]
fn failed_calls_have_their_result_and_successful_queries_are_left_out() {
    let events = timeline("failures", Config::default(), |program| {
        let mut address = 0;
        fails!(program, OUT_OF_MEMORY, cuMemAlloc_v2(&mut address, 1 << 50));
        let mut count = 0;
        ok!(program, cuDeviceGetCount(&mut count));
        fails!(program, INVALID_VALUE, cuDeviceGetCount(std::ptr::null_mut()));
    });
    let calls = slices(&events, 0);
    let results: Vec<_> = calls.iter().map(|call| (&call["name"], &call["args"]["result"])).collect();
    assert!(results.contains(&(&"cuMemAlloc".into(), &"CUDA_ERROR_OUT_OF_MEMORY".into())), "{results:?}");
    let queries: Vec<_> = results.iter().filter(|(name, _)| *name == "cuDeviceGetCount").collect();
    assert_eq!(queries, [&(&"cuDeviceGetCount".into(), &"CUDA_ERROR_INVALID_VALUE".into())]);
}

#[test]
fn nodes_of_a_graph_share_the_arrow_of_their_launch() {
    let events = timeline("graph", Config::default(), |program| {
        let stream = program.stream(CU_STREAM_NON_BLOCKING);
        let bytes = program.alloc(64);
        let (mut graph, mut exec) = (CUgraph::NULL, CUgraphExec::NULL);
        ok!(program, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        ok!(program, cuMemsetD8Async(bytes, 1, 32, stream));
        ok!(program, cuMemsetD8Async(bytes + 32, 2, 32, stream));
        ok!(program, cuStreamEndCapture(stream, &mut graph));
        ok!(program, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
        for _ in 0..2 {
            ok!(program, cuGraphLaunch(exec, stream));
        }
        ok!(program, cuStreamSynchronize(stream));
    });
    let launches: Vec<_> = slices(&events, 0).into_iter().filter(|call| call["name"] == "cuGraphLaunch").collect();
    let fills: Vec<_> = slices(&events, 1).into_iter().filter(|slice| slice["name"] == "fill").collect();
    assert_eq!((launches.len(), fills.len()), (2, 4));
    assert_ne!(launches[0]["bind_id"], launches[1]["bind_id"]);
    for launch in launches {
        assert_eq!(fills.iter().filter(|fill| fill["bind_id"] == launch["bind_id"]).count(), 2);
    }
}

#[test]
fn nodes_in_the_body_of_a_conditional_node_share_the_arrow_of_their_launch() {
    let events = timeline("body", Config::default(), |program| {
        let (bytes, mut graph, mut exec, mut handle) = (program.alloc(64), CUgraph::NULL, CUgraphExec::NULL, 0);
        ok!(program, cuGraphCreate(&mut graph, 0));
        let default = CU_GRAPH_COND_ASSIGN_DEFAULT;
        ok!(program, cuGraphConditionalHandleCreate(&mut handle, graph, program.context, 1, default));
        let of = CUDA_CONDITIONAL_NODE_PARAMS {
            handle,
            kind: CU_GRAPH_COND_TYPE_IF,
            size: 1,
            phGraph_out: std::ptr::null_mut(),
            ctx: program.context,
        };
        let (mut params, mut node) = ([0; 29], CUgraphNode::NULL);
        // SAFETY: the union is larger than the parameters.
        unsafe { params.as_mut_ptr().cast::<CUDA_CONDITIONAL_NODE_PARAMS>().write(of) };
        let mut any =
            CUgraphNodeParams { kind: CU_GRAPH_NODE_TYPE_CONDITIONAL, reserved0: [0; 3], params, reserved2: 0 };
        ok!(program, cuGraphAddNode(&mut node, graph, std::ptr::null(), 0, &mut any));
        // SAFETY: the driver wrote the address of its array of bodies.
        let body = unsafe { *any.params.as_ptr().cast::<CUDA_CONDITIONAL_NODE_PARAMS>().read().phGraph_out };
        let fill = CUDA_MEMSET_NODE_PARAMS { dst: bytes, pitch: 0, value: 1, elementSize: 1, width: 32, height: 1 };
        ok!(program, cuGraphAddMemsetNode(&mut node, body, std::ptr::null(), 0, &fill, program.context));
        ok!(program, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
        ok!(program, cuGraphLaunch(exec, CUstream::NULL));
        ok!(program, cuCtxSynchronize());
    });
    let launch = slices(&events, 0).into_iter().find(|call| call["name"] == "cuGraphLaunch").unwrap();
    let fill = slices(&events, 1).into_iter().find(|slice| slice["name"] == "fill").unwrap();
    assert_eq!(fill["bind_id"], launch["bind_id"]);
    assert!(launch["bind_id"].is_string(), "{launch}");
}
