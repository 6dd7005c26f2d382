//! Accesses that share the shape of their addresses. [`Run::over`] executes each kernel with records, where every address is
//! resolved, and without them, where shapes are shared; the results are equal.

use super::*;

/// The start of a kernel whose registers `%a` and `%b` point to the thread's element of two buffers of 32-bit values.
const START: &str = ".visible .entry k(.param .u64 p, .param .u64 q) {\n\
     .reg .pred %p; .reg .b32 %t, %x, %y; .reg .b64 %a, %b, %i, %s; .reg .f32 %f<9>; .shared .align 4 .b8 tile[512];\n\
     ld.param.u64 %a, [p]; ld.param.u64 %b, [q]; mov.u32 %t, %tid.x; mul.wide.u32 %i, %t, 4;\n\
     add.u64 %a, %a, %i; add.u64 %b, %b, %i;\n";

/// Executes instructions in a warp, over the numbers from 0 and a buffer for the results.
fn executed(body: &str, words: usize) -> (Outcome, Vec<u32>) {
    let source = format!("{START}{body}\nret; }}");
    let mut numbers: Vec<u64> = (0..words as u64 / 2).map(|pair| (pair * 2) | ((pair * 2 + 1) << 32)).collect();
    let mut results = vec![0_u64; words / 2];
    let outcome = Run { source: &source, ..Run::default() }.over(&mut [&mut numbers, &mut results]);
    (outcome, results.iter().flat_map(|pair| [*pair as u32, (*pair >> 32) as u32]).collect())
}

#[test]
fn offsets_of_one_register_are_added() {
    let (outcome, results) = executed(
        "ld.global.u32 %x, [%a]; ld.global.u32 %y, [%a+64]; add.u32 %x, %x, %y;\n\
         ld.global.u32 %y, [%a+128]; add.u32 %x, %x, %y; st.global.u32 [%b], %x; st.global.u32 [%b+128], %y;",
        64,
    );
    assert_eq!(outcome.fault, None);
    assert!((0..32).all(|lane| results[lane] == 3 * lane as u32 + 48 && results[32 + lane] == lane as u32 + 32));
}

#[test]
fn a_changed_register_has_another_shape() {
    let (outcome, results) = executed(
        "ld.global.u32 %x, [%a]; add.u64 %a, %a, 4; ld.global.u32 %y, [%a]; sub.u32 %y, %y, %x;\n\
         shl.b64 %i, %i, 1; sub.u64 %a, %a, %i; add.u64 %a, %a, 252; ld.global.u32 %x, [%a]; ld.global.u32 %t, [%a-128];\n\
         sub.u32 %x, %x, %t; add.u32 %x, %x, %y; st.global.u32 [%b], %x;",
        128,
    );
    assert_eq!(outcome.fault, None);
    assert!(results[..32].iter().all(|result| *result == 33));
}

#[test]
fn an_offset_beyond_the_buffer_faults_in_the_first_thread_outside() {
    let (outcome, _) = executed(
        "ld.global.u32 %x, [%a]; ld.global.u32 %y, [%a+128]; ld.global.u32 %y, [%a+160]; st.global.u32 [%b], %y;",
        64,
    );
    let fault = outcome.fault.expect("the third load is outside of the buffer");
    assert_eq!((fault.kind, fault.thread, fault.address), (FaultKind::IllegalAddress, [24, 0, 0], BASE + 256));
}

#[test]
fn a_misaligned_offset_faults() {
    let (outcome, _) = executed("ld.global.u32 %x, [%a]; ld.global.u32 %y, [%a+2]; st.global.u32 [%b], %y;", 64);
    assert_eq!(outcome.fault.map(|fault| (fault.kind, fault.thread)), Some((FaultKind::Misaligned, [0, 0, 0])));
}

