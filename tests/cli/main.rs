//! The tool `b2`, run as a person runs it.

mod arrays;
mod commands;
mod damage;
#[path = "../common/fixtures.rs"]
mod fixtures;
mod support;
