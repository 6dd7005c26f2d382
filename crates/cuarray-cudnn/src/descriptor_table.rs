//! Tables of descriptors: what all kinds of descriptors have in common.

use crate::status::{BAD_PARAM, NULL_POINTER, Outcome, cudnnStatus_t, write};
use cuarray_stream_work::Objects;

/// The kinds of objects that programs hold as numbers. Each kind has its own numbers, so a descriptor of another kind is not found.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Handle = 0x64,
    Tensor,
    Filter,
    Activation,
    Operation,
    Reduction,
    Convolution,
    Pooling,
    Dropout,
    Graph,
    LocalNormalization,
    CtcLoss,
    Rnn,
    RnnData,
    SpatialTransformer,
}

impl Kind {
    /// An empty table.
    pub(crate) const fn objects<T: Clone>(self, missing: cudnnStatus_t) -> Objects<T, cudnnStatus_t> {
        Objects::new((0x6300 | self as usize) << 32, missing)
    }
}

/// The descriptors of one kind. Their state is an `Option` if a program must set them before their use.
#[derive(Debug)]
pub(crate) struct Descriptors<T>(Objects<T, cudnnStatus_t>);

impl<T: Clone> Descriptors<T> {
    pub(crate) const fn new(kind: Kind) -> Descriptors<T> {
        Descriptors(kind.objects(BAD_PARAM))
    }

    /// Makes a descriptor, and writes its number.
    pub(crate) fn create(&self, to: *mut usize, state: T) -> Outcome {
        if to.is_null() { Err(NULL_POINTER) } else { write(to, self.0.add(state)) }
    }

    /// Destroys a descriptor. Destroying nothing succeeds, as documented.
    pub(crate) fn destroy(&self, number: usize) -> Outcome {
        if number == 0 { Ok(()) } else { self.0.remove(number).map(drop) }
    }

    /// The state of a descriptor.
    pub(crate) fn get(&self, number: usize) -> Outcome<T> {
        if number == 0 { Err(NULL_POINTER) } else { self.0.get(number) }
    }

    /// Changes the state of a descriptor.
    pub(crate) fn change(&self, number: usize, change: impl FnOnce(&mut T)) -> Outcome {
        let change = |state: &mut T| {
            change(state);
            Ok(())
        };
        if number == 0 { Err(NULL_POINTER) } else { self.0.change(number, change) }
    }

    /// Sets the state of a descriptor.
    pub(crate) fn set(&self, number: usize, state: impl Into<T>) -> Outcome {
        self.change(number, |known| *known = state.into())
    }
}

impl<T: Clone> Descriptors<Option<T>> {
    /// The state of a descriptor that the program has set.
    pub(crate) fn described(&self, number: usize) -> Outcome<T> {
        self.get(number)?.ok_or(BAD_PARAM)
    }
}

/// The table of the descriptors of one kind with their first state, and the functions that create and destroy them.
macro_rules! descriptors {
    ($kind:ident $table:ident: $state:ty = $first:expr, $create:ident $destroy:ident) => {
        static $table: $crate::descriptor_table::Descriptors<$state> =
            $crate::descriptor_table::Descriptors::new($crate::descriptor_table::Kind::$kind);

        pub(crate) fn $create(to: *mut usize) -> $crate::status::Outcome {
            $table.create(to, $first)
        }

        pub(crate) fn $destroy(number: usize) -> $crate::status::Outcome {
            $table.destroy(number)
        }
    };
}
pub(crate) use descriptors;
