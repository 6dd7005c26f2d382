//! Division of a device's multiprocessors, as arithmetic on counts.
//!
//! Driver API: [green contexts](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GREEN__CONTEXTS.html). The guide values are
//! those of the manual. A simulated device has no locality domains.

use cuarray_abi::*;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
const INVALID_CONFIGURATION: CUresult = CUresult::CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;

/// The smallest part of a device, the multiple that its size must be, and the most multiprocessors that are co-scheduled.
#[derive(Clone, Copy)]
pub(crate) struct Granularity {
    smallest: u32,
    alignment: u32,
    most_coscheduled: u32,
}

/// Multiprocessors come in pairs.
const PAIR: u32 = 2;

impl Granularity {
    pub(crate) fn of(capability: (u32, u32)) -> Granularity {
        let (smallest, alignment, most_coscheduled) = match capability.0 {
            0..=7 => (PAIR, PAIR, PAIR),
            8 => (4, PAIR, PAIR),
            _ => (8, 8, 32),
        };
        Granularity { smallest, alignment, most_coscheduled }
    }

    /// All multiprocessors of a device.
    pub(crate) fn whole(self, count: u32) -> CUdevSmResource {
        self.part(count, self.alignment, 0)
    }

    fn part(self, count: u32, alignment: u32, flags: u32) -> CUdevSmResource {
        CUdevSmResource {
            smCount: count,
            minSmPartitionSize: self.smallest.min(alignment.max(PAIR)).max(PAIR),
            smCoscheduledAlignment: alignment,
            flags,
            localityDomainId: 0,
        }
    }

    /// The multiprocessors that a split leaves; `None` for none.
    fn rest(self, count: u32) -> Option<CUdevSmResource> {
        let alignment = if count.is_multiple_of(self.alignment) { self.alignment } else { PAIR };
        (count > 0).then(|| self.part(count, alignment, 0))
    }

    /// Splits multiprocessors into at most `most` equal groups of at least `least` multiprocessors.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for unknown flags, for a flag that the architecture lacks, and for more multiprocessors than
    /// there are; `CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION` if not even one group fits.
    pub(crate) fn split_by_count(self, input: u32, most: u32, flags: u32, least: u32) -> Result<Split, CUresult> {
        let known =
            CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING | CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE;
        let has_clusters = self.most_coscheduled > PAIR;
        let wants_clusters = flags & CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE != 0;
        if flags & !known != 0 || (wants_clusters && !has_clusters) || least > input {
            return Err(INVALID_VALUE);
        }
        let (smallest, alignment) = match flags & CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING {
            0 => (self.smallest, self.alignment),
            _ => (PAIR, PAIR),
        };
        let size = least.max(smallest).next_multiple_of(alignment);
        let count = (input / size).min(most);
        if count == 0 {
            return Err(INVALID_CONFIGURATION);
        }
        let groups = vec![self.part(size, alignment, 0); count as usize];
        Ok(Split { groups, rest: self.rest(input - count * size) })
    }

    /// Splits multiprocessors into the described groups, and writes the counts that the driver is to find into the descriptions.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for a description outside of the documented values;
    /// `CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION` if a group does not fit, and for a wanted resource without multiprocessors.
    pub(crate) fn split(
        self,
        input: u32,
        groups: &mut [CU_DEV_SM_RESOURCE_GROUP_PARAMS],
        wanted: bool,
    ) -> Result<Split, CUresult> {
        let (mut left, mut made) = (input, Vec::new());
        for group in groups {
            let coscheduled = self.coscheduled(group)?;
            let backfill = group.flags & CU_DEV_SM_RESOURCE_GROUP_BACKFILL != 0;
            let count = match group.smCount {
                0 if backfill => left / PAIR * PAIR,
                0 => left / coscheduled * coscheduled,
                count if count > input || !count.is_multiple_of(PAIR) => return Err(INVALID_VALUE),
                count if count > left || !(backfill || count.is_multiple_of(coscheduled)) => {
                    return Err(INVALID_CONFIGURATION);
                }
                count => count,
            };
            if wanted && count < coscheduled {
                return Err(INVALID_CONFIGURATION);
            }
            group.smCount = count;
            left -= count;
            made.push(self.part(count, coscheduled, group.flags));
        }
        Ok(Split { groups: made, rest: self.rest(left) })
    }

