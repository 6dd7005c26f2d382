//! Tests of the rules, on views and memory without a machine.
