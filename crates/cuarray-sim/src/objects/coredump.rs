//! The settings of core dumps. They are kept and returned; the simulated driver writes no core dump.

use cuarray_abi::*;
use std::collections::BTreeMap;

/// The size of the region for a name, with its nul.
pub(crate) const NAME_SIZE: usize = 1024;

/// The value of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Switch(bool),
    Name(Vec<u8>),
    Flags(u32),
}

impl Value {
    /// The size of the memory region that holds such a value.
    pub(crate) fn size(&self) -> usize {
        match self {
            Value::Switch(_) => 1,
            Value::Name(_) => NAME_SIZE,
            Value::Flags(_) => 4,
        }
    }
}

/// The settings that a program has chosen, for all contexts or for one.
#[derive(Default)]
pub(crate) struct Coredump {
    pub chosen: BTreeMap<CUcoredumpSettings, Value>,
}

/// The value of a setting that no program has chosen; `None` for an unknown setting. `place` is `HOSTNAME.PID`.
pub(crate) fn initial(setting: CUcoredumpSettings, place: &str) -> Option<Value> {
    let named = |prefix: &str| Value::Name(format!("{prefix}.cuda.{place}").into_bytes());
    Some(match setting {
        CU_COREDUMP_TRIGGER_HOST => Value::Switch(true),
        CU_COREDUMP_ENABLE_ON_EXCEPTION | CU_COREDUMP_LIGHTWEIGHT | CU_COREDUMP_ENABLE_USER_TRIGGER => {
            Value::Switch(false)
        }
        CU_COREDUMP_FILE => named("core"),
        CU_COREDUMP_PIPE => named("corepipe"),
        CU_COREDUMP_GENERATION_FLAGS => Value::Flags(0),
        _ => return None,
    })
}
