//! The rows of a warp's access: adjacent accesses of lanes in one page of the shadow memory.

use super::pattern::{Chains, Run};
use super::watch::{Digests, NOTHING};
use crate::races::cell::{Kind, Now};
use crate::races::deferred::Scattered;
use crate::races::order::Order;
use crate::races::page::{PAGE, Shadow};
use crate::races::span::{Row, bits};

/// Calls `f` with the number of each page that lanes access, and with their accesses there. `place` returns the address of a
/// lane. Lanes that write different values to one address are apart.
#[inline(always)]
pub(super) fn each_row(
    (chains, mask): (Chains, u32),
    size: u32,
    (kind, digests): (Kind, Digests<'_>),
    place: impl Fn(u32) -> u64,
    mut f: impl FnMut(u64, &Row),
) {
    let mut rest = mask;
    while rest != 0 {
        let Run { mut lane, step, count } = chains.run_with_gaps(rest);
        let mut lanes = rest & (u32::MAX >> (32 - count) << lane);
        if kind == Kind::Write
            && step == 0
            && bits(lanes).any(|other| digests[other as usize] != digests[lane as usize])
        {
            lanes = 1 << lane;
        }
        rest &= !lanes;
        let mut address = place(lane);
        while lanes != 0 {
            let offset = (address % PAGE) as u32;
            let count = if step == 0 { 32 } else { (PAGE as u32 - offset).div_ceil(step) };
            let here = if count < 32 - lane { lanes & ((1 << (lane + count)) - 1) } else { lanes };
            if here != 0 {
                f(address / PAGE, &Row { offset, size, step, lane, lanes: here });
            }
            lanes &= !here;
            lane += count;
            address += u64::from(count * step);
        }
    }
}

/// Records an access to shared memory that was deferred. It races with no recorded one.
pub(super) fn record_late(access: &Scattered, now: &Now, order: &Order, shadow: &mut Shadow, shared_bytes: u64) {
    let Scattered { offsets, lanes, size, chains } = *access;
    let chains = chains.map_or_else(
        || Chains::compared(&offsets.map(u64::from), size),
        |[same, next, stride]| Chains { same, next, stride },
    );
    let place = |lane: u32| u64::from(offsets[lane as usize & 31]);
    each_row((chains, lanes), size, (now.kind, NOTHING), place, |number, row| {
        shadow.shared_page(number, size, shared_bytes).touch(row, now, order, NOTHING, &mut |_, _| false);
    });
}
