//! Recurrent networks: forward, and the gradients of data and of weights.
//!
//! [`network`] knows the sizes of a network and the places of its parameters, [`data`] the layouts of its sequences. The [`engine`] computes
//! layer by layer, with the formulas of a [`cell`], and keeps values for the gradients in a [`tape`], which is the reserve space.

mod calls;
mod cell;
mod data;
mod descriptor;
mod engine;
mod network;
mod steps;
mod tape;
#[cfg(test)]
mod tests;

pub(crate) use calls::{backward_data, backward_weights, forward, temporary_sizes};
pub(crate) use data::{create as create_data, destroy as destroy_data, get as get_data, set as set_data};
pub(crate) use descriptor::{
    build, create, destroy, get, get_clip, get_clip_9, set, set_clip, set_clip_9, weight_parameters, weight_size,
};
