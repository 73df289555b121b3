#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| oxiblosc_testing::fuzz::targets::patch::run(data));
