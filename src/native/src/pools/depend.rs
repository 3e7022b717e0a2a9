//! Finds the request that each request has waited for, from the times in the capture (Shape, section on dependency analysis).

use super::Record;

/// Numbers of the requests that others depend on. A request has its place in the list plus 1 as its number, and 0 means that it
/// depends on nothing.
#[derive(Debug, PartialEq, Eq)]
pub struct Dependencies {
    /// The request that ended last among those that had ended when the request began.
    pub last_ended: Vec<u32>,
    /// The request with the highest number among those that had ended when the request began.
    pub highest: Vec<u32>,
}

/// Finds the dependencies of requests in the order of their begins. A request that ends at the instant at which another begins has
/// ended. If several requests end at the same instant, the one with the highest number has ended last.
pub fn depend(requests: &[Record]) -> Dependencies {
    let mut by_end: Vec<u32> = (0..u32::try_from(requests.len()).expect("fewer than 2^32 requests")).collect();
    by_end.sort_by_key(|&number| requests[number as usize].end_ns);
    let (mut last_ended, mut highest) = (Vec::with_capacity(requests.len()), Vec::with_capacity(requests.len()));
    let (mut ended, mut most) = (0, 0);
    for (number, request) in requests.iter().enumerate() {
        // A request that takes no time has ended when it begins, but does not depend on itself or on a later one.
        while by_end
            .get(ended)
            .is_some_and(|&other| requests[other as usize].end_ns <= request.begin_ns && (other as usize) < number)
        {
            most = most.max(by_end[ended] + 1);
            ended += 1;
        }
        last_ended.push(if ended == 0 { 0 } else { by_end[ended - 1] + 1 });
        highest.push(most);
    }
    Dependencies { last_ended, highest }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(times: &[(u64, u64)]) -> Vec<Record> {
        let record =
            |&(begin_ns, end_ns): &(u64, u64)| Record { begin_ns, end_ns, is_write: true, page: 0, pages: 1, is_inserted: false };
        times.iter().map(record).collect()
    }

    #[test]
    fn the_published_example_is_reproduced() {
        // The paper prints the dependencies 0 1 1 2 2 3 5 and not the intervals. These intervals have them.
        let times = [(0, 10), (12, 20), (13, 30), (22, 60), (24, 38), (32, 62), (40, 70)];
        let found = depend(&requests(&times));
        assert_eq!(found.last_ended, [0, 1, 1, 2, 2, 3, 5]);
        assert_eq!(found.highest, found.last_ended);
    }

    #[test]
    fn the_two_readings_differ_where_a_later_request_ends_first() {
        let found = depend(&requests(&[(0, 20), (1, 5), (25, 30)]));
        assert_eq!((found.last_ended, found.highest), (vec![0, 0, 1], vec![0, 0, 2]));
    }

    #[test]
    fn requests_that_overlap_have_the_same_predecessor() {
        let found = depend(&requests(&[(0, 5), (5, 50), (6, 9), (7, 40)]));
        assert_eq!(found.last_ended, [0, 1, 1, 1]);
    }

    #[test]
    fn a_request_without_length_of_time_waits_for_the_one_before() {
        let found = depend(&requests(&[(3, 3), (3, 3), (3, 8), (9, 9)]));
        assert_eq!(found.last_ended, [0, 1, 2, 3]);
    }
}
