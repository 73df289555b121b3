//! Damaged frames of arrays through the fuzz target, without a fuzzer: `mutate COUNT [FIRST]`. The
//! same number always gives the same frame. Build it with a sanitizer:
//!
//! ```text
//! RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address CFLAGS=-fsanitize=address CC=clang \
//!     cargo run --release --target x86_64-unknown-linux-gnu --example mutate -- 1000000
//! ```

use oxiblosc_testing::fuzz::arrays::{mutant, seeds};
use oxiblosc_testing::fuzz::targets::b2nd;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| {
        let argument = arguments.next();
        argument.map_or(default, |text| text.parse::<u64>().expect("a number"))
    };
    let (count, first) = (number(1000), number(0));
    let seeds = seeds();
    for i in first..first + count {
        b2nd::run(&mutant(&seeds, i));
        if (i + 1) % 10_000 == 0 {
            println!("{}", i + 1);
        }
    }
    println!("{count} frames from number {first} on");
}
