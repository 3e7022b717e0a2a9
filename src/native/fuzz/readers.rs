//! Feeds bytes that coverage suggests to the reader of the format that the environment variable `TICKDISK_FORMAT` names.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

static FORMAT: LazyLock<String> = LazyLock::new(|| std::env::var("TICKDISK_FORMAT").expect("TICKDISK_FORMAT names a format"));

fuzz_target!(|data: &[u8]| _native::fuzzing::read(&FORMAT, data));
