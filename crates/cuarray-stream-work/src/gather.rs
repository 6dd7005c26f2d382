//! Arguments that are found by pointers, indices or counts in device memory, which are read in stream order: a kernel copies them.

use crate::driver::{Result, call};
use crate::region::{Counted, Found, Indexed, Integers, Part, Pointers};
use crate::staging::unless_captured;
use cuarray_abi::{CUfunction, CUmodule, CUstream};
use std::collections::HashMap;
use std::ffi::{CString, c_uint, c_void};
use std::ptr;
use std::sync::{Mutex, PoisonError};

const BLOCK: u64 = 128;

/// How a kernel finds its rows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Finds {
    Pointers,
    Indices(Integers),
    Count(Integers),
}

/// Loads a number of an array.
fn load(integers: Integers) -> &'static str {
    match integers {
        Integers::U16 => "ld.u16 %h, [%rd16];\n    cvt.u64.u16 %rd17, %h;",
        Integers::I32 => "ld.s32 %r6, [%rd16];\n    cvt.s64.s32 %rd17, %r6;",
        Integers::I64 => "ld.s64 %rd17, [%rd16];",
    }
}

/// The instructions that set %rd18 to the address of the row of a thread.
fn row_address(finds: Finds) -> String {
    match finds {
        Finds::Pointers => "ld.param.u64 %rd5, [height];
    div.u64 %rd10, %rd7, %rd5;
    mul.lo.u64 %rd11, %rd10, %rd5;
    sub.u64 %rd12, %rd7, %rd11;
    ld.param.u32 %r4, [part];
    ld.param.u64 %rd13, [element];
    div.u64 %rd14, %rd9, %rd13;
    setp.eq.u32 %p2, %r4, 1;
    setp.lt.and.u64 %p3, %rd14, %rd12, %p2;
    @%p3 bra DONE;
    setp.eq.u32 %p2, %r4, 2;
    setp.gt.and.u64 %p3, %rd14, %rd12, %p2;
    @%p3 bra DONE;
    setp.eq.u32 %p2, %r4, 3;
    setp.le.and.u64 %p3, %rd14, %rd12, %p2;
    @%p3 bra DONE;
    setp.eq.u32 %p2, %r4, 4;
    setp.ge.and.u64 %p3, %rd14, %rd12, %p2;
    @%p3 bra DONE;
    mad.lo.u64 %rd16, %rd10, 8, %rd15;
    ld.u64 %rd17, [%rd16];
    mad.lo.u64 %rd18, %rd12, %rd6, %rd17;"
            .to_owned(),
        Finds::Indices(integers) => format!(
            "mad.lo.u64 %rd16, %rd7, {}, %rd15;
    {}
    ld.param.u64 %rd11, [less];
    sub.u64 %rd17, %rd17, %rd11;
    ld.param.u64 %rd12, [start];
    mad.lo.u64 %rd18, %rd17, %rd6, %rd12;",
            integers.size(),
            load(integers)
        ),
        Finds::Count(integers) => format!(
            "mov.u64 %rd16, %rd15;
    {}
    ld.param.u64 %rd11, [less];
    sub.u64 %rd17, %rd17, %rd11;
    setp.ge.s64 %p2, %rd7, %rd17;
    @%p2 bra DONE;
    ld.param.u64 %rd12, [start];
    mad.lo.u64 %rd18, %rd7, %rd6, %rd12;",
            load(integers)
        ),
    }
}

/// The kernel that copies words of `size` bytes between rows in device memory and staging memory.
fn ptx(finds: Finds, size: usize) -> CString {
    // A byte is held in a register of 16 bits.
    let (bits, register) = (size * 8, (size * 8).max(16));
    let row_address = row_address(finds);
    let text = format!(
        ".version 7.0
.target sm_50
.address_size 64
.visible .entry copy(.param .u64 array, .param .u64 staging, .param .u64 words, .param .u64 height, .param .u64 pitch,
    .param .u64 total, .param .u64 element, .param .u64 start, .param .u64 less, .param .u32 part, .param .u32 store)
{{
    .reg .pred %p<10>;
    .reg .b16 %h;
    .reg .b32 %r<8>;
    .reg .b64 %rd<32>;
    .reg .b{register} %value;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mul.wide.u32 %rd1, %r1, %r2;
    cvt.u64.u32 %rd2, %r3;
    add.u64 %rd1, %rd1, %rd2;
    ld.param.u64 %rd3, [total];
    setp.ge.u64 %p1, %rd1, %rd3;
    @%p1 bra DONE;
    ld.param.u64 %rd4, [words];
    ld.param.u64 %rd6, [pitch];
    ld.param.u64 %rd15, [array];
    div.u64 %rd7, %rd1, %rd4;
    mul.lo.u64 %rd8, %rd7, %rd4;
    sub.u64 %rd9, %rd1, %rd8;
    {row_address}
    mad.lo.u64 %rd19, %rd9, {size}, %rd18;
    ld.param.u64 %rd20, [staging];
    mad.lo.u64 %rd21, %rd1, {size}, %rd20;
    ld.param.u32 %r5, [store];
    setp.ne.u32 %p5, %r5, 0;
    @%p5 bra STORE;
    ld.b{bits} %value, [%rd19];
    st.b{bits} [%rd21], %value;
    bra DONE;
STORE:
    ld.b{bits} %value, [%rd21];
    st.b{bits} [%rd19], %value;
DONE:
    ret;
}}
"
    );
    CString::new(text).unwrap_or_default()
}

