//! Runs each fuzz target over its corpus and over bytes from a fixed generator. So old findings of fuzz runs are tested with
//! any compiler, in seconds.

use std::path::Path;

/// Pseudo-random bytes, equal on every run (xorshift64*).
struct Bytes(u64);

impl Bytes {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| (self.next() >> 32) as u8).collect()
    }
}

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let files = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let corpus: Vec<_> = files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect();
    assert!(!corpus.is_empty(), "{} is empty", folder.display());
    corpus
}

/// Runs `check` over the corpus, over each of its inputs with one byte changed, and over random bytes.
fn run(target: &str, random: usize, check: impl Fn(&[u8])) {
    let mut bytes = Bytes(0x9e37_79b9_7f4a_7c15);
    for input in corpus(target) {
        check(&input);
        for _ in 0..8 {
            let mut changed = input.clone();
            if let Some(count) = std::num::NonZeroU64::new(changed.len() as u64) {
                let at = (bytes.next() % count) as usize;
                changed[at] = (bytes.next() >> 32) as u8;
            }
            check(&changed);
        }
    }
    for index in 0..random {
        check(&bytes.take(index % 160));
    }
}

#[test]
fn any_type_string_is_refused_or_read_exactly() {
    run("typestr", 20_000, cuarray_fuzz::typestr::check);
}

#[test]
fn any_fields_are_refused_or_add_up_to_the_item_size() {
    run("descr", 4_000, cuarray_fuzz::descr::check);
}

#[test]
fn any_layout_is_refused_or_matches_its_elements() {
    run("layout", 40_000, cuarray_fuzz::layout::check);
}

#[test]
fn any_module_is_refused_or_its_kernels_end() {
    run("ptx", 200, cuarray_fuzz::ptx::check);
}

/// A kernel takes more bytes than the other inputs.
#[test]
fn any_kernel_leaves_the_same_in_generated_code_and_in_the_interpreter() {
    let mut bytes = Bytes(0x0123_4567_89ab_cdef);
    (0..300).for_each(|_| cuarray_fuzz::generated::check(&bytes.take(600)));
    run("generated", 0, cuarray_fuzz::generated::check);
}

#[test]
fn any_link_ends_with_an_image_or_an_error_in_the_log() {
    run("nvjitlink", 2_000, cuarray_fuzz::nvjitlink::check);
}

/// One test, because both targets share one interpreter, whose memory is measured. No input breaks a property, and repeated
/// inputs take no further memory.
#[cfg(feature = "python")]
#[test]
fn any_dictionary_or_structure_is_refused_or_read_without_a_leak() {
    use cuarray_fuzz::interface_dict::check;
    use pyo3::prelude::*;

    run("structures", 20_000, cuarray_fuzz::structures::check);
    run("interface_dict", 20_000, check);

    let blocks = || -> i64 {
        Python::attach(|py| {
            py.import("gc").unwrap().call_method0("collect").unwrap();
            py.import("sys").unwrap().call_method0("getallocatedblocks").unwrap().extract().unwrap()
        })
    };
    let corpus = corpus("interface_dict");
    // The interpreter's caches fill up and then stop growing; a leak of one input takes more blocks in every ten rounds.
    let grown = || {
        let before = blocks();
        (0..10).for_each(|_| corpus.iter().for_each(|input| check(input)));
        blocks() - before
    };
    assert!((0..40).any(|_| grown() < 10), "every ten rounds take more memory");
}
