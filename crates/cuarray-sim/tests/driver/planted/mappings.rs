//! Two mappings of one physical allocation, within a launch and between launches.

use super::small_kernels::*;
use super::*;

const UNIT: usize = 2 << 20;

/// The addresses of one physical allocation that is mapped twice, in their own reservations, or side by side in one.
fn twice(p: &Program, side_by_side: bool) -> [CUdeviceptr; 2] {
    let location = CUmemLocation { kind: CU_MEM_LOCATION_TYPE_DEVICE, id: 0 };
    // SAFETY: all bytes zero are a value of the structure.
    let mut props: CUmemAllocationProp = unsafe { std::mem::zeroed() };
    (props.kind, props.location) = (CU_MEM_ALLOCATION_TYPE_PINNED, location);
    let mut handle = CUmemGenericAllocationHandle::default();
    ok!(p, cuMemCreate(&mut handle, UNIT, &props, 0));
    let reserve = |size| {
        let mut address = 0;
        ok!(p, cuMemAddressReserve(&mut address, size, 0, 0, 0));
        address
    };
    let one = reserve(2 * UNIT);
    let other = if side_by_side { one + UNIT as u64 } else { reserve(UNIT) };
    for address in [one, other] {
        let access = CUmemAccessDesc { location, flags: CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
        ok!(p, cuMemMap(address, UNIT, 0, handle, 0));
        ok!(p, cuMemSetAccess(address, UNIT, &access, 1));
    }
    ok!(p, cuMemsetD8_v2(one, 0, UNIT));
    ok!(p, cuCtxSynchronize());
    [one, other]
}

/// Runs one kernel over both mappings.
fn one_launch(p: &Program, side_by_side: bool, body: &str) {
    let [one, other] = twice(p, side_by_side);
    kernel(p, body).run(p, one, other, p.stream(NON_BLOCKING));
    ok!(p, cuCtxSynchronize());
}

const LAUNCH: [&str; 2] = ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"];

/// The first block writes one word through each thread; the second block reads the word at a distance through the other mapping.
fn between_blocks(distance: u32) -> String {
    format!(
        "
        mul.wide.u32 %a, %t, 4; mov.u32 %w, %ctaid.x; setp.eq.u32 %p, %w, 0;
        add.u64 %c, %out, %a; @%p st.global.u32 [%c], %t;
        add.u64 %d, %data, %a; @!%p ld.global.u32 %v, [%d + {distance}];"
    )
}

pairs! {
    two_blocks_through_two_mappings: KernelRace LAUNCH, |p, right| {
        one_launch(p, false, &between_blocks(if right { 128 } else { 0 }));
    }
    two_blocks_through_mappings_side_by_side: KernelRace LAUNCH, |p, right| {
        one_launch(p, true, &between_blocks(if right { 128 } else { 0 }));
    }
    two_threads_of_a_block_through_two_mappings: KernelRace LAUNCH, |p, right| {
        // Each thread of the first block reads what its neighbour has written.
        let barrier = if right { "bar.sync 0;" } else { "" };
        one_launch(p, false, &format!("
            mov.u32 %w, %ctaid.x; setp.ne.u32 %p, %w, 0; @%p bra END;
            mul.wide.u32 %a, %t, 4; add.u64 %c, %out, %a; st.global.u32 [%c], %t; {barrier}
            xor.b32 %v, %t, 1; mul.wide.u32 %a, %v, 4; add.u64 %d, %data, %a; ld.global.u32 %v, [%d];
        END:"));
    }
    an_atomic_and_a_plain_access_through_two_mappings: KernelRace LAUNCH, |p, right| {
        let plain = if right { "red.global.add.u32 [%data], 1;" } else { "ld.global.u32 %v, [%data];" };
        one_launch(p, false, &format!("
            mov.u32 %w, %ctaid.x; setp.eq.u32 %p, %w, 0; @%p bra FIRST; {plain} bra END;
        FIRST: red.global.add.u32 [%out], 1;
        END:"));
    }
    a_flag_in_one_mapping_and_data_in_both: KernelRace LAUNCH, |p, right| {
        let fence = if right { "fence.acq_rel.gpu;" } else { "" };
        one_launch(p, false, &format!("
            setp.ne.u32 %p, %t, 0; @%p bra END; mov.u32 %w, %ctaid.x; setp.eq.u32 %p, %w, 0; @%p bra FIRST;
        WAIT: ld.relaxed.gpu.global.u32 %v, [%data]; setp.eq.u32 %p, %v, 0; @%p bra WAIT; {fence}
            ld.global.u32 %v, [%data + 64]; bra END;
        FIRST: st.global.u32 [%out + 64], 7; {fence} st.relaxed.gpu.global.u32 [%out], 1;
        END:"));
    }
    two_launches_through_two_mappings: DataRace LAUNCHES, |p, right| {
        let [one, other] = twice(p, false);
        let streams = [0, 1].map(|_| p.stream(NON_BLOCKING));
        kernel(p, &one_thread("st.global.u32 [%out], 1;")).run(p, one, other, streams[0]);
        if right {
            p.order(streams[0], streams[1]);
        }
        kernel(p, &one_thread("ld.global.u32 %v, [%data];")).run(p, one, other, streams[1]);
        ok!(p, cuCtxSynchronize());
    }
}
