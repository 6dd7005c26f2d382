//! Arguments behind arrays of pointers in device memory, which are read in stream order: a kernel copies them.

use crate::driver::{Result, call};
use crate::region::{Part, Pointers};
use crate::staging::unless_captured;
use cuarray_abi::{CUfunction, CUmodule, CUstream};
use std::ffi::{CString, c_uint, c_void};
use std::ptr;
use std::sync::{Mutex, PoisonError};

const BLOCK: u64 = 128;

/// The kernel that copies words of `size` bytes between the targets of pointers and staging memory.
fn ptx(size: usize) -> CString {
    // A byte is held in a register of 16 bits.
    let (bits, register) = (size * 8, (size * 8).max(16));
    let text = format!(
        ".version 7.0
.target sm_50
.address_size 64
.visible .entry copy(.param .u64 array, .param .u64 staging, .param .u64 words, .param .u64 height, .param .u64 pitch,
    .param .u64 total, .param .u64 element, .param .u32 part, .param .u32 store)
{{
    .reg .pred %p<10>;
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
    ld.param.u64 %rd5, [height];
    ld.param.u64 %rd6, [pitch];
    div.u64 %rd7, %rd1, %rd4;
    mul.lo.u64 %rd8, %rd7, %rd4;
    sub.u64 %rd9, %rd1, %rd8;
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
    ld.param.u64 %rd15, [array];
    mad.lo.u64 %rd16, %rd10, 8, %rd15;
    ld.u64 %rd17, [%rd16];
    mad.lo.u64 %rd18, %rd12, %rd6, %rd17;
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

/// The kernels of a context, by the size of their words: 1, 2, 4 and 8 bytes.
#[derive(Debug, Default)]
pub(crate) struct Kernels {
    loaded: Mutex<[Option<(CUmodule, CUfunction)>; 4]>,
}

impl Kernels {
    fn function(&self, size: usize) -> Result<CUfunction> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let place = &mut loaded[size.trailing_zeros() as usize % 4];
        if let Some((_, function)) = place {
            return Ok(*function);
        }
        let (mut module, mut function) = (CUmodule::default(), CUfunction::default());
        let text = ptx(size);
        unless_captured(|| {
            call!(cuModuleLoadData(&mut module, text.as_ptr().cast()))?;
            call!(cuModuleGetFunction(&mut function, module, c"copy".as_ptr()))
        })?;
        *place = Some((module, function));
        Ok(function)
    }

    /// Unloads the kernels.
    pub(crate) fn free(&self) {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        for (module, _) in loaded.iter_mut().filter_map(Option::take) {
            // A context that is gone has unloaded them.
            let _ = unload(module);
        }
    }

    /// Copies between the targets of pointers and staging memory, in a stream.
    pub(crate) fn copy(&self, of: &Pointers, staging: usize, stream: CUstream, to_host: bool) -> Result {
        let word = of.element.min(8);
        let words = of.width / word;
        let total = words * of.height * of.count;
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
        let function = self.function(word)?;
        let none = ptr::null_mut();
        let size = BLOCK as c_uint;
        call!(cuLaunchKernel(function, blocks, 1, 1, size, 1, 1, 0, stream, parameters.as_mut_ptr(), none))
    }
}

fn unload(module: CUmodule) -> Result {
    call!(cuModuleUnload(module))
}
