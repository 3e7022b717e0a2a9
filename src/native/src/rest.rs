//! How a real-time thread rests until a deadline: it sleeps until shortly before, then spins: the longer it has slept, the longer, since
//! a core that has rested is slow at first; the more deadlines wait, the shorter, since whoever submits the next request may need the
//! core.
//!
//! Where an occupant keeps others from the core it spins for as long as its sleeps turn out too long. Where that leaves the occupant too
//! little it naps: the occupant has the core and wakes it, which takes no alarm. In a guest of a guest each alarm takes some 20 us of the
//! core, to set it and to hear it, and goes off 20 to 40 us late.

/// A short sleep overshoots by some 3 us with a timer slack of 1 ns, in a guest by 15, and now and then by more;
const SPIN_NS: u64 = 15_000;
/// one of some milliseconds by 20 to 60.
const LONG_SPIN_NS: u64 = 60_000;
/// What part of a sleep is spun instead, between these two.
const SPIN_PART: u64 = 8;
/// Of the spins before all that wait: with 32 that are due within a millisecond, a spin of `SPIN_NS` before each would be half of it.
const SPINS_NS: u64 = 240_000;
/// The same beside an occupant.
const FREE_SPINS_NS: u64 = 1_440_000;
const LONGEST_SLEEP_NS: u64 = 3_600_000_000_000;
/// So long before a deadline an occupant is to wake who naps,
const NAP_EARLY_NS: u64 = 4_000;
/// and for less nobody does.
const LEAST_NAP_NS: u64 = 12_000;
/// An occupant that was not seen for so long needs the core. Much sooner, 50 us with 4 in flight are longer for all those naps.
const UNSEEN_NS: u64 = 20_000_000;

/// Who a thread has beside it on its core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Company {
    /// Others, who may need it.
    Others,
    /// An occupant, that keeps them away.
    Occupant,
    /// An occupant that gets too little of the core.
    Starved,
}

/// How to rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    Spin,
    /// So many nanoseconds.
    Sleep(u64),
    /// To be woken by the occupant at this time.
    Nap(u64),
}

/// What a thread has learned of its rests.
#[derive(Default)]
pub struct Rest {
    overslept: Overslept,
    naps: Naps,
    /// The deadline that was slept for: the rest until then is spun.
    slept_for_ns: Option<u64>,
}

impl Rest {
    /// How to rest at `now_ns` until the first of so many deadlines, at `head_ns`; an occupant was last seen at `seen_ns`.
    pub fn plan(&mut self, now_ns: u64, head_ns: u64, deadlines: usize, company: Company, seen_ns: u64) -> Plan {
        let rest_ns = head_ns.saturating_sub(now_ns);
        let starves = company == Company::Starved || company == Company::Occupant && now_ns.saturating_sub(seen_ns) > UNSEEN_NS;
        let naps = starves && self.naps.are_good_at(now_ns);
        let is_free = if starves { !self.naps.are_hopeless() } else { company == Company::Occupant };
        let (least_ns, most_ns, all_ns) = if is_free {
            (self.overslept.mostly_ns, LONG_SPIN_NS.max(2 * self.overslept.mostly_ns), FREE_SPINS_NS)
        } else {
            (SPIN_NS, LONG_SPIN_NS, SPINS_NS)
        };
        let spin_ns = (rest_ns / SPIN_PART).clamp(least_ns, most_ns).min(all_ns / deadlines.max(1) as u64);
        if naps && (LEAST_NAP_NS..=most_ns).contains(&rest_ns) {
            Plan::Nap(head_ns - NAP_EARLY_NS)
        } else if rest_ns > most_ns || rest_ns > spin_ns && self.slept_for_ns != Some(head_ns) {
            self.slept_for_ns = Some(head_ns);
            Plan::Sleep((rest_ns - spin_ns).min(LONGEST_SLEEP_NS))
        } else {
            Plan::Spin
        }
    }

    /// It slept `by_ns` longer than planned.
    pub fn overslept(&mut self, by_ns: u64) {
        self.overslept.learn(by_ns);
    }

    /// It was to be woken at `until_ns`, and was at `now_ns`.
    pub fn napped(&mut self, until_ns: u64, now_ns: u64) {
        self.naps.learn(until_ns, now_ns);
    }
}

/// By how much sleeps turn out too long: not more in nine of ten.
struct Overslept {
    mostly_ns: u64,
}

impl Default for Overslept {
    fn default() -> Self {
        Self { mostly_ns: SPIN_NS }
    }
}

impl Overslept {
    const STEP_NS: u64 = 200;
    /// What is longer is a core that somebody else had.
    const MOST_NS: u64 = 60_000;

    fn learn(&mut self, by_ns: u64) {
        let next_ns = if by_ns > self.mostly_ns { self.mostly_ns + 9 * Self::STEP_NS } else { self.mostly_ns - Self::STEP_NS };
        self.mostly_ns = next_ns.clamp(SPIN_NS, Self::MOST_NS);
    }
}

/// Whether to nap: while others than the occupant have the core nobody wakes in time.
#[derive(Default)]
struct Naps {
    good_from_ns: u64,
    pause_ns: u64,
}

impl Naps {
    /// More than who takes requests mostly has the core for.
    const LATE_NS: u64 = 100_000;
    /// Of what was lost by a late one.
    const PAUSE_PART: u64 = 10;
    const LONG_PAUSE_NS: u64 = 10_000_000;
    const LONGEST_PAUSE_NS: u64 = 1_000_000_000;

    fn are_good_at(&self, now_ns: u64) -> bool {
        now_ns >= self.good_from_ns
    }

