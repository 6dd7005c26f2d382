//! Accesses of two grids in two streams to the same bytes: plain ones, and strong ones of each scope.

use super::small_kernels::*;
use super::*;

/// Two launches of one thread each.
fn threads(p: &Program, one: &str, other: &str) {
    two(p, &one_thread(one), &one_thread(other));
}

pairs! {
    two_plain_stores: DataRace LAUNCHES, |p, right| {
        threads(p, "st.global.u32 [%out], 1;", if right { "st.global.u32 [%out + 4], 1;" } else { "st.global.u32 [%out], 2;" });
    }
    a_strong_and_a_plain_store: DataRace LAUNCHES, |p, right| {
        let other = if right { "st.relaxed.gpu.global.u32 [%out], 2;" } else { "st.global.u32 [%out], 2;" };
        threads(p, "st.relaxed.gpu.global.u32 [%out], 1;", other);
    }
    a_plain_and_a_strong_store: DataRace LAUNCHES, |p, right| {
        let one = if right { "st.relaxed.gpu.global.u32 [%out], 2;" } else { "st.global.u32 [%out], 2;" };
        threads(p, one, "st.relaxed.gpu.global.u32 [%out], 1;");
    }
    the_scope_of_a_block_in_the_later_launch: DataRace LAUNCHES, |p, right| {
        let other = if right { "ld.relaxed.gpu.global.u32 %v, [%out];" } else { "ld.relaxed.cta.global.u32 %v, [%out];" };
        threads(p, "st.relaxed.gpu.global.u32 [%out], 1;", other);
    }
    the_scope_of_a_block_in_the_earlier_launch: DataRace LAUNCHES, |p, right| {
        let one = if right { "st.release.gpu.global.u32 [%out], 1;" } else { "st.release.cta.global.u32 [%out], 1;" };
        threads(p, one, "ld.acquire.gpu.global.u32 %v, [%out];");
    }
    the_scope_of_a_cluster: DataRace LAUNCHES, |p, right| {
        let one = if right { "st.relaxed.sys.global.u32 [%out], 1;" } else { "st.relaxed.cluster.global.u32 [%out], 1;" };
        threads(p, one, "ld.relaxed.gpu.global.u32 %v, [%out];");
    }
    a_volatile_access_and_one_of_the_system: DataRace LAUNCHES, |p, right| {
        let other = if right { "ld.relaxed.sys.global.u32 %v, [%out];" } else { "ld.global.u32 %v, [%out];" };
        threads(p, "st.volatile.global.u32 [%out], 1;", other);
    }
    a_reduction_and_a_volatile_read: DataRace LAUNCHES, |p, right| {
        let one = if right { "red.global.add.u32 [%out], 1;" } else { "red.relaxed.cta.global.add.u32 [%out], 1;" };
        threads(p, one, "ld.volatile.global.u32 %v, [%out];");
    }
}
