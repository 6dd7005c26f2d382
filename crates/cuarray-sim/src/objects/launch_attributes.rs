//! Attributes of streams, launches and kernel nodes: one table for all three.
//!
//! The header lists the attributes once (`CUlaunchAttributeID`), and says which of the three may have each. Most attributes
//! select where or when a GPU runs work, and change no result. The simulator checks and returns these. The others are
//! honoured by the launch, or refused: cooperation, clusters, dependent launches, events and device-side updates.
//!
//! Driver API: [data types](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html).

use cuarray_abi::*;
use std::collections::BTreeMap;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// Stream priorities; a lower number is a higher priority. In the simulator they affect only the queries.
pub(crate) const LEAST_PRIORITY: i32 = 0;
pub(crate) const GREATEST_PRIORITY: i32 = -5;

/// The attributes that a stream, a launch or a node was given.
pub(crate) type Attributes = BTreeMap<CUlaunchAttributeID, CUlaunchAttributeValue>;

/// The kind of object that has attributes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Holder {
    Stream,
    Node,
    Launch,
}

use Holder::{Launch, Node, Stream};

/// One attribute.
struct Attribute {
    id: CUlaunchAttributeID,
    holders: &'static [Holder],
    /// The first word of its value before a program sets it; the others are zero.
    initial: u64,
    accepts: fn(&CUlaunchAttributeValue) -> bool,
    /// Why a value other than zero is refused, and what to do.
    refusal: Option<&'static str>,
}

const fn attribute(
    id: CUlaunchAttributeID,
    holders: &'static [Holder],
    accepts: fn(&CUlaunchAttributeValue) -> bool,
) -> Attribute {
    Attribute { id, holders, initial: 0, accepts, refusal: None }
}

const EVENTS: Option<&str> = Some("no event is recorded within a launch: record one after it");
const UPDATES: Option<&str> = Some("kernels cannot change nodes of graphs: use cuGraphExecKernelNodeSetParams");

/// The attributes, without the one that is ignored everywhere.
const TABLE: [Attribute; 17] = [
    attribute(CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &[Stream, Node, Launch], is_window),
    attribute(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &[Node, Launch], any),
    Attribute { initial: 1, ..attribute(CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &[Stream], is_sync_policy) },
    attribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &[Node, Launch], any),
    attribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, &[Node, Launch], |value| low(value) <= 3),
    attribute(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, &[Launch], any),
    Attribute { refusal: EVENTS, ..attribute(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, &[Launch], any) },
    attribute(CU_LAUNCH_ATTRIBUTE_PRIORITY, &[Stream, Node, Launch], any),
    // Two bytes name domains. The devices have one domain, number 0.
    attribute(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, &[Stream, Node, Launch], |value| low(value) & 0xffff == 0),
    attribute(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, &[Stream, Node, Launch], is_switch),
    attribute(CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION, &[Node, Launch], any),
    Attribute { refusal: EVENTS, ..attribute(CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT, &[Launch], any) },
    Attribute {
        refusal: UPDATES,
        ..attribute(CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &[Node, Launch], is_switch)
    },
    attribute(CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, &[Launch], |value| {
        (-1..=100).contains(&(low(value) as i32))
    }),
    attribute(CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING, &[Stream, Node, Launch], is_switch),
    attribute(CU_LAUNCH_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE, &[Node, Launch], |value| low(value) <= 2),
    attribute(CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE, &[Node, Launch], |value| low(value) <= 4),
];

fn low(value: &CUlaunchAttributeValue) -> u32 {
    value.words[0] as u32
}

fn any(_: &CUlaunchAttributeValue) -> bool {
    true
}

fn is_switch(value: &CUlaunchAttributeValue) -> bool {
    low(value) <= 1
}

/// `CU_SYNC_POLICY_AUTO` to `CU_SYNC_POLICY_BLOCKING_SYNC`.
fn is_sync_policy(value: &CUlaunchAttributeValue) -> bool {
    (1..=4).contains(&low(value))
}

/// The window's size, its second word, is at most `CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE`, which is 0.
fn is_window(value: &CUlaunchAttributeValue) -> bool {
    value.words[1] == 0
}

/// Extents along x, y and z.
pub(crate) fn extents(value: &CUlaunchAttributeValue) -> [u32; 3] {
    [low(value), (value.words[0] >> 32) as u32, value.words[1] as u32]
}

/// A value with these extents.
pub(crate) fn of_extents(extents: [u32; 3]) -> CUlaunchAttributeValue {
    of_word(u64::from(extents[0]) | u64::from(extents[1]) << 32, extents[2].into())
}