/// Rows as a kernel gets them.
struct Search {
    finds: Finds,
    array: u64,
    width: usize,
    height: usize,
    rows: usize,
    pitch: usize,
    element: usize,
    start: u64,
    less: u64,
    part: Part,
}

impl From<&Found> for Search {
    fn from(found: &Found) -> Search {
        match *found {
            Found::Pointers(Pointers { array, count, width, height, pitch, element, part }) => {
                let rows = height * count;
                Search { finds: Finds::Pointers, array, width, height, rows, pitch, element, start: 0, less: 0, part }
            }
            Found::Indexed(Indexed { array, integers, first, rows, element }) => Search {
                finds: Finds::Indices(integers),
                array,
                width: rows.width,
                height: rows.height,
                rows: rows.height,
                pitch: rows.pitch,
                element,
                start: rows.address,
                less: first,
                part: Part::All,
            },
            Found::Counted(Counted { count, integers, less, address, element, at_most }) => Search {
                finds: Finds::Count(integers),
                array: count,
                width: element,
                height: at_most,
                rows: at_most,
                pitch: element,
                element,
                start: address,
                less,
                part: Part::All,
            },
        }
    }
}

/// The kernels of a context, by how they find rows and by the size of their words: 1, 2, 4 and 8 bytes.
#[derive(Debug, Default)]
pub(crate) struct Kernels {
    loaded: Mutex<HashMap<(Finds, usize), (CUmodule, CUfunction)>>,
}

impl Kernels {
    fn function(&self, finds: Finds, size: usize) -> Result<CUfunction> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, function)) = loaded.get(&(finds, size)) {
            return Ok(*function);
        }
        let (mut module, mut function) = (CUmodule::default(), CUfunction::default());
        let text = ptx(finds, size);
        unless_captured(|| {
            call!(cuModuleLoadData(&mut module, text.as_ptr().cast()))?;
            call!(cuModuleGetFunction(&mut function, module, c"copy".as_ptr()))
        })?;
        loaded.insert((finds, size), (module, function));
        Ok(function)
    }

    /// Unloads the kernels.
    pub(crate) fn free(&self) {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, (module, _)) in loaded.drain() {
            // A context that is gone has unloaded them.
            let _ = unload(module);
        }
    }

    /// Copies between rows in device memory and staging memory, in a stream.
    pub(crate) fn copy(&self, found: &Found, staging: usize, stream: CUstream, to_host: bool) -> Result {
        let of = Search::from(found);
        let word = of.element.min(8);
        let words = of.width / word;
        let total = words * of.rows;
        if total == 0 {
            return Ok(());
        }
        let blocks = c_uint::try_from((total as u64).div_ceil(BLOCK)).map_err(|_| crate::driver::Error::Size)?;
        let mut longs = [
            of.array,
            staging as u64,
            words as u64,
            of.height as u64,
            of.pitch as u64,
            total as u64,
            (of.element / word) as u64,
            of.start,
            of.less,
        ];
        let part = match of.part {
            Part::All => 0,
            Part::Lower => 1,
            Part::Upper => 2,
            Part::StrictlyLower => 3,
            Part::StrictlyUpper => 4,
        };
        let mut shorts = [part, c_uint::from(!to_host)];
        let mut parameters: Vec<*mut c_void> = longs.iter_mut().map(|long| ptr::from_mut(long).cast()).collect();
        parameters.extend(shorts.iter_mut().map(|short| ptr::from_mut(short).cast::<c_void>()));
        let function = self.function(of.finds, word)?;
        let none = ptr::null_mut();
        let size = BLOCK as c_uint;
        call!(cuLaunchKernel(function, blocks, 1, 1, size, 1, 1, 0, stream, parameters.as_mut_ptr(), none))
    }
}

fn unload(module: CUmodule) -> Result {
    call!(cuModuleUnload(module))
}
