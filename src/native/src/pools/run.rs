//! Runs a workload on a pool, in simulated time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::devices::{Pool, Steps};
use super::{PAGE_BYTES, Record, SEGMENT_PAGES};

/// The settings of a run.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject), pyo3(from_item_all))]
pub struct Settings {
    /// Most requests in service at the same time.
    pub queue_depth: usize,
    /// Most pages in service at the same time. A request with more pages is served alone.
    pub most_pages: u64,
    /// Whether a request also waits for its time in the capture. Otherwise it waits for its dependency only.
    pub is_timed: bool,
}

/// The times of a request in the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_field_names, reason = "names end with their unit")]
pub struct Outcome {
    /// Time from which nothing but the queue kept the request waiting.
    pub ready_ns: u64,
    pub started_ns: u64,
    pub done_ns: u64,
}

/// Numbers of the parts of requests. A request has a part in each segment that it touches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub reads: u64,
    /// First writes to a segment.
    pub prewrites: u64,
    /// Later writes to a segment.
    pub postwrites: u64,
    /// Places at which a request was split because it crosses from one segment to the next.
    pub splits: u64,
}

impl Counts {
    fn of(&mut self, is_write: bool, is_first: bool) -> &mut u64 {
        match (is_write, is_first) {
            (false, _) => &mut self.reads,
            (true, true) => &mut self.prewrites,
            (true, false) => &mut self.postwrites,
        }
    }
}

/// Stands in place of a request for work that no request waits for.
const BACKGROUND: u32 = u32::MAX;
/// Stands in place of steps when the time of a request in the capture has come.
const READY: u32 = u32::MAX;
/// Stands in place of steps when a pool of a single device has served the request.
const ALONE: u32 = u32::MAX - 1;

struct Run<'a> {
    pool: Pool,
    requests: &'a [Record],
    settings: Settings,
    outcomes: Vec<Outcome>,
    counts: Counts,
    /// Parts of each request that are not done.
    left: Vec<u32>,
    waiting: VecDeque<u32>,
    in_service: usize,
    pages: u64,
    /// Events in order of time: the time, a running number, the request, and the place of the steps of which one is done.
    events: BinaryHeap<Reverse<(u64, u64, u32, u32)>>,
    number: u64,
    steps: Vec<Steps>,
    free: Vec<u32>,
}

/// Runs requests on a pool. `dependencies` has for each request the number of the one that it waits for, from 1 on, or 0. A request
/// is ready when that one is done. Requests are served in the order in which they became ready.
pub fn run(requests: &[Record], dependencies: &[u32], pool: Pool, settings: Settings) -> (Vec<Outcome>, Counts, Pool) {
    let mut run = Run {
        pool,
        requests,
        settings,
        outcomes: vec![Outcome::default(); requests.len()],
        counts: Counts::default(),
        left: vec![0; requests.len()],
        waiting: VecDeque::new(),
        in_service: 0,
        pages: 0,
        events: BinaryHeap::new(),
        number: 0,
        steps: Vec::new(),
        free: Vec::new(),
    };
    let followers = Followers::new(dependencies);
    let first_ns = requests.first().map_or(0, |request| request.begin_ns);
    for &request in followers.of(0) {
        run.release(request, 0, first_ns);
    }
    run.start(0);
    while let Some(Reverse((now_ns, _, request, steps))) = run.events.pop() {
        if steps == READY {
            run.wait(request, now_ns);
        } else if run.advance(request, steps, now_ns) {
            for &follower in followers.of(request + 1) {
                run.release(follower, now_ns, first_ns);
            }
        }
        run.start(now_ns);
    }
    (run.outcomes, run.counts, run.pool)
}