#[test]
fn lanes_that_diverge_in_a_loop_do_not_use_a_stale_shape() {
    // The number of iterations depends on the lane, so lanes wait at the end of the loop with other addresses.
    let (outcome, results) = executed(
        "mov.u32 %y, 0;\n\
         L: ld.global.u32 %x, [%a]; add.u32 %y, %y, %x; ld.global.u32 %x, [%a+4]; add.u32 %y, %y, %x; add.u64 %a, %a, 4;\n\
         sub.u32 %t, %t, 1; setp.gt.s32 %p, %t, 24; @%p bra L;\n\
         ld.global.u32 %x, [%a]; ld.global.u32 %t, [%a-4]; add.u32 %y, %y, %x; sub.u32 %y, %y, %t; st.global.u32 [%b], %y;",
        128,
    );
    assert_eq!(outcome.fault, None);
    let expected = |lane: u32| {
        let turns = lane.saturating_sub(24).max(1);
        (0..turns).map(|turn| 2 * (lane + turn) + 1).sum::<u32>() + 1
    };
    assert!((0..32).all(|lane| results[lane as usize] == expected(lane)));
}

/// While a warp polls, its accesses are not direct. The first store of `%b` ends that, and the second one shares its shape, which nothing
/// has observed. The slot has the shape of the shared memory.
#[test]
fn an_access_behind_a_poll_does_not_use_a_stale_shape() {
    let (outcome, results) = executed(
        "mov.u64 %s, tile; add.u64 %s, %s, %i; st.shared.u32 [%s], %t; ld.shared.u32 %x, [%s+64];\n\
         ld.volatile.global.u32 %y, [%a]; bra NEXT;\n\
         NEXT: st.global.u32 [%b], %t; st.global.u32 [%b+128], %t;",
        64,
    );
    assert_eq!(outcome.fault, None);
    assert!((0..32).all(|lane| results[lane] == lane as u32 && results[32 + lane] == lane as u32), "{results:?}");
}

#[test]
fn products_of_a_tile_are_sums_of_fused_products() {
    // Lanes are in two rows of 16: one factor is equal in each row, the other one is consecutive.
    let steps: String = (0..8)
        .map(|k| {
            format!(
                "ld.shared.f32 %f1, [%s+{}]; ld.shared.f32 %f2, [%i+{}]; fma.rn.f32 %f0, %f2, %f1, %f0;\n",
                4 * k,
                64 * k
            )
        })
        .collect();
    let (outcome, results) = executed(
        &format!(
            "ld.global.u32 %x, [%a]; cvt.rn.f32.u32 %f1, %x; mov.u64 %s, tile; add.u64 %s, %s, %i; st.shared.f32 [%s], %f1;\n\
             st.shared.f32 [%s+128], %f1; st.shared.f32 [%s+256], %f1; st.shared.f32 [%s+384], %f1; bar.sync 0;\n\
             shr.u32 %x, %t, 4; mul.wide.u32 %s, %x, 64; and.b32 %x, %t, 15; mul.wide.u32 %i, %x, 4; mov.f32 %f0, 0f00000000;\n\
             {steps} add.f32 %f0, %f0, %f1; cvt.rzi.u32.f32 %x, %f0; st.global.u32 [%b], %x;"
        ),
        64,
    );
    assert_eq!(outcome.fault, None);
    let expected = |lane: u32| {
        let (row, column) = (lane / 16, lane % 16);
        (0..8).map(|k| (row * 16 + k) * (16 * (k % 2) + column)).sum::<u32>() + row * 16 + 7
    };
    assert!((0..32).all(|lane| results[lane as usize] == expected(lane)));
}

#[test]
fn a_fused_product_has_the_nan_of_the_gpu() {
    let (outcome, results) = executed(
        "mov.b32 %f3, 0xffc12345; mov.u64 %s, tile; add.u64 %s, %s, %i; st.shared.f32 [%s], %f3; st.shared.f32 [%s+4], %f3;\n\
         bar.sync 0; ld.shared.f32 %f1, [%s]; ld.shared.f32 %f2, [%i]; ld.shared.f32 %f1, [%s+4]; ld.shared.f32 %f2, [%i+4];\n\
         fma.rn.f32 %f0, %f1, %f2, %f3; mov.b32 %x, %f0; st.global.u32 [%b], %x;",
        64,
    );
    assert_eq!(outcome.fault, None);
    assert!(results[..31].iter().all(|result| *result == 0x7fff_ffff));
}