    /// Whether others than the occupant have the core most of the time.
    fn are_hopeless(&self) -> bool {
        self.pause_ns > Self::LONG_PAUSE_NS
    }

    /// After a late one there is none for a while, twice as long each time; each good one in between halves it.
    fn learn(&mut self, until_ns: u64, now_ns: u64) {
        let late_ns = now_ns.saturating_sub(until_ns);
        if late_ns > Self::LATE_NS {
            self.pause_ns = (2 * self.pause_ns).max(Self::PAUSE_PART * late_ns).min(Self::LONGEST_PAUSE_NS);
            self.good_from_ns = now_ns + self.pause_ns;
        } else {
            self.pause_ns /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_NS: u64 = 1_000_000_000;

    fn plan(rest: &mut Rest, after_ns: u64, deadlines: usize, company: Company) -> Plan {
        rest.plan(NOW_NS, NOW_NS + after_ns, deadlines, company, NOW_NS)
    }

    #[test]
    fn it_sleeps_once_for_a_deadline_and_spins_the_rest() {
        let mut rest = Rest::default();
        assert_eq!(plan(&mut rest, 100_000, 1, Company::Others), Plan::Sleep(85_000));
        assert_eq!(rest.plan(NOW_NS + 60_000, NOW_NS + 100_000, 1, Company::Others, 0), Plan::Spin, "woken early");
        assert_eq!(plan(&mut rest, 10_000_000, 1, Company::Others), Plan::Sleep(9_940_000));
        assert_eq!(plan(&mut rest, 20_000, 32, Company::Others), Plan::Sleep(12_500), "others need the core");
        assert_eq!(plan(&mut rest, u64::MAX - NOW_NS, 0, Company::Others), Plan::Sleep(LONGEST_SLEEP_NS));
        assert_eq!(plan(&mut rest, 0, 1, Company::Others), Plan::Spin);
    }

    #[test]
    fn beside_an_occupant_it_spins_for_as_long_as_it_oversleeps() {
        let mut rest = Rest::default();
        (0..10_000).for_each(|_| rest.overslept(40_000));
        assert_eq!(plan(&mut rest, 35_000, 32, Company::Occupant), Plan::Spin);
        assert!(matches!(plan(&mut rest, 35_000, 32, Company::Others), Plan::Sleep(_)));
        let Plan::Sleep(slept_ns) = plan(&mut rest, 150_000, 8, Company::Occupant) else { panic!("no sleep") };
        assert!((108_000..112_000).contains(&slept_ns), "{slept_ns}");
    }

    #[test]
    fn it_naps_where_the_occupant_starves_and_wakes_it() {
        let mut rest = Rest::default();
        for company in [Company::Others, Company::Occupant] {
            assert!(!matches!(plan(&mut rest, 14_000, 1, company), Plan::Nap(_)));
        }
        let starved = Plan::Nap(NOW_NS + 10_000);
        assert_eq!(plan(&mut rest, 14_000, 1, Company::Starved), starved);
        assert_eq!(plan(&mut rest, 11_000, 1, Company::Starved), Plan::Spin, "that is no nap");
        assert_eq!(rest.plan(NOW_NS, NOW_NS + 14_000, 1, Company::Occupant, NOW_NS - 30_000_000), starved, "it was not seen");
        rest.napped(NOW_NS + 10_000, NOW_NS + 12_000);
        assert_eq!(plan(&mut rest, 14_000, 1, Company::Starved), starved);

        rest.napped(NOW_NS - 110_000, NOW_NS);
        assert_eq!(plan(&mut rest, 14_000, 1, Company::Starved), Plan::Spin, "somebody else had the core");
        assert_eq!(rest.plan(NOW_NS + 2_000_000, NOW_NS + 2_014_000, 1, Company::Starved, 0), Plan::Nap(NOW_NS + 2_010_000));
        (0..40).for_each(|_| rest.overslept(40_000));
        assert_eq!(plan(&mut rest, 40_000, 1, Company::Starved), Plan::Spin);
        rest.napped(NOW_NS - 2_000_000, NOW_NS);
        assert_eq!(plan(&mut rest, 40_000, 1, Company::Starved), Plan::Sleep(25_000), "others need it");
    }

    #[test]
    fn pauses_between_late_naps_double_and_end() {
        let mut naps = Naps::default();
        let mut pause_ns = |late_ns| {
            naps.learn(NOW_NS, NOW_NS + late_ns);
            naps.good_from_ns.saturating_sub(NOW_NS + late_ns)
        };
        assert_eq!([pause_ns(300_000), pause_ns(150_000), pause_ns(150_000)], [3_000_000, 6_000_000, 12_000_000]);
        assert_eq!((0..20).map(|_| pause_ns(3_000_000)).last(), Some(Naps::LONGEST_PAUSE_NS));
        (0..40).for_each(|_| {
            pause_ns(0);
        });
        assert_eq!(pause_ns(300_000), 3_000_000);
    }

    #[test]
    fn it_learns_what_nine_of_ten_sleeps_do_not_exceed() {
        let mut overslept = Overslept::default();
        (0..10_000).for_each(|seq: u64| overslept.learn(20_000 + seq * 7 % 10 * 2_000));
        assert!((33_000..=39_000).contains(&overslept.mostly_ns), "{}", overslept.mostly_ns);
        (0..10_000).for_each(|_| overslept.learn(0));
        assert_eq!(overslept.mostly_ns, SPIN_NS);
        (0..10_000).for_each(|_| overslept.learn(4_000_000));
        assert_eq!(overslept.mostly_ns, Overslept::MOST_NS);
    }
}
