//! Dependent launches: kernels that may begin before the previous kernel of their stream has completed.

use super::*;
use std::ffi::CString;

const HEAD: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 data, .param .u64 out)
{
    .reg .pred %p; .reg .b32 %t, %v; .reg .b64 %data, %out, %o;
    ld.param.u64 %data, [data]; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4;
    add.u64 %data, %data, %o; add.u64 %out, %out, %o;
";

/// Writes the data, after the next kernel may begin.
const WRITE: &str = "griddepcontrol.launch_dependents; st.global.u32 [%data], %t;";
/// Copies the data.
const READ: &str = "ld.global.u32 %v, [%data]; st.global.u32 [%out], %v;";
const WAIT: &str = "griddepcontrol.wait;";
/// Lets the next kernel begin.
const TRIGGER: &str = "griddepcontrol.launch_dependents;";
const STORE: &str = "st.global.u32 [%data], 9;";

/// Launches kernels one after the other in a stream. All but the first are dependent launches.
fn chain(p: &Program, bodies: &[&str]) {
    let (data, out) = (p.written(256), p.written(256));
    let stream = p.stream(NON_BLOCKING);
    for (index, body) in bodies.iter().enumerate() {
        let text = CString::new(format!("{HEAD}{body}\n    ret;\n}}\n")).unwrap();
        let (mut module, mut function) = (CUmodule::NULL, CUfunction::NULL);
        ok!(p, cuModuleLoadData(&mut module, text.as_ptr().cast()));
        ok!(p, cuModuleGetFunction(&mut function, module, c"k".as_ptr()));
        p.launch_after(function, stream, 64, index > 0, [data, out]);
    }
    ok!(p, cuCtxSynchronize());
}

const LAUNCHES: [&str; 2] = ["cuLaunchKernelEx on stream 1", "cuLaunchKernelEx on stream 1"];

pairs! {
    a_dependent_launch_reads_without_a_wait: DataRace LAUNCHES, |p, right| {
        chain(p, &[WRITE, &[if right { WAIT } else { "" }, READ].concat()]);
    }
    a_dependent_launch_waits_after_its_read: DataRace LAUNCHES, |p, right| {
        chain(p, &[WRITE, &if right { [WAIT, READ].concat() } else { [READ, WAIT].concat() }]);
    }
    a_dependent_launch_overwrites_what_the_previous_kernel_reads: DataRace LAUNCHES, |p, right| {
        chain(p, &[READ, &[if right { WAIT } else { "" }, WRITE].concat()]);
    }
    only_one_warp_waits: DataRace LAUNCHES, |p, right| {
        let waits = "setp.lt.u32 %p, %t, 32; @%p griddepcontrol.wait;";
        chain(p, &[WRITE, &[waits, if right { "bar.sync 0;" } else { "" }, READ].concat()]);
    }
    a_wait_is_missing_although_the_trigger_follows_the_write: DataRace LAUNCHES, |p, right| {
        chain(p, &[&[STORE, TRIGGER].concat(), &[if right { WAIT } else { "" }, READ].concat()]);
    }
    a_wait_is_missing_and_nothing_triggers: DataRace LAUNCHES, |p, right| {
        chain(p, &[STORE, &[if right { WAIT } else { "" }, READ].concat()]);
    }
    a_dependent_launch_writes_before_its_wait: DataRace LAUNCHES, |p, right| {
        chain(p, &[WRITE, &if right { [WAIT, STORE].concat() } else { [STORE, WAIT].concat() }]);
    }
    a_dependent_launch_writes_after_its_own_trigger: DataRace LAUNCHES, |p, right| {
        chain(p, &[WRITE, &[TRIGGER, WAIT, STORE].concat(), &[if right { WAIT } else { "" }, READ].concat()]);
    }
    a_kernel_between_does_not_wait: DataRace LAUNCHES, |p, right| {
        chain(p, &[WRITE, if right { WAIT } else { "" }, READ]);
    }
}