#[test]
fn sums_of_a_chain_are_kept_for_later_readers() {
    // The registers of the second and the fourth sum are read after the chain, that of the first and the third are not.
    let steps: String = (0..4)
        .map(|k| {
            format!(
                "ld.shared.f32 %f7, [%s+{}]; ld.shared.f32 %f8, [%i+{}]; fma.rn.f32 %f{}, %f7, %f8, %f{k};\n",
                4 * k,
                4 * k,
                k + 1
            )
        })
        .collect();
    let (outcome, results) = executed(
        &format!(
            "ld.global.u32 %x, [%a]; cvt.rn.f32.u32 %f1, %x; mov.u64 %s, tile; add.u64 %s, %s, %i; st.shared.f32 [%s], %f1;\n\
             st.shared.f32 [%s+128], %f1; st.shared.f32 [%s+256], %f1; bar.sync 0; mov.f32 %f0, 0f00000000;\n\
             ld.shared.f32 %f7, [%s]; ld.shared.f32 %f8, [%i]; {steps} cvt.rzi.u32.f32 %x, %f4; st.global.u32 [%b], %x;\n\
             cvt.rzi.u32.f32 %x, %f2; st.global.u32 [%b+128], %x;"
        ),
        64,
    );
    assert_eq!(outcome.fault, None);
    let sum = |lane: u32, steps: u32| (0..steps).map(|k| ((lane + k) % 32).pow(2)).sum::<u32>();
    assert!((0..32).all(|lane| results[lane as usize] == sum(lane, 4)));
    assert!((0..32).all(|lane| results[32 + lane as usize] == sum(lane, 2)));
}

#[test]
fn nan_of_a_chain_is_that_of_the_gpu() {
    let (outcome, results) = executed(
        "mov.b32 %f5, 0xffc12345; mov.u64 %s, tile; add.u64 %s, %s, %i; st.shared.f32 [%s], %f5; st.shared.f32 [%s+128], %f5;\n\
         bar.sync 0; mov.f32 %f0, 0f3f800000; ld.shared.f32 %f1, [%s]; ld.shared.f32 %f2, [%i];\n\
         ld.shared.f32 %f1, [%s+4]; ld.shared.f32 %f2, [%i+4]; fma.rn.f32 %f3, %f1, %f2, %f0;\n\
         ld.shared.f32 %f1, [%s+8]; ld.shared.f32 %f2, [%i+8]; fma.rn.f32 %f4, %f1, %f2, %f3;\n\
         mov.b32 %x, %f4; st.global.u32 [%b], %x;",
        64,
    );
    assert_eq!(outcome.fault, None);
    assert!(results[..32].iter().all(|result| *result == 0x7fff_ffff));
}

#[test]
fn stores_to_one_address_leave_the_value_of_the_last_lane() {
    let (outcome, results) = executed("sub.u64 %b, %b, %i; st.global.u32 [%b], %t; st.global.u8 [%b+7], %t;", 64);
    assert_eq!(outcome.fault, None);
    assert_eq!(results[..2], [31, 31 << 24]);
}

#[test]
fn addresses_of_32_bits_wrap_with_their_offset() {
    let (outcome, results) = executed(
        "mov.u32 %y, tile; shl.b32 %t, %t, 2; add.u32 %y, %y, %t; st.shared.u32 [%y], %t; bar.sync 0;\n\
         sub.u32 %x, %y, 64; ld.shared.u32 %t, [%x+64]; st.global.u32 [%b], %t;\n\
         ld.shared.u32 %t, [%x+4294967360]; st.global.u32 [%b+128], %t;",
        64,
    );
    assert_eq!(outcome.fault, None);
    assert!((0..64).all(|index| results[index] == 4 * (index as u32 % 32)));
}
