//! The names of the files in a store's folder, and the ways to create and replace them durably.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Returns the path of the file that takes checkpoint `number` in the layout of a double backup.
pub fn image_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("image-{}.data", number % 2))
}

/// Returns the path of the file that says which checkpoint the image beside it holds.
pub fn head_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("image-{}.head", number % 2))
}

/// Returns the path of the file of checkpoint `number` in the layout of a log.
pub fn log_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("checkpoint-{number:012}.log"))
}

/// Returns the path under which a file is written until it is whole.
pub fn unfinished(path: &Path) -> PathBuf {
    path.with_extension("tmp")
}

/// Opens a file to read and write it. Creates the file if it does not exist.
pub fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

/// Makes the names in a folder durable.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Replaces a small file so that after a crash it has either the old or the new content.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let fresh = unfinished(path);
    let file = open(&fresh)?;
    file.set_len(0)?;
    file.write_all_at(bytes, 0)?;
    file.sync_all()?;
    fs::rename(&fresh, path)
}
