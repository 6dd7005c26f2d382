//! The names of barriers, fences and atomic operations in the language of a kernel, and the lines of its source.

use crate::objects::launch::Launch;
use cuarray_ptx::Program;
use cuarray_races::finding::Language;

/// The names that an advice uses.
pub(super) struct Terms {
    pub barrier: &'static str,
    pub warp_barrier: &'static str,
    pub atomic: &'static str,
    /// An atomic operation that stores if the old value meets a condition.
    pub swap: &'static str,
    pub fence: &'static str,
    pub block_fence: &'static str,
    /// A fence, or an access, of the scope of a block.
    pub narrow: &'static str,
    /// The remedy before the write of a flag, behind its read, and on both sides.
    pub release: &'static str,
    pub acquire: &'static str,
    pub fences: &'static str,
}

const CUDA: Terms = Terms {
    barrier: "__syncthreads()",
    warp_barrier: "__syncwarp()",
    atomic: "atomicAdd",
    swap: "atomicCAS, atomicMin, atomicMax",
    fence: "__threadfence()",
    block_fence: "__threadfence_block()",
    narrow: "__threadfence_block, atomicAdd_block, thread_scope_block",
    release: "put __threadfence() there, or write the flag by a release of scope gpu",
    acquire: "put __threadfence() there, or read the flag by an acquire of scope gpu",
    fences: "put __threadfence() before the flag's write and behind its read, or release and acquire the flag",
};
const NUMBA: Terms = Terms {
    barrier: "cuda.syncthreads()",
    warp_barrier: "cuda.syncwarp()",
    atomic: "cuda.atomic.add",
    swap: "cuda.atomic.cas, cuda.atomic.min, cuda.atomic.max",
    fence: "cuda.threadfence()",
    block_fence: "cuda.threadfence_block()",
    narrow: "cuda.threadfence_block()",
    release: "put cuda.threadfence() there",
    acquire: "put cuda.threadfence() there",
    fences: "put cuda.threadfence() before the flag's write and behind its read",
};
/// Triton has one barrier, and its atomic operations fence by their parameters.
const TRITON: Terms = Terms {
    barrier: "tl.debug_barrier()",
    warp_barrier: "tl.debug_barrier()",
    atomic: "tl.atomic_add",
    swap: "tl.atomic_cas, tl.atomic_min, tl.atomic_max",
    fence: "scope=\"gpu\"",
    block_fence: "tl.debug_barrier()",
    narrow: "scope=\"cta\"",
    release: "write the flag by an atomic operation with sem=\"release\" or \"acq_rel\"",
    acquire: "read the flag by an atomic operation with sem=\"acquire\" or \"acq_rel\"",
    fences: "write and read the flag by atomic operations with sem=\"acq_rel\"",
};
const OTHER: Terms = Terms {
    barrier: "bar.sync, __syncthreads",
    warp_barrier: "bar.warp.sync (__syncwarp)",
    atomic: "atomicAdd, atom",
    swap: "atomicCAS, atom.cas",
    fence: "fence.acq_rel.gpu (__threadfence)",
    block_fence: "fence.acq_rel.cta (__threadfence_block)",
    narrow: ".cta",
    release: "put fence.acq_rel.gpu (__threadfence) there, or write the flag by a release of scope gpu",
    acquire: "put fence.acq_rel.gpu (__threadfence) there, or read the flag by an acquire of scope gpu",
    fences: "put fence.acq_rel.gpu (__threadfence) before the flag's write and behind its read, or release and acquire the flag",
};

impl Terms {
    /// The names in a language.
    pub(super) fn of(language: Language) -> &'static Terms {
        match language {
            Language::Cuda => &CUDA,
            Language::Numba => &NUMBA,
            Language::Triton => &TRITON,
            Language::Other => &OTHER,
        }
    }
}

/// The language of a launched kernel, at one of its instructions.
pub(super) fn language(launch: &Launch, pc: Option<u32>) -> Language {
    let location = pc.and_then(|pc| launch.program.location(pc));
    let file = location.and_then(|location| launch.program.file(location.file));
    of(launch.name(), file, launch.program.is_of_nvvm())
}

/// Numba mangles names with a version of the kernel, `B2v1`, as no compiler of C++ does. Triton does not mangle. Other modules of
/// NVIDIA's compiler are from nvcc or NVRTC.
fn of(kernel: &str, file: Option<&str>, is_of_nvvm: bool) -> Language {
    let end = file.and_then(|file| file.rsplit_once('.')).map(|(_, end)| end);
    match end {
        _ if kernel.starts_with("_ZN") && kernel.contains("B2v") => Language::Numba,
        Some("py") if !kernel.starts_with("_Z") => Language::Triton,
        Some("cu" | "cuh" | "h" | "hpp" | "cpp" | "cc") => Language::Cuda,
        _ if is_of_nvvm => Language::Cuda,
        _ => Language::Other,
    }
}

/// The line of an instruction.
pub(super) fn source_of(program: &Program, pc: u32) -> String {
    let location = program.location(pc).unwrap_or_default();
    // The call of an inlined function is more telling than the line of its header.
    let lines = [location.inlined_at, (location.file, location.source_line)];
    let named = lines.into_iter().filter(|(_, line)| *line > 0);
    let mut named = named.filter_map(|(file, line)| Some(format!("{}:{line}", program.file(file)?)));
    named.next().unwrap_or_else(|| format!("PTX line {}", location.line))
}

#[cfg(test)]
mod tests {
    use super::{Language, Terms, of};

    #[test]
    fn names_are_those_of_the_language() {
        for (kernel, file, is_of_nvvm, language) in [
            ("_ZN8__main__5tallyB2v1B92cw51E5ArrayIiLi1E", None, true, Language::Numba),
            ("put", Some("/home/me/put.py"), false, Language::Triton),
            ("_Z4pickPKdPii", Some("/home/me/pick.cu"), false, Language::Cuda),
            ("k", None, true, Language::Cuda),
            ("k", None, false, Language::Other),
        ] {
            assert_eq!(of(kernel, file, is_of_nvvm), language, "{kernel}");
        }
        let foreign = |terms: &Terms, words: &[&str]| {
            let Terms { barrier, warp_barrier, atomic, swap, fence, block_fence, narrow, release, acquire, fences } =
                terms;
            let all = [barrier, warp_barrier, atomic, swap, fence, block_fence, narrow, release, acquire, fences];
            words.iter().any(|word| all.iter().any(|text| text.contains(word)))
        };
        assert!(!foreign(Terms::of(Language::Numba), &["__", "tl.", "sem="]));
        assert!(!foreign(Terms::of(Language::Triton), &["__", "cuda.", "fence"]));
        assert!(!foreign(Terms::of(Language::Cuda), &["cuda.", "tl.", "sem="]));
    }
}