/// A value with these first two words.
pub(crate) fn of_word(first: u64, second: u64) -> CUlaunchAttributeValue {
    CUlaunchAttributeValue { words: [first, second, 0, 0, 0, 0, 0, 0] }
}

fn found(holder: Holder, id: CUlaunchAttributeID) -> Result<&'static Attribute, CUresult> {
    static ATTRIBUTES: [Attribute; 17] = TABLE;
    let held = |attribute: &&Attribute| attribute.id == id && attribute.holders.contains(&holder);
    ATTRIBUTES.iter().find(held).ok_or(INVALID_VALUE)
}

/// Checks a value that a program sets; returns why the simulator refuses it, if it does.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for an attribute that the holder does not have, and for a value outside of its range.
pub(crate) fn check(
    holder: Holder,
    id: CUlaunchAttributeID,
    value: &CUlaunchAttributeValue,
) -> Result<Option<&'static str>, CUresult> {
    let attribute = found(holder, id)?;
    let asks = match id {
        CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE => low(value) != 0,
        _ => value.words[0] != 0,
    };
    if !(attribute.accepts)(value) {
        return Err(INVALID_VALUE);
    }
    Ok(attribute.refusal.filter(|_| asks))
}

/// The value of an attribute among those that were set.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for an attribute that the holder does not have.
pub(crate) fn value_of(
    holder: Holder,
    id: CUlaunchAttributeID,
    set: &Attributes,
) -> Result<CUlaunchAttributeValue, CUresult> {
    let attribute = found(holder, id)?;
    Ok(set.get(&id).copied().unwrap_or(of_word(attribute.initial, 0)))
}

/// Checks that clusters of a preferred size consist of whole clusters and fill the grid.
///
/// # Errors
/// `CUDA_ERROR_INVALID_CLUSTER_SIZE`.
pub(crate) fn check_preferred_cluster(
    set: &Attributes,
    cluster: Option<[u32; 3]>,
    grid: [u32; 3],
) -> Result<(), CUresult> {
    let preferred = set.get(&CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION).map(extents).unwrap_or_default();
    let Some(cluster) = cluster.filter(|_| preferred != [0; 3]) else { return Ok(()) };
    let fits = |axis: usize| {
        preferred[axis] > 0
            && preferred[axis].is_multiple_of(cluster[axis])
            && grid[axis].is_multiple_of(preferred[axis])
    };
    let whole = (0..3).all(fits) && preferred[2] == cluster[2];
    if whole { Ok(()) } else { Err(CUresult::CUDA_ERROR_INVALID_CLUSTER_SIZE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_belong_to_the_holders_that_the_header_names() {
        let holders = |id| [Stream, Node, Launch].map(|holder| found(holder, id).is_ok());
        let expected = [
            (1, [true; 3]),
            (2, [false, true, true]),
            (3, [true, false, false]),
            (4, [false, true, true]),
            (5, [false, true, true]),
            (6, [false, false, true]),
            (7, [false, false, true]),
            (8, [true; 3]),
            (9, [true; 3]),
            (10, [true; 3]),
            (11, [false, true, true]),
            (12, [false, false, true]),
            (13, [false, true, true]),
            (14, [false, false, true]),
            (15, [false; 3]),
            (16, [true; 3]),
            (17, [false, true, true]),
            (18, [false, true, true]),
            (19, [false; 3]),
        ];
        for (id, expected) in expected {
            assert_eq!(holders(id), expected, "{id}");
        }
    }

    #[test]
    fn values_outside_of_their_range_are_refused() {
        let code = |holder, id, word| check(holder, id, &of_word(word, 0)).err();
        let refused = |id, word| check(Launch, id, &of_word(word, 0)).unwrap().is_some();
        let invalid = Some(INVALID_VALUE);
        for (id, last) in [(5, 3), (10, 1), (14, 100), (16, 1), (17, 2), (18, 4)] {
            assert_eq!((code(Launch, id, last), code(Launch, id, last + 1)), (None, invalid), "{id}");
        }
        for id in [7, 12, 13] {
            assert_eq!((refused(id, 0), refused(id, 1)), (false, true), "{id}");
        }
        assert_eq!(code(Launch, 14, u64::from(u32::MAX)), None);
        assert_eq!((code(Stream, 3, 0), code(Stream, 3, 4)), (invalid, None));
        assert_eq!(check(Node, 1, &of_word(1, 64)), Err(INVALID_VALUE));
        assert_eq!(value_of(Stream, 3, &Attributes::new()), Ok(of_word(1, 0)));
    }
}
