//! The files that descriptors and paths name, by what strace prints after a descriptor and by what has been opened.

use std::sync::Arc;

use super::calls::AT_FDCWD;
use super::files::{OpenFile, Path, Process, Target};
use super::syntax::{annotation, integer, number, string, unescaped};
use crate::formats::number::rfind;

/// Beginning of the name of a file that lies in memory alone, which `memfd_create` makes.
const MEMORY: &[u8] = b"/memfd:";

/// Returns the path of the file that strace names after a descriptor, or `None` if it is not a file.
pub fn file_name(name: &[u8]) -> Option<Path> {
    let name = match rfind(name, b"<char ") {
        Some(_) => return None,
        None => rfind(name, b"<block ").map_or(name, |at| &name[..at]),
    };
    let name = unescaped(name);
    let name = name.strip_suffix(b" (deleted)").unwrap_or(&name);
    (name.first() == Some(&b'/') && !name.starts_with(MEMORY)).then(|| name.into())
}

/// Returns the file of a descriptor, from its name in the line or from what has been opened.
pub fn target_of(process: &mut Process, word: &[u8]) -> Target {
    let descriptor = number(word);
    let known = process.target(descriptor);
    let Some(name) = annotation(word) else { return known };
    match (file_name(name), known) {
        (None, _) => Target::NotAFile,
        (Some(path), Target::File(open)) if open.is_named(&path) || process.trusts_calls => Target::File(open),
        (Some(path), known) => {
            let is_instead = !matches!(known, Target::Unknown);
            let target = Target::File(if is_instead { OpenFile::instead(path) } else { OpenFile::new(Some(path), None, None) });
            process.set(descriptor, target.clone(), false);
            target
        }
    }
}

/// Returns the descriptor that a path stands for: one in /proc, or the folder itself if the path is empty, as linkat takes it.
fn descriptor_in(path: &[u8], folder: Option<&[u8]>) -> Option<i64> {
    match path.strip_prefix(b"/proc/self/fd/") {
        Some(digits) => integer(digits),
        None => folder.filter(|_| path.is_empty()).map(number),
    }
}

/// Returns the path of a file that a call names, relative to the folder of a descriptor or of the process.
pub fn path_of(process: &mut Process, folder: Option<&[u8]>, text: &[u8]) -> Option<Path> {
    let (text, _) = string(text)?;
    if let Some(Target::File(open)) = descriptor_in(&text, folder).map(|descriptor| process.target(descriptor)) {
        return open.path().cloned();
    }
    let folder = match folder {
        None => Arc::clone(&process.folder),
        Some(word) if number(word) == AT_FDCWD => {
            if let Some(path) = annotation(word).and_then(file_name) {
                process.folder = path;
            }
            Arc::clone(&process.folder)
        }
        Some(word) => match target_of(process, word) {
            Target::File(open) => open.path().cloned()?,
            _ if text.first() == Some(&b'/') => Path::from(&b"/"[..]),
            _ => return None,
        },
    };
    process.path(Some(&folder), &text)
}
