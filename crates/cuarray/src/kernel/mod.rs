//! Modules, their kernels, and launches with guards as arguments.

mod arguments;
mod cache;
mod config;
mod function;
mod launch;
mod module;
mod ptx;
pub(crate) mod signature;

pub use arguments::{Argument, Arguments, InPlace};
pub use config::LaunchConfig;
pub use function::Function;
pub use module::Module;
pub use signature::{ArgumentFor, Read, Write};

const _: () = {
    const fn shareable<T: Send + Sync + 'static>() {}
    shareable::<Module>();
    shareable::<Function>();
};