    /// The number of co-scheduled multiprocessors of a group, which is checked.
    fn coscheduled(self, group: &CU_DEV_SM_RESOURCE_GROUP_PARAMS) -> Result<u32, CUresult> {
        const LOCAL: u32 = CU_DEV_SM_RESOURCE_GROUP_LOCALITY_DOMAIN_ID;
        const SUPPLEMENTAL: u32 = CU_DEV_SM_RESOURCE_GROUP_LOCALITY_DOMAIN_SUPPLEMENTAL_SMS;
        let known = CU_DEV_SM_RESOURCE_GROUP_BACKFILL | LOCAL | SUPPLEMENTAL;
        let local = group.flags & LOCAL != 0;
        let locality_is_set = group.localityDomainId != 0 || group.flags & SUPPLEMENTAL != 0;
        if group.flags & !known != 0 || group.reserved != [0; 11] || (locality_is_set && !local) {
            return Err(INVALID_VALUE);
        }
        if local {
            return Err(INVALID_CONFIGURATION);
        }
        match group.coscheduledSmCount {
            0 => Ok(self.alignment),
            count if count <= self.most_coscheduled && count.is_multiple_of(PAIR) => Ok(count),
            _ => Err(INVALID_VALUE),
        }
    }
}

/// The groups of a split, and the multiprocessors that are left.
pub(crate) struct Split {
    pub groups: Vec<CUdevSmResource>,
    pub rest: Option<CUdevSmResource>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(split: Result<Split, CUresult>) -> Result<(Vec<u32>, u32), CUresult> {
        split.map(|split| {
            let counts = split.groups.iter().map(|group| group.smCount).collect();
            (counts, split.rest.map_or(0, |rest| rest.smCount))
        })
    }

    #[test]
    fn sizes_of_groups_follow_the_architecture() {
        for (capability, least, size) in
            [((7, 5), 1, 2), ((8, 0), 1, 4), ((8, 0), 5, 6), ((9, 0), 1, 8), ((9, 0), 9, 16)]
        {
            let split = Granularity::of(capability).split_by_count(132, 2, 0, least);
            assert_eq!(counts(split), Ok((vec![size; 2], 132 - 2 * size)), "{capability:?} {least}");
        }
    }

    #[test]
    fn described_groups_take_what_earlier_groups_leave() {
        let group = |count, coscheduled, flags| CU_DEV_SM_RESOURCE_GROUP_PARAMS {
            smCount: count,
            coscheduledSmCount: coscheduled,
            flags,
            ..Default::default()
        };
        let of = Granularity::of((9, 0));
        let split = |groups: &mut [_]| counts(of.split(132, groups, true));
        let mut found = [group(10, 2, 0), group(0, 0, 0)];
        assert_eq!(split(&mut found), Ok((vec![10, 120], 2)));
        assert_eq!((found[1].smCount, found[1].coscheduledSmCount), (120, 0));
        assert_eq!(split(&mut [group(8, 4, 0), group(0, 2, CU_DEV_SM_RESOURCE_GROUP_BACKFILL)]), Ok((vec![8, 124], 0)));
        assert_eq!(split(&mut [group(66, 0, CU_DEV_SM_RESOURCE_GROUP_BACKFILL); 2]), Ok((vec![66, 66], 0)));
        for (wrong, code) in [
            (group(66, 0, 0), INVALID_CONFIGURATION),
            (group(2, 0, CU_DEV_SM_RESOURCE_GROUP_BACKFILL), INVALID_CONFIGURATION),
            (group(8, 0, CU_DEV_SM_RESOURCE_GROUP_LOCALITY_DOMAIN_ID), INVALID_CONFIGURATION),
            (group(7, 0, CU_DEV_SM_RESOURCE_GROUP_BACKFILL), INVALID_VALUE),
            (group(134, 0, 0), INVALID_VALUE),
            (group(8, 34, 0), INVALID_VALUE),
            (group(8, 3, 0), INVALID_VALUE),
            (group(8, 0, 8), INVALID_VALUE),
            (group(8, 0, CU_DEV_SM_RESOURCE_GROUP_LOCALITY_DOMAIN_SUPPLEMENTAL_SMS), INVALID_VALUE),
        ] {
            assert_eq!(split(&mut [wrong]), Err(code), "{wrong:?}");
        }
        let mut all = [group(0, 0, CU_DEV_SM_RESOURCE_GROUP_BACKFILL), group(0, 0, 0)];
        assert_eq!(split(&mut all), Err(INVALID_CONFIGURATION));
        assert_eq!(counts(of.split(132, &mut all, false)), Ok((vec![132, 0], 0)));
    }
}
