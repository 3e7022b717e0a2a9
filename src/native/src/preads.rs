//! A loop that reads 4 KiB blocks of a cached file and does nothing else. It is the workload on which the overhead of a capture
//! is measured.

use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::clock;

const BLOCK: usize = 4096;

/// Reads `count` blocks of 4 KiB one after another, and begins at the start again when the file ends. Returns the time that the
/// reads took, in ns. Fails if the file is shorter than 4 KiB.
pub fn elapsed_ns(path: &Path, count: u64) -> Result<u64> {
    let file = File::open(path)?;
    let blocks = file.metadata()?.len() / BLOCK as u64;
    if blocks == 0 {
        return Err(Error::new(ErrorKind::InvalidInput, "the file is shorter than 4 KiB"));
    }
    let mut block = [0; BLOCK];
    let started_ns = clock::now_ns();
    for number in 0..count {
        file.read_exact_at(&mut block, number % blocks * BLOCK as u64)?;
    }
    Ok(clock::now_ns() - started_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_whole_blocks_of_a_long_enough_file() {
        let path = std::env::temp_dir().join(format!("preads-{}", std::process::id()));
        std::fs::write(&path, [1; 2 * BLOCK + 1]).unwrap();
        assert!(elapsed_ns(&path, 5).unwrap() > 0);
        std::fs::write(&path, [1; BLOCK - 1]).unwrap();
        assert_eq!(elapsed_ns(&path, 5).unwrap_err().kind(), ErrorKind::InvalidInput);
        std::fs::remove_file(&path).unwrap();
    }
}
