#![doc = include_str!("../README.md")]
//!
//! ## Inside
//!
//! Each folder is one step, and depends on earlier folders only. `image` finds PTX in containers. `grammar` parses
//! PTX. `races` records accesses and compares them. `texture` has the arithmetic of texture fetches. `machine` defines
//! the program and executes it. `cores` spreads work over the cores. `resolve` turns
//! parsed modules into a program: it binds names, chooses the function that executes each instruction, orders the
//! code so that diverged threads reconverge, and assigns registers. `float` implements floating-point arithmetic in
//! every rounding mode.

use image::source::Sources;

mod cores;
mod error;
mod float;
mod grammar;
mod image;
mod machine;
mod races;
mod resolve;
mod texture;

pub use error::Error;
pub use grammar::ast::ClusterDirectives;
pub use grammar::header::Header;
pub use grammar::types::Space;
pub use image::source::appended as appended_source;
pub use image::{Image, ImageError};
pub use machine::address_windows::{LOCAL_WINDOW, SHARED_WINDOW, in_window};
pub use machine::cluster::RANK_SHIFT;
pub use machine::program::{Function, Location, Parameter, Program, Synchronization, Variable};
pub use machine::{
    AccessKind, Alias, Code, Fault, FaultKind, KernelOrder, Launch, Misuse, MisuseKind, NoService, Outcome, Outlook,
    Pieces, Progress, Reason, Region, Service, Strength, TouchedRange, Used, WaitingThreads, Writer, WriterState,
    execute,
};
pub use races::causality::{GRID_WORKSPACE, Scope, Why};
pub use races::{Access, Race, Wait};
pub use texture::{
    AddressMode, ChannelKind, FilterMode, Format, Geometry, Image as TextureImage, Level, Opaque, ReadMode, Sampler,
    Surface, Texture, Textures,
};

/// Parses, links and resolves the modules of an image.
///
/// # Errors
/// For invalid PTX, undefined names and unsupported instructions.
pub fn load(image: &Image) -> Result<Program, Error> {
    let mut program = resolve::resolve(&parsed(image)?)?;
    program.max_registers = image.max_registers;
    program.sources = Sources::of(image.modules.iter().map(|(_, text)| text.as_str()));
    Ok(program)
}

/// Checks the modules of an image as [`load`] does, except that other modules may define their extern functions and
/// variables. Returns the functions and kernels that the modules declare or define.
///
/// # Errors
/// As for [`load`], without undefined extern names.
pub fn check(image: &Image) -> Result<Vec<Function>, Error> {
    Ok(resolve::resolve_relocatable(&parsed(image)?)?.functions)
}

/// Parses the modules of an image.
fn parsed(image: &Image) -> Result<Vec<grammar::ast::Module<'_>>, Error> {
    let modules = image.modules.iter().map(|(name, text)| {
        let module = grammar::parse(text).map_err(|error| error.in_module(name))?;
        Ok(grammar::ast::Module { name, ..module })
    });
    modules.collect()
}

/// Reads the version and target of each module of an image, without loading it.
///
/// # Errors
/// For a module that does not begin with `.version` and `.target`.
pub fn headers(image: &Image) -> Result<Vec<Header>, Error> {
    let modules = image.modules.iter();
    modules.map(|(name, text)| grammar::header::header(text).map_err(|error| error.in_module(name))).collect()
}

#[cfg(test)]
mod tests;
