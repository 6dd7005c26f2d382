//! The kernel that reduces blocks of elements, in the order of the ranks: its PTX, for each type and operation.
//!
//! Integers are computed in 64 bits and stored modulo their size. 16-bit floats are computed in 32 bits and rounded once.

use crate::types::{DataType, Reduce};
use std::ffi::{CStr, CString};

/// The name of the kernel.
pub(crate) const NAME: &CStr = c"nccl_reduce";

/// The PTX text, for compute capability 6.0 and later.
#[expect(clippy::too_many_lines, reason = "the kernel is one text")]
pub(crate) fn ptx(datatype: DataType, operation: Reduce) -> CString {
    // The suffix of arithmetic, the register class of a value, and the suffix of a load.
    let (suffix, register, access) = match datatype {
        DataType::Int8 => ("s64", "b64", "s8"),
        DataType::Uint8 => ("u64", "b64", "u8"),
        DataType::Int32 => ("s64", "b64", "s32"),
        DataType::Uint32 => ("u64", "b64", "u32"),
        DataType::Int64 => ("s64", "b64", "s64"),
        DataType::Uint64 => ("u64", "b64", "u64"),
        DataType::Float64 => ("f64", "f64", "f64"),
        DataType::Float32 => ("f32", "f32", "f32"),
        // Reductions of 8-bit floats are refused before.
        DataType::Float16 | DataType::Bfloat16 | DataType::Float8E4M3 | DataType::Float8E5M2 => ("f32", "f32", "u16"),
    };
    let is_float = suffix.starts_with('f');
    let load = |register: &str| match datatype {
        DataType::Float16 => format!("ld.global.u16 %h, [%from]; cvt.f32.f16 {register}, %h;"),
        DataType::Bfloat16 => format!(
            "ld.global.u16 %h, [%from]; cvt.u32.u16 %bits, %h; shl.b32 %bits, %bits, 16; mov.b32 {register}, %bits;"
        ),
        _ => format!("ld.global.{access} {register}, [%from];"),
    };
    let store = match datatype {
        DataType::Float16 => "cvt.rn.f16.f32 %h, %sum; st.global.u16 [%to], %h;".to_owned(),
        // Rounded to nearest even by integers, as the conversion needs compute capability 8.0.
        DataType::Bfloat16 => "mov.b32 %bits, %sum; shr.u32 %odd, %bits, 16; and.b32 %odd, %odd, 1;
    add.u32 %odd, %odd, 0x7fff; add.u32 %bits, %bits, %odd; shr.u32 %bits, %bits, 16;
    setp.nan.f32 %nan, %sum, %sum; selp.b32 %bits, 0x7fff, %bits, %nan;
    cvt.u16.u32 %h, %bits; st.global.u16 [%to], %h;"
            .to_owned(),
        _ => format!("st.global.{access} [%to], %sum;"),
    };
    let combine = match operation {
        Reduce::Sum | Reduce::Avg => {
            if is_float {
                "add.rn."
            } else {
                "add."
            }
        }
        Reduce::Prod => {
            if is_float {
                "mul.rn."
            } else {
                "mul.lo."
            }
        }
        Reduce::Max => "max.",
        Reduce::Min => "min.",
    };
    let finish = match (operation, is_float) {
        (Reduce::Avg, true) => {
            format!("cvt.rn.{suffix}.u32 %next, %ranks; div.rn.{suffix} %sum, %sum, %next;")
        }
        (Reduce::Avg, false) => format!("cvt.u64.u32 %next, %ranks; div.{suffix} %sum, %sum, %next;"),
        _ => String::new(),
    };
    let size = datatype.size();
    let name = NAME.to_string_lossy();
    let text = format!(
        ".version 6.4
.target sm_60
.address_size 64

.visible .entry {name}(.param .u64 p_to, .param .u64 p_from, .param .u64 p_stride, .param .u64 p_count, .param .u32 p_ranks)
{{
    .reg .pred %end, %nan;
    .reg .b16 %h;
    .reg .b32 %block, %threads, %thread, %bits, %odd, %ranks, %rank;
    .reg .b64 %index, %count, %to, %from, %stride;
    .reg .{register} %sum, %next;

    mov.u32 %block, %ctaid.x;
    mov.u32 %threads, %ntid.x;
    mov.u32 %thread, %tid.x;
    cvt.u64.u32 %index, %thread;
    mad.wide.u32 %index, %block, %threads, %index;
    ld.param.u64 %count, [p_count];
    setp.ge.u64 %end, %index, %count;
    @%end ret;
    mul.lo.u64 %index, %index, {size};
    ld.param.u64 %to, [p_to];
    add.u64 %to, %to, %index;
    ld.param.u64 %from, [p_from];
    add.u64 %from, %from, %index;
    ld.param.u64 %stride, [p_stride];
    ld.param.u32 %ranks, [p_ranks];
    {first}
    mov.u32 %rank, 1;
LOOP:
    setp.ge.u32 %end, %rank, %ranks;
    @%end bra DONE;
    add.u64 %from, %from, %stride;
    {next}
    {combine}{suffix} %sum, %sum, %next;
    add.u32 %rank, %rank, 1;
    bra LOOP;
DONE:
    {finish}
    {store}
    ret;
}}
",
        first = load("%sum"),
        next = load("%next"),
    );
    CString::new(text).unwrap_or_default()
}
