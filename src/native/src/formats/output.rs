//! The output of a reader: the requests, and a count of everything in the trace that did not become a request.

use std::collections::{BTreeMap, BTreeSet};

use super::table::Table;

/// A line that a reader could not read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Reject {
    /// Number of the line, from 1.
    pub line: u64,
    pub reason: &'static str,
    pub text: Vec<u8>,
}

/// Number of times that something was found in a trace, and the line where it was found first.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Found {
    pub count: u64,
    pub first_line: u64,
}

/// The output of a reader.
#[derive(Default)]
pub struct Output {
    pub table: Table,
    /// Number of the line that is being read, from 1.
    pub line: u64,
    /// Lines that could not be read and have not been taken yet.
    pub rejects: Vec<Reject>,
    /// Numbers of the lines that could not be read, by reason.
    pub rejected: BTreeMap<&'static str, Found>,
    /// Numbers of things that are no requests, by kind.
    pub skipped: BTreeMap<String, u64>,
    /// Kinds among those of `skipped` that happened and should be requests, so that they are said first.
    pub lacking: BTreeSet<String>,
    /// Contradictions between parts of the trace, by kind.
    pub contradictions: BTreeMap<&'static str, Found>,
    /// Facts about the trace, such as its clock.
    pub facts: BTreeMap<&'static str, String>,
    /// Reason why nothing of the trace can be read, although its format is known.
    pub refusal: Option<&'static str>,
    /// Number of requests that had not ended when the trace ended.
    pub unfinished: u64,
}

impl Output {
    /// Counts something that is no request, such as a message between requests.
    pub fn skip(&mut self, kind: &str) {
        self.skip_many(kind, 1);
    }

    /// Counts `count` things of one kind that are no requests.
    pub fn skip_many(&mut self, kind: &str, count: u64) {
        if let Some(known) = self.skipped.get_mut(kind) {
            *known += count;
        } else if count > 0 {
            self.skipped.insert(kind.into(), count);
        }
    }

    /// Counts `count` things that happened and are in no request, although they should be.
    pub fn lack(&mut self, kind: &str, count: u64) {
        self.skip_many(kind, count);
        if count > 0 && !self.lacking.contains(kind) {
            self.lacking.insert(kind.into());
        }
    }

    /// Counts a contradiction between the present line and others.
    pub fn contradict(&mut self, kind: &'static str) {
        find(&mut self.contradictions, kind, self.line);
    }

    /// Keeps a line that could not be read.
    pub fn reject(&mut self, reason: &'static str, line: &[u8]) {
        find(&mut self.rejected, reason, self.line);
        self.rejects.push(Reject { line: self.line, reason, text: line.into() });
    }
}

fn find(found: &mut BTreeMap<&'static str, Found>, kind: &'static str, line: u64) {
    found.entry(kind).or_insert(Found { count: 0, first_line: line }).count += 1;
}
