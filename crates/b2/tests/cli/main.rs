//! The tool `b2`, run as a person runs it.

mod archives;
mod arrays;
mod commands;
mod damage;
mod damage_files;
mod damage_table;
mod damaged_copies;
#[path = "../../../../tests/common/fixtures.rs"]
mod fixtures;
mod headers;
#[cfg(unix)]
mod pipes;
use oxiblosc_testing::needs;
mod safety;
mod stores;
mod support;
#[cfg(unix)]
mod unix;
mod verdicts;
