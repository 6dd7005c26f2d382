//! Objects of the program that graphs keep alive.

use crate::objects::host_function::HostFunction;
use cuarray_abi::*;
use std::collections::BTreeMap;

/// The number of references that a graph holds to each object.
pub(crate) type References = BTreeMap<CUuserObject, u64>;

/// One object.
pub(crate) struct UserObject {
    pub destroy: HostFunction,
    pub references: u64,
}
