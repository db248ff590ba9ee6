//! Memory errors: what programs say that they do wrong, against what `heaplens run` and `heaplens memcheck` report.

mod allocators;
mod arguments;
mod between;
mod fatal;
mod frees;
mod outputs;
mod overruns;
mod truth;
