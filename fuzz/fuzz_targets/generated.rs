#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cuarray_fuzz::generated::check(data));
