use super::*;

const PAGES: usize = 64;
const SIZE: usize = PAGES * PAGE;

struct Disk {
    memory: Memory,
    undo: Undo,
}

impl Disk {
    fn new() -> Self {
        Self { memory: Memory::new(SIZE).unwrap(), undo: Undo::new(SIZE) }
    }
    fn write(&mut self, offset: usize, data: &[u8]) {
        self.undo.keep_for_write(&self.memory, offset as u64, data.len() as u64);
        assert!(self.memory.write(offset as u64, data));
    }
    fn discard(&mut self, offset: usize, length: usize) {
        self.undo.keep_for_discard(&self.memory, offset as u64, length as u64);
        self.memory.discard(offset as u64, length as u64);
    }
    fn answer(&mut self, number: u64) {
        self.undo.make_durable(number);
        self.undo.release();
    }
    fn content(&self) -> Vec<u8> {
        self.memory.read(0, SIZE as u64)
    }
}

#[derive(Clone, Copy)]
enum Act {
    /// A write at an offset, of a length, of one byte.
    Write(usize, usize, u8),
    Discard(usize, usize),
    Close,
    Answer(u64),
    Cut(f64, u64),
}

impl Disk {
    /// Returns the number that `close` returned, or 0.
    fn make(&mut self, act: Act) -> u64 {
        match act {
            Act::Write(offset, length, byte) => self.write(offset, &vec![byte; length]),
            Act::Discard(offset, length) => self.discard(offset, length),
            Act::Close => return self.undo.close(),
            Act::Answer(number) => self.answer(number),
            Act::Cut(keep_share, seed) => {
                self.undo.roll_back(&self.memory, keep_share, seed);
            }
        }
        0
    }

    /// Returns a disk that has done the same.
    fn after(acts: &[Act]) -> Self {
        let mut disk = Self::new();
        for act in acts {
            disk.make(*act);
        }
        disk
    }
}

/// Random writes and discards of any length, flushes that are answered late and out of order, and cuts.
struct Random {
    draws: Draws,
    n: u64,
}

impl Random {
    fn new(seed: u64) -> Self {
        Self { draws: Draws::new(seed, 1), n: 0 }
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "small numbers")]
    fn below(&mut self, limit: usize) -> usize {
        self.n += 1;
        (self.draws.share(self.n) * limit as f64) as usize
    }

    fn act(&mut self, flushes: &mut Vec<u64>, keep_share: f64) -> Act {
        let offset = self.below(SIZE);
        let length = (1 << self.below(15)).min(SIZE - offset);
        match self.below(20) {
            12..15 => Act::Discard(offset, length),
            15..17 => Act::Close,
            17..19 if !flushes.is_empty() => Act::Answer(flushes.remove(self.below(flushes.len()))),
            19 if self.below(3) == 0 => {
                flushes.clear();
                Act::Cut(keep_share, self.n)
            }
            _ => Act::Write(offset, length, u8::try_from(self.n % 255).unwrap() + 1),
        }
    }
}

/// The oracle keeps a copy of the whole disk for each epoch.
#[test]
fn a_cut_gives_back_the_last_flushed_disk() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let (mut disk, mut durable, mut flushes, mut copies) = (Disk::new(), vec![0; SIZE], Vec::new(), Vec::new());
        let mut cuts = 0;
        for step in 0..600 {
            let act = random.act(&mut flushes, 0.0);
            let before = disk.undo.durable;
            let closed = disk.make(act);
            match act {
                Act::Close => {
                    flushes.push(closed);
                    copies.push((closed, disk.content()));
                }
                Act::Answer(number) if number > before => {
                    durable = copies.iter().rfind(|(closed, _)| *closed == number).unwrap().1.clone();
                }
                Act::Cut(..) => {
                    assert!(disk.content() == durable, "seed {seed}, step {step}");
                    cuts += 1;
                }
                _ => {}
            }
        }
        assert!(cuts > 0, "seed {seed}");
    }
}

