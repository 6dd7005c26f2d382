//! The names of barriers, fences and atomic operations in the language of a kernel.

use crate::objects::launch::Launch;
use cuarray_ptx::Race;

/// The names that an advice uses.
pub(super) struct Terms {
    pub barrier: &'static str,
    pub warp_barrier: &'static str,
    pub atomic: &'static str,
    pub fence: &'static str,
}

const CUDA: Terms =
    Terms { barrier: "__syncthreads()", warp_barrier: "__syncwarp()", atomic: "atomicAdd", fence: "__threadfence()" };
const NUMBA: Terms = Terms {
    barrier: "cuda.syncthreads()",
    warp_barrier: "cuda.syncwarp()",
    atomic: "cuda.atomic.add",
    fence: "cuda.threadfence()",
};
/// Triton has one barrier, and its atomic operations fence by their parameter.
const TRITON: Terms = Terms {
    barrier: "tl.debug_barrier()",
    warp_barrier: "tl.debug_barrier()",
    atomic: "tl.atomic_add",
    fence: "sem=\"acq_rel\" in the flag's atomic operation",
};
const UNKNOWN: Terms = Terms {
    barrier: "__syncthreads, cuda.syncthreads",
    warp_barrier: "__syncwarp (cuda.syncwarp)",
    atomic: "atomicAdd, cuda.atomic.add, tl.atomic_add",
    fence: "__threadfence",
};

impl Terms {
    /// The names in the language of the launched kernel, which has the instructions of a race.
    pub(super) fn of(launch: &Launch, race: &Race) -> &'static Terms {
        let mut lines = race.accesses.iter().filter_map(|access| launch.program.location(access.pc?));
        of(launch.name(), lines.find_map(|location| launch.program.file(location.file)))
    }
}

/// Numba mangles names with a version of the kernel, `B2v1`, as no compiler of C++ does. Triton does not mangle.
fn of(kernel: &str, file: Option<&str>) -> &'static Terms {
    let end = file.and_then(|file| file.rsplit_once('.')).map(|(_, end)| end);
    match end {
        _ if kernel.starts_with("_ZN") && kernel.contains("B2v") => &NUMBA,
        Some("py") if !kernel.starts_with("_Z") => &TRITON,
        Some("cu" | "cuh" | "h" | "hpp" | "cpp" | "cc") => &CUDA,
        _ => &UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn barriers_are_those_of_the_language() {
        for (kernel, file, barrier) in [
            ("_ZN8__main__5tallyB2v1B92cw51E5ArrayIiLi1E", None, "cuda.syncthreads()"),
            ("put", Some("/home/me/put.py"), "tl.debug_barrier()"),
            ("_Z4pickPKdPii", Some("/home/me/pick.cu"), "__syncthreads()"),
            ("k", None, "__syncthreads, cuda.syncthreads"),
        ] {
            assert_eq!(of(kernel, file).barrier, barrier, "{kernel}");
        }
    }
}
