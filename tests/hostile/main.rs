//! Hostile input: what the fuzz targets do, on the inputs that once broke something and on mutated
//! chunks.
//!
//! `OXIBLOSC_HOSTILE` is the number of mutated chunks (20,000 by default), `OXIBLOSC_HOSTILE_FIRST`
//! that of the first: the same number always gives the same chunk. `OXIBLOSC_HOSTILE_ARRAYS` is the
//! number of damaged frames of arrays (2,000), `OXIBLOSC_HOSTILE_INPUTS` that of the inputs of each
//! other target (1,000). Under AddressSanitizer:
//!
//! RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address CC=clang CFLAGS=-fsanitize=address
//! OXIBLOSC_HOSTILE=1000000 \
//!   cargo test --profile checked --target x86_64-unknown-linux-gnu --target-dir target-asan --test
//!   hostile

mod inputs;
mod memory;
mod mutants;
mod regressions;

/// The C border turns a panic into an error code. From here on it ends the process, after it said
/// for which input.
fn panics_are_fatal(input: impl Fn() -> String + Send + Sync + 'static) {
    std::panic::set_hook(Box::new(move |what| {
        eprintln!("{}: {what}", input());
        std::process::abort();
    }));
}