/// The oracle of an image is another disk that did the same up to the instant of the image, and was cut then.
#[test]
fn an_image_is_the_disk_after_a_cut_and_the_disk_goes_on_as_without_it() {
    let mut differing = 0;
    for seed in 0..40 {
        let keep_share = [0.0, 0.3, 0.7, 1.0][usize::try_from(seed % 4).unwrap()];
        let mut random = Random::new(seed);
        let (mut disk, mut acts, mut flushes) = (Disk::new(), Vec::new(), Vec::new());
        for image_number in 0..12 {
            for _ in 0..random.below(60) {
                acts.push(random.act(&mut flushes, keep_share));
                let closed = disk.make(*acts.last().unwrap());
                if matches!(acts.last(), Some(Act::Close)) {
                    flushes.push(closed);
                }
            }
            let mut cut = Disk::after(&acts);
            assert!(cut.content() == disk.content(), "seed {seed}: image {image_number} changed the disk");
            let expected = cut.undo.roll_back(&cut.memory, keep_share, image_number);
            differing += usize::from(cut.content() != disk.content());

            let mut unflushed = Unflushed::with_room(random.below(30));
            disk.undo.begin_image(Snapshot::new(SIZE), &mut unflushed);
            let effects = unflushed.effects(keep_share, image_number);
            assert_eq!(effects.versions, expected);
            let (mut image, mut next) = (vec![0; SIZE], 0);
            while next < PAGES {
                for _ in 0..random.below(6) {
                    acts.push(random.act(&mut flushes, keep_share));
                    let closed = disk.make(*acts.last().unwrap());
                    if matches!(acts.last(), Some(Act::Close)) {
                        flushes.push(closed);
                    }
                }
                let count = (random.below(9) + 1).min(PAGES - next);
                let mut pages = vec![99; count * PAGE];
                let written = disk.undo.next_of_image(&disk.memory, &effects, &mut pages);
                for ((page, bytes), _) in (next..).zip(pages.chunks(PAGE)).zip(written).filter(|(_, written)| *written) {
                    image[page * PAGE..(page + 1) * PAGE].copy_from_slice(bytes);
                }
                next += count;
            }
            disk.undo.end_image();
            assert!(image == cut.content(), "seed {seed}, image {image_number}");
        }
        let mut without = Disk::after(&acts);
        assert_eq!(disk.undo.roll_back(&disk.memory, 0.5, 9), without.undo.roll_back(&without.memory, 0.5, 9));
        assert!(disk.content() == without.content(), "seed {seed}");
    }
    assert!(differing > 200, "only {differing} images differ from the running disk");
}

#[test]
fn a_page_is_kept_once_an_epoch_and_zeroes_are_not_copied() {
    let mut disk = Disk::new();
    disk.write(0, &[1; 3 * PAGE]);
    disk.write(PAGE, &[2; PAGE]);
    disk.discard(10 * PAGE, 20 * PAGE);
    assert_eq!((disk.undo.unflushed_pages(), disk.undo.epochs[0].slots), (3, 0));
    let first = disk.undo.close();
    disk.write(PAGE + 7, &[3]);
    disk.write(PAGE + 8, &[3]);
    assert_eq!((disk.undo.unflushed_pages(), disk.undo.epochs[1].slots), (4, 1));
    assert_eq!(disk.undo.close(), first + 1);
    assert_eq!(disk.undo.close(), first + 1, "nothing was written in between");
    disk.answer(first);
    assert_eq!(disk.undo.unflushed_pages(), 1);
    disk.answer(first + 1);
    assert_eq!((disk.undo.unflushed_pages(), disk.undo.epochs.len(), disk.undo.spare.len()), (0, 1, 1));
}

#[test]
fn a_survivor_is_the_newest_version_or_an_older_one() {
    let mut seen = [0; 3];
    let mut counted = Versions::default();
    for seed in 0..100 {
        let mut disk = Disk::new();
        disk.write(0, &vec![1; SIZE]);
        let flushed = disk.undo.close();
        disk.answer(flushed);
        disk.write(0, &vec![2; SIZE]);
        disk.undo.close();
        disk.write(0, &vec![3; SIZE]);
        let versions = disk.undo.roll_back(&disk.memory, 0.5, seed);
        counted.dropped += versions.dropped;
        counted.kept += versions.kept;
        for page in disk.content().chunks(PAGE) {
            assert!(page.iter().all(|byte| byte == &page[0]), "a page survives whole");
            seen[page[0] as usize - 1] += 1;
        }
        assert_eq!(disk.undo.roll_back(&disk.memory, 0.0, 0), Versions::default(), "what survived is durable");
    }
    // The expected shares of the 6,400 pages are a quarter, a quarter and a half, within five standard deviations.
    let [oldest, older, newest] = seen;
    assert!((1427..1773).contains(&oldest) && (1427..1773).contains(&older) && (3000..3400).contains(&newest), "{seen:?}");
    assert_eq!(counted, Versions { dropped: 2 * oldest + older, kept: older + newest });
}

#[test]
fn a_share_of_one_keeps_all() {
    let mut disk = Disk::new();
    disk.write(5000, &[1; 10_000]);
    let before = disk.content();
    assert_eq!(disk.undo.roll_back(&disk.memory, 1.0, 3), Versions { dropped: 0, kept: 3 });
    assert!(disk.content() == before);
}
