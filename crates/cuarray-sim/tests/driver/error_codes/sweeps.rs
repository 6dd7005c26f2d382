//! The sweeps: calls of every entry point in one situation each.

use super::calls::{CALLS, EntryPointCall};
use super::objects::{Objects, Room, valid, wrong};
use super::*;

/// The result of a call, and the index of the wrong argument, if one is wrong.
pub struct Outcome {
    pub symbol: &'static str,
    pub wrong: Option<(usize, u64)>,
    pub result: CUresult,
}

/// Calls every entry point with zeros. `before` runs before each call.
pub fn zeros(api: &Api, mut before: impl FnMut()) -> Vec<Outcome> {
    let outcome = |call: &EntryPointCall| {
        before();
        // SAFETY: zero is a value of every parameter. A null pointer is an argument that the driver must refuse.
        let result = unsafe { call.call(api, &vec![0; call.parameters.len()]) };
        Outcome { symbol: call.symbol, wrong: None, result }
    };
    CALLS.iter().map(outcome).collect()
}

/// Calls every entry point with zeros, of a driver that is not initialized and has no device, so that it stays so.
pub fn before_init() -> Vec<Outcome> {
    let sim = Sim::new(Config { quiet: true, visible: Some(Vec::new()), ..Config::default() });
    let _entered = sim.enter();
    zeros(&sim.api(), || {})
}

/// Calls every entry point that takes a handle with those of ended objects, and zeros for the rest.
pub fn ended_handles(api: &Api, ended: &Objects, mut before: impl FnMut()) -> Vec<Outcome> {
    let takes_handle =
        |call: &&EntryPointCall| call.parameters.iter().any(|parameter| ended.handle(parameter.ty).is_some());
    let outcome = |call: &EntryPointCall| {
        before();
        let arguments: Vec<u64> =
            call.parameters.iter().map(|parameter| ended.handle(parameter.ty).unwrap_or(0)).collect();
        // SAFETY: handles are checked by the driver, and a null pointer is an argument that it must refuse.
        let result = unsafe { call.call(api, &arguments) };
        Outcome { symbol: call.symbol, wrong: None, result }
    };
    CALLS.iter().filter(takes_handle).map(outcome).collect()
}

/// A driver with live objects, and the handles of others that have ended.
struct Stage {
    program: Program,
    live: Objects,
    ended: Objects,
    room: Room,
}

impl Stage {
    fn new() -> Stage {
        let program = Program::with(Config { findings: false, devices: 2, ..Config::default() });
        let ended = Objects::new(&program);
        ended.end(&program);
        Stage { live: Objects::new(&program), ended, program, room: Room::new() }
    }

    /// Calls an entry point with valid arguments, except for the one at an index.
    fn call(&mut self, call: &EntryPointCall, wrong: Option<(usize, u64)>) -> Outcome {
        let arguments: Vec<u64> = (0..)
            .zip(call.parameters)
            .map(|(index, parameter)| match wrong {
                Some((at, value)) if at == index => value,
                _ => valid(&self.live, &mut self.room, index, *parameter),
            })
            .collect();
        // SAFETY: the arguments are valid, except for one that the driver checks.
        let result = unsafe { call.call(&self.program.api, &arguments) };
        Outcome { symbol: call.symbol, wrong, result }
    }
}

/// Calls every entry point with valid arguments except for one, for each parameter and each wrong argument.
pub fn one_wrong_argument() -> Vec<Outcome> {
    let (mut stage, mut outcomes) = (Stage::new(), Vec::new());
    for call in CALLS {
        for (index, parameter) in call.parameters.iter().enumerate() {
            for value in wrong(&stage.ended, *parameter) {
                let outcome = stage.call(call, Some((index, value)));
                if outcome.result.is_success() {
                    stage = Stage::new(); // the call may have ended an object
                }
                outcomes.push(outcome);
            }
        }
    }
    outcomes
}

/// Calls every entry point with valid arguments, in a thread without a current context: once with a stream, and once with the
/// default stream of the missing context.
pub fn without_context() -> Vec<Outcome> {
    let (mut stage, mut outcomes) = (Stage::new(), Vec::new());
    for call in CALLS {
        let stream = call.parameters.iter().position(|parameter| parameter.ty == "CUstream");
        for default in std::iter::once(None).chain(stream.map(|index| Some((index, 0)))) {
            ok!(stage.program, cuCtxSetCurrent(CUcontext::NULL));
            let outcome = stage.call(call, default);
            if outcome.result.is_success() {
                stage = Stage::new();
            }
            outcomes.push(outcome);
        }
    }
    outcomes
}
