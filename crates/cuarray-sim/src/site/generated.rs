//! Frames that nvcc writes between a program's line and the CUDA runtime.
//!
//! A launch `fill<<<...>>>(values)` calls a function `fill` that the compiler makes for the host. It calls a stub, and the stub the
//! runtime, partly in headers of CUDA. A typed `cudaMalloc` is a template in such a header. None of them is the line that a
//! reader looks for, so they are skipped. They are known by the debug information alone, which opening takes
//! milliseconds for. Each return address is therefore looked up once in a thread, and only behind frames of the runtime.

use super::debug_info::{DebugInfo, Location};
use super::looked_up::LookedUp;
use std::cell::RefCell;

/// The headers of CUDA whose functions call the runtime for the program.
const HEADERS: [&str; 3] = ["cuda_runtime.h", "cuda_runtime_api.h", "device_functions.h"];
/// The start of a stub's name; the name of the kernel's host function follows.
const STUB: &str = "__device_stub_";
const WRAPPER: &str = "__wrapper__device_stub_";

thread_local! {
    static LOOKED_UP: RefCell<LookedUp> = RefCell::default();
}

/// Whether a return address is in generated code; `None` if it was not looked up yet.
pub(super) fn known(address: usize) -> Option<bool> {
    LOOKED_UP.try_with(|looked_up| looked_up.borrow().known(address)).ok().flatten()
}

/// The frames between the runtime and the program, innermost first.
#[derive(Default)]
pub(super) struct Frames {
    /// The name of the stub that the next function may call.
    stub: Option<String>,
}

impl Frames {
    /// Whether the frame with a return address is generated. A frame with inlined functions is if all are.
    pub(super) fn is_generated(&mut self, address: usize) -> bool {
        let looked_up = |looked_up: &RefCell<LookedUp>| {
            let looked_up = &mut *looked_up.try_borrow_mut().ok()?;
            // A generated frame is looked up each time, as it may set the name of the next stub.
            looked_up.known(address).filter(|known| !known).or_else(|| {
                looked_up.look_up(address, DebugInfo::with_lines, |_, frames| {
                    !frames.is_empty() && leading(frames, &mut self.stub) == frames.len()
                })
            })
        };
        LOOKED_UP.try_with(looked_up).ok().flatten().unwrap_or(false)
    }
}

/// Whether a function is the host function of a kernel, by the name of its stub: the mangled name of the function, and more. The
/// debug information of an inlined function may have the plain name alone.
fn is_host_function(stub: &str, function: &str) -> bool {
    if function.starts_with("_Z") {
        return external(stub).starts_with(&external(function));
    }
    let name = function.split('<').next().unwrap_or_default();
    let mangled = format!("{}{name}", name.len());
    !name.is_empty() && (stub.contains(&mangled) || stub.trim_start_matches('_').starts_with(name))
}

/// A mangled name without the mark of internal linkage: an `L` in front of the length of a name.
fn external(mangled: &str) -> String {
    let mut next = mangled.chars().skip(1).chain(['_']);
    mangled.chars().filter(|c| !(next.next().is_some_and(|after| after.is_ascii_digit()) && *c == 'L')).collect()
}

/// The number of generated functions at the start of a list, innermost first.
fn leading(frames: &[Location], stub: &mut Option<String>) -> usize {
    let is_generated = |frame: &&Location| {
        let function = frame.function.as_deref().unwrap_or_default();
        // The wrapper of a template calls its stub, and does not have the name of the host function.
        if function.contains(WRAPPER) {
            return true;
        }
        if let Some(at) = function.find(STUB) {
            *stub = Some(function[at + STUB.len()..].to_owned());
            return true;
        }
        if stub.take().is_some_and(|stub| is_host_function(&stub, function)) {
            return true;
        }
        let file = frame.source.as_ref().and_then(|source| source.file.rsplit('/').next()).unwrap_or_default();
        HEADERS.contains(&file) || file.ends_with(".cudafe1.stub.c")
    };
    frames.iter().take_while(is_generated).count()
}

/// The innermost function of the program, of the functions that are inlined at a place; `None` if none is generated.
pub(super) fn outside(frames: Vec<Location>) -> Option<Location> {
    let count = leading(&frames, &mut None);
    if count == 0 { None } else { frames.into_iter().nth(count).filter(|frame| frame.source.is_some()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuarray_races::site::SourceLine;

    fn frame(function: &str, file: &str) -> Location {
        let source = Some(SourceLine { file: file.to_owned(), line: 1 });
        Location { source, function: Some(function.to_owned()) }
    }

    #[test]
    fn functions_that_nvcc_makes_for_a_launch_are_generated() {
        let helper = frame("_ZL25__cudaLaunchKernel_helperP9CUkern_st", "/cuda/include/crt/device_functions.h");
        let stub = frame("_Z24__device_stub__Z4fillPfiPfi", "/tmp/x.cudafe1.stub.c");
        let [kernel, main] = [frame("_Z4fillPfi", "/home/me/x.cu"), frame("main", "/home/me/x.cu")];
        let inlined = [helper.clone(), stub.clone(), kernel.clone(), main.clone()];
        assert_eq!(leading(&inlined, &mut None), 3);
        assert_eq!(outside(inlined.to_vec()).and_then(|frame| frame.function).as_deref(), Some("main"));
        // Without inlining, each is a separate frame.
        let mut stub_name = None;
        let counts = [helper, stub, kernel.clone(), main].map(|frame| leading(&[frame], &mut stub_name));
        assert_eq!(counts, [1, 1, 1, 0]);
        assert_eq!(leading(&[kernel], &mut None), 0);
    }

    #[test]
    fn host_function_of_a_stub_is_known_by_its_mangled_or_plain_name() {
        for (stub, function, is) in [
            ("_Z4fillPfiPfi", "_Z4fillPfi", true),
            ("_Z4fillPfiPfi", "_ZL4fillPfi", true),
            ("_Z4fillPfiPfi", "fill", true),
            ("_ZN5inner4fillIfLi3EEEvPT_S1_RPfRf", "_ZN5innerL4fillIfLi3EEEvPT_S1_", true),
            ("_ZN5inner4fillIfLi3EEEvPT_S1_RPfRf", "fill<float, 3>", true),
            ("_fillPf", "fill", true),
            ("_Z6domainPfPf", "main", false),
            ("_Z4fillPfiPfi", "_Z4mainv", false),
            ("_Z4fillPfiPfi", "", false),
        ] {
            assert_eq!(is_host_function(stub, function), is, "{stub} {function}");
        }
    }

    #[test]
    fn functions_of_the_program_are_not_generated() {
        let main = frame("main", "/home/me/x.cu");
        assert_eq!(outside(vec![main.clone()]).map(|frame| frame.function), None);
        let typed = frame("_Z10cudaMallocIfE9cudaErrorPPT_m", "/cuda/include/cuda_runtime.h");
        assert_eq!(outside(vec![typed.clone(), main]).and_then(|frame| frame.function).as_deref(), Some("main"));
        assert!(outside(vec![typed]).is_none());
    }
}
