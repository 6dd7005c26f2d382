//! Patterns of the addresses of a warp's access.

/// The pattern of a warp's addresses, for the lanes that take part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pattern {
    /// All addresses are equal, and so are the pointers.
    Same,
    /// The address of each lane is that of the previous lane plus the size of the access.
    Row,
    /// Any other pattern, or addresses that were not compared.
    Other,
}

/// The lanes whose address is that of the previous lane, or directly follows it, as masks.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Chains {
    /// Lanes with the address of the previous lane.
    pub(super) same: u32,
    /// Lanes whose address is that of the previous lane plus `stride` bytes.
    pub(super) next: u32,
    /// The size of the access, or the distance of elements with gaps between them.
    pub(super) stride: u32,
}

/// The greatest distance of elements that count as a row.
const FARTHEST: u32 = 512;

/// Consecutive lanes whose addresses are `step` bytes apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Run {
    pub lane: u32,
    pub count: u32,
    /// Zero, or the stride of the chains.
    pub step: u32,
}

impl Chains {
    /// Compares the addresses of neighbouring lanes, which differ in the lower 32 bits only, for an access of a size.
    #[inline(always)]
    pub(super) fn of(addresses: &[u64; 32], size: u32) -> Chains {
        let chains = Chains::with_stride(addresses, size);
        let distance = addresses[1].wrapping_sub(addresses[0]);
        if chains.next > 1 || chains.same > 1 || !(u64::from(size)..=FARTHEST.into()).contains(&distance) {
            return chains;
        }
        Chains::with_stride(addresses, distance as u32)
    }

    /// As [`Chains::of`], where the addresses may be equal or a row.
    pub(super) fn compared(addresses: &[u64; 32], size: u32) -> Chains {
        let first = addresses[0];
        let follows =
            |step: u32| (0..).zip(addresses).all(|(lane, address)| *address == first + lane * u64::from(step));
        match (follows(0), follows(size)) {
            (true, _) => Chains { same: u32::MAX, next: 0, stride: size },
            (_, true) => Chains { same: 0, next: u32::MAX, stride: size },
            _ => Chains::of(addresses, size),
        }
    }

    /// As [`Chains::of`], for any addresses.
    #[inline(always)]
    pub(super) fn of_any(addresses: &[u64; 32], size: u32) -> Chains {
        let differ = addresses.iter().fold(0, |differ, address| differ | address ^ addresses[0]);
        if differ >> 32 == 0 { Chains::of(addresses, size) } else { Chains { same: 0, next: 0, stride: size } }
    }

    /// The chains of groups of eight lanes, whose addresses follow each other by `size` bytes where `rows` has the group's bit, and else are equal.
    /// `firsts` are the addresses of the groups' first lanes.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "only code for AVX2 uses it"))]
    #[inline(always)]
    pub(super) fn of_groups(firsts: &[u64; 4], rows: u32, size: u32) -> Chains {
        let (mut same, mut next) = (0, 0);
        for group in 0..4_usize {
            let row = rows >> group & 1 == 1;
            let within = 0xfe << (8 * group);
            if row {
                next |= within
            } else {
                same |= within
            }
            let Some(before) = group.checked_sub(1) else { continue };
            let last = firsts[before].wrapping_add(if rows >> before & 1 == 1 { 7 * u64::from(size) } else { 0 });
            same |= u32::from(firsts[group] == last) << (8 * group);
            next |= u32::from(firsts[group] == last.wrapping_add(size.into())) << (8 * group);
        }
        Chains { same, next: if next | 1 == u32::MAX { u32::MAX } else { next }, stride: size }
    }

    /// These chains, in which elements of a size with gaps between them are apart.
    #[inline(always)]
    pub(super) fn without_gaps(self, size: u32) -> Chains {
        if self.stride > size { Chains { same: self.same, next: 0, stride: size } } else { self }
    }

    #[inline(always)]
    fn with_stride(addresses: &[u64; 32], stride: u32) -> Chains {
        let (mut same, mut next) = (0, 0);
        for at in (0..32).step_by(8) {
            let (mut piece_same, mut piece_next) = (0, 0);
            for index in 0..8 {
                // The first lane has no predecessor; its bits are ignored.
                let lane = at + index;
                let address = addresses[lane] as u32;
                let step = address.wrapping_sub(addresses[lane.saturating_sub(1)] as u32);
                piece_same |= u32::from(step == 0) << index;
                piece_next |= u32::from(step == stride && address >= stride) << index;
            }
            same |= piece_same << at;
            next |= piece_next << at;
        }
        if next | 1 == u32::MAX {
            next = u32::MAX;
        }
        Chains { same, next, stride }
    }

    /// The first run of lanes of a mask that is not empty. Lanes within the run may be missing from the mask, if the addresses
    /// of all lanes follow each other.
    #[inline(always)]
    pub(crate) fn run_with_gaps(self, mask: u32) -> Run {
        if self.next == u32::MAX {
            let lane = mask.trailing_zeros() & 31;
            return Run { lane, count: 32 - mask.leading_zeros() - lane, step: self.stride };
        }
        self.run(mask).0
    }

    /// Splits the first run of lanes off a mask that is not empty; returns the run and the other lanes.
    #[inline(always)]
    pub(crate) fn run(self, mask: u32) -> (Run, u32) {
        let lane = mask.trailing_zeros() & 31;
        let here = mask >> lane;
        let row = (here & self.next >> lane | 1).trailing_ones();
        let alike = (here & self.same >> lane | 1).trailing_ones();
        let (count, step) = if row > 1 { (row, self.stride) } else { (alike, 0) };
        (Run { lane, count, step }, mask & !(u32::MAX >> (32 - count) << lane))
    }
}
