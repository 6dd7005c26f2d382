//! Modules, their kernels, and launches with guards as arguments.

mod cache;
mod function;
pub(crate) mod launch;
mod module;

pub use function::Function;
pub use launch::{Argument, Arguments, InPlace, LaunchConfig};
pub use module::Module;

const _: () = {
    const fn shareable<T: Send + Sync + 'static>() {}
    shareable::<Module>();
    shareable::<Function>();
};