impl Run<'_> {
    /// Makes a request whose dependency is done wait for its time, or for the queue.
    fn release(&mut self, request: u32, now_ns: u64, first_ns: u64) {
        let due_ns = self.requests[request as usize].begin_ns - first_ns;
        if self.settings.is_timed && due_ns > now_ns {
            self.push(due_ns, request, READY);
        } else {
            self.wait(request, now_ns);
        }
    }

    fn wait(&mut self, request: u32, now_ns: u64) {
        self.outcomes[request as usize].ready_ns = now_ns;
        self.waiting.push_back(request);
    }

    fn push(&mut self, at_ns: u64, request: u32, steps: u32) {
        self.number += 1;
        self.events.push(Reverse((at_ns, self.number, request, steps)));
    }

    /// Returns a place for steps.
    fn place(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.steps.push(Steps::default());
            u32::try_from(self.steps.len() - 1).expect("fewer steps than requests")
        })
    }

    /// Keeps steps at a place, and starts the first of them.
    fn begin(&mut self, request: u32, place: u32, mut steps: Steps, now_ns: u64) {
        let done_ns = self.pool.serve(now_ns, &mut steps).unwrap_or(now_ns);
        self.steps[place as usize] = steps;
        self.push(done_ns, request, place);
    }

    /// Starts waiting requests as long as the queue has room.
    fn start(&mut self, now_ns: u64) {
        while let Some(&request) = self.waiting.front() {
            let pages = self.requests[request as usize].pages;
            let has_room = self.in_service < self.settings.queue_depth && self.pages + pages <= self.settings.most_pages;
            if !has_room && self.in_service > 0 {
                return;
            }
            self.waiting.pop_front();
            self.in_service += 1;
            self.pages += pages;
            self.outcomes[request as usize].started_ns = now_ns;
            self.issue(request, now_ns);
        }
    }

    /// Splits a request at segments, and starts the first step of each part.
    fn issue(&mut self, request: u32, now_ns: u64) {
        let Record { is_write, page, pages, .. } = self.requests[request as usize];
        let (mut at, end) = (page, page + pages);
        let (is_alone, mut alone_ns) = (self.pool.is_alone(), now_ns);
        self.left[request as usize] = u32::from(is_alone);
        while at < end {
            let segment = at / SEGMENT_PAGES;
            let until = end.min((segment + 1) * SEGMENT_PAGES);
            let (inside, length) = (at % SEGMENT_PAGES * PAGE_BYTES, (until - at) * PAGE_BYTES);
            self.counts.splits += u64::from(at > page);
            at = until;
            if is_alone {
                let (done_ns, is_first) = self.pool.serve_alone(now_ns, segment, inside, length, is_write);
                *self.counts.of(is_write, is_first) += 1;
                alone_ns = alone_ns.max(done_ns);
                continue;
            }
            let place = self.place();
            let mut steps = std::mem::take(&mut self.steps[place as usize]);
            let (is_first, leaving) = if is_write {
                self.pool.write(segment, inside, length, &mut steps)
            } else {
                self.pool.read(segment, inside, length, &mut steps);
                (false, None)
            };
            *self.counts.of(is_write, is_first) += 1;
            self.left[request as usize] += 1;
            self.begin(request, place, steps, now_ns);
            if let Some(steps) = leaving {
                let place = self.place();
                self.begin(BACKGROUND, place, steps, now_ns);
            }
        }
        if is_alone {
            self.push(alone_ns, request, ALONE);
        }
    }

    /// Starts the next step of a part. Returns whether its request is done.
    fn advance(&mut self, request: u32, place: u32, now_ns: u64) -> bool {
        if place != ALONE {
            if let Some(done_ns) = self.pool.serve(now_ns, &mut self.steps[place as usize]) {
                self.push(done_ns, request, place);
                return false;
            }
            self.steps[place as usize].clear();
            self.free.push(place);
        }
        if request == BACKGROUND {
            return false;
        }
        let left = &mut self.left[request as usize];
        *left -= 1;
        if *left > 0 {
            return false;
        }
        self.outcomes[request as usize].done_ns = now_ns;
        self.in_service -= 1;
        self.pages -= self.requests[request as usize].pages;
        true
    }
}

/// The requests that wait for each request, in their order.
struct Followers {
    places: Vec<usize>,
    requests: Vec<u32>,
}

impl Followers {
    fn new(dependencies: &[u32]) -> Self {
        let mut places = vec![0; dependencies.len() + 2];
        for &dependency in dependencies {
            places[dependency as usize + 1] += 1;
        }
        for number in 1..places.len() {
            places[number] += places[number - 1];
        }
        let (mut next, mut requests) = (places.clone(), vec![0; dependencies.len()]);
        for (number, &dependency) in dependencies.iter().enumerate() {
            let place = &mut next[dependency as usize];
            requests[*place] = u32::try_from(number).expect("fewer than 2^32 requests");
            *place += 1;
        }
        Self { places, requests }
    }

    /// Returns the requests that wait for the request with a number from 1 on, or for nothing if it is 0.
    fn of(&self, number: u32) -> &[u32] {
        &self.requests[self.places[number as usize]..self.places[number as usize + 1]]
    }
}
