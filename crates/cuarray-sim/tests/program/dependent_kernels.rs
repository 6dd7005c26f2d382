//! Kernels of dependent launches, in streams and in graphs.

use std::ffi::CStr;

/// The kernels take two arrays of 64 words. `write` writes the first one and `read` copies it to the second one; `late`
/// waits before it reads. `some` waits in the first 32 threads, `barrier` in one thread before a barrier. `prologue`
/// reads the second array before it waits. `idle` and `waits` access nothing.
pub const KERNELS: &CStr = c"
.version 8.0
.target sm_90
.address_size 64
.visible .entry write(.param .u64 one, .param .u64 two) {
    .reg .b32 %t; .reg .b64 %a, %o;
    ld.param.u64 %a, [one]; mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4; add.u64 %a, %a, %o;
    griddepcontrol.launch_dependents; st.global.u32 [%a], %t; ret; }
.visible .entry read(.param .u64 one, .param .u64 two) {
    .reg .b32 %t, %v; .reg .b64 %a, %b, %o;
    ld.param.u64 %a, [one]; ld.param.u64 %b, [two]; mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4;
    add.u64 %a, %a, %o; add.u64 %b, %b, %o; ld.global.u32 %v, [%a]; st.global.u32 [%b], %v; ret; }
.visible .entry late(.param .u64 one, .param .u64 two) {
    .reg .b32 %t, %v; .reg .b64 %a, %b, %o;
    ld.param.u64 %a, [one]; ld.param.u64 %b, [two]; mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4;
    add.u64 %a, %a, %o; add.u64 %b, %b, %o; griddepcontrol.wait; ld.global.u32 %v, [%a]; st.global.u32 [%b], %v; ret; }
.visible .entry some(.param .u64 one, .param .u64 two) {
    .reg .b32 %t, %v; .reg .b64 %a, %b, %o; .reg .pred %p;
    ld.param.u64 %a, [one]; ld.param.u64 %b, [two]; mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4;
    add.u64 %a, %a, %o; add.u64 %b, %b, %o; setp.lt.u32 %p, %t, 32; @%p griddepcontrol.wait;
    ld.global.u32 %v, [%a]; st.global.u32 [%b], %v; ret; }
.visible .entry barrier(.param .u64 one, .param .u64 two) {
    .reg .b32 %t, %v; .reg .b64 %a, %b, %o; .reg .pred %p;
    ld.param.u64 %a, [one]; ld.param.u64 %b, [two]; mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4;
    add.u64 %a, %a, %o; add.u64 %b, %b, %o; setp.eq.u32 %p, %t, 5; @%p griddepcontrol.wait; bar.sync 0;
    ld.global.u32 %v, [%a]; st.global.u32 [%b], %v; ret; }
.visible .entry prologue(.param .u64 one, .param .u64 two) {
    .reg .b32 %t, %v, %w; .reg .b64 %a, %b, %o;
    ld.param.u64 %a, [one]; ld.param.u64 %b, [two]; mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4;
    add.u64 %a, %a, %o; add.u64 %b, %b, %o; ld.global.u32 %v, [%b]; griddepcontrol.wait;
    ld.global.u32 %w, [%a]; add.u32 %v, %v, %w; st.global.u32 [%b], %v; ret; }
.visible .entry idle(.param .u64 one, .param .u64 two) { ret; }
.visible .entry waits(.param .u64 one, .param .u64 two) { griddepcontrol.wait; ret; }
";
