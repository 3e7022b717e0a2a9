//! Makes a workload complete: no read meets a page that nothing has written.

use rustc_hash::FxHashSet;

use super::Record;

/// Returns the requests with a write before each read of pages that no request before has written. The store is taken as empty at
/// the start. Unwritten pages that follow each other get one write.
pub fn complete(requests: impl Iterator<Item = Record>) -> Vec<Record> {
    let mut written = FxHashSet::default();
    let mut found = Vec::new();
    for request in requests {
        let pages = request.page..request.page + request.pages;
        if request.is_write {
            written.extend(pages);
        } else {
            let mut missing: Option<Record> = None;
            for page in pages {
                if written.insert(page) {
                    let created =
                        Record { end_ns: request.begin_ns, is_write: true, page, pages: 1, is_inserted: true, ..request };
                    let write = missing.get_or_insert(Record { pages: 0, ..created });
                    write.pages += 1;
                } else {
                    found.extend(missing.take());
                }
            }
            found.extend(missing);
        }
        found.push(request);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(begin_ns: u64, is_write: bool, page: u64, pages: u64) -> Record {
        Record { begin_ns, end_ns: begin_ns + 5, is_write, page, pages, is_inserted: false }
    }

    #[test]
    fn a_read_gets_the_writes_that_create_its_pages() {
        let given = [request(0, true, 2, 2), request(10, false, 0, 6), request(20, false, 0, 6)];
        let found = complete(given.into_iter());
        let inserted = |page, pages| Record { begin_ns: 10, end_ns: 10, is_write: true, page, pages, is_inserted: true };
        assert_eq!(found, [given[0], inserted(0, 2), inserted(4, 2), given[1], given[2]]);
    }
}
