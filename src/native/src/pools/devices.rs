//! The devices of a pool: groups of equal devices, and which of them has a segment.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::array::{Array, MemberOp};
use super::{PAGE_BYTES, SEGMENT_PAGES};
use crate::model::{Model, Op, Parameters, Request};

const SEGMENT_BYTES: u64 = SEGMENT_PAGES * PAGE_BYTES;
/// Bytes that the store of metadata appends to its log for a new segment.
const PUT_BYTES: u64 = PAGE_BYTES;

/// Equal devices with a layout.
pub struct Group {
    array: Array,
    models: Vec<Model>,
    /// Reads, read bytes, writes and written bytes of each device.
    served: Vec<[u64; 4]>,
    turn: u64,
}

impl Group {
    pub fn new(array: Array, parameters: &Parameters) -> Self {
        let model = |number| Model::new(Parameters { seed: parameters.seed.wrapping_add(number), ..parameters.clone() });
        let models: Vec<_> = (0..array.devices).map(model).collect();
        Self { array, served: vec![[0; 4]; models.len()], models, turn: 0 }
    }

    /// Lets devices serve requests that arrive at one time. Returns when the last of them is done.
    fn serve(&mut self, now_ns: u64, ops: &[MemberOp]) -> u64 {
        let mut done_ns = now_ns;
        for &MemberOp { device, op, offset, length } in ops {
            let counts = &mut self.served[device];
            let first = if op == Op::Read { 0 } else { 2 };
            counts[first] += 1;
            counts[first + 1] += length;
            let request = Request { arrival_ns: now_ns, op, offset, length };
            done_ns = done_ns.max(self.models[device].completion_ns(&request));
        }
        done_ns
    }
}

/// Segments that a tier holds. When it is full, the segment whose last use is the oldest leaves.
struct Held {
    capacity: u64,
    /// Slot and last use of each segment.
    slots: FxHashMap<u64, (u64, u64)>,
    by_use: BTreeMap<u64, u64>,
    uses: u64,
}

impl Held {
    /// Returns the slot of a segment, and counts a use of it.
    fn find(&mut self, segment: u64) -> Option<u64> {
        let (slot, used) = self.slots.get_mut(&segment)?;
        self.by_use.remove(used);
        self.uses += 1;
        *used = self.uses;
        self.by_use.insert(self.uses, segment);
        Some(*slot)
    }

    /// Gives a slot to a segment. Returns it with the segment that had to leave it.
    fn admit(&mut self, segment: u64) -> (u64, Option<u64>) {
        let mut slot = (self.slots.len() as u64, None);
        if slot.0 >= self.capacity
            && let Some((_, oldest)) = self.by_use.pop_first()
            && let Some((freed, _)) = self.slots.remove(&oldest)
        {
            slot = (freed, Some(oldest));
        }
        self.uses += 1;
        self.slots.insert(segment, (slot.0, self.uses));
        self.by_use.insert(self.uses, segment);
        slot
    }
}

/// A group of devices of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Data,
    Metadata,
    Tier,
}

/// Requests to devices in steps, of which each begins when the one before is done.
#[derive(Default)]
pub struct Steps {
    ops: Vec<MemberOp>,
    /// Group of each step, and the number of requests up to its end.
    ends: Vec<(Place, usize)>,
    next: usize,
}

impl Steps {
    pub fn clear(&mut self) {
        self.ops.clear();
        self.ends.clear();
        self.next = 0;
    }

    fn add(&mut self, place: Place, ops: &mut Vec<MemberOp>) {
        if !ops.is_empty() {
            self.ops.append(ops);
            self.ends.push((place, self.ops.len()));
        }
    }
}

/// The devices on which the store of metadata keeps its log.
pub enum Metadata {
    None,
    Own(Group),
    /// The devices of the tier, behind its segments.
    OnTier,
}

/// Devices for data, perhaps some for metadata, and perhaps a tier that holds segments before they go to the data devices.
pub struct Pool {
    data: Group,
    metadata: Metadata,
    tier: Option<(Group, Held)>,
    /// Place of each segment on the data devices, in the order of the first requests, and whether it was written.
    places: FxHashMap<u64, (u64, bool)>,
    puts: u64,
    moved: u64,
    first: Vec<MemberOp>,
    then: Vec<MemberOp>,
}

impl Pool {
    /// Makes a pool. The tier is a group with the number of segments that it holds.
    pub fn new(data: Group, metadata: Metadata, tier: Option<(Group, u64)>) -> Self {
        let held =
            |capacity: u64| Held { capacity: capacity.max(1), slots: FxHashMap::default(), by_use: BTreeMap::new(), uses: 0 };
        let tier = tier.map(|(group, capacity)| (group, held(capacity)));
        Self { data, metadata, tier, places: FxHashMap::default(), puts: 0, moved: 0, first: Vec::new(), then: Vec::new() }
    }

    /// Returns reads, read bytes, writes and written bytes of each device of the data, the metadata and the tier.
    pub fn served(&self) -> [Vec<[u64; 4]>; 3] {
        let of = |group: Option<&Group>| group.map_or_else(Vec::new, |group| group.served.clone());
        let metadata = if let Metadata::Own(group) = &self.metadata { Some(group) } else { None };
        [of(Some(&self.data)), of(metadata), of(self.tier.as_ref().map(|(group, _)| group))]
    }

    /// Returns the number of segments that left the tier.
    pub fn moved(&self) -> u64 {
        self.moved
    }

    /// Returns whether the pool is a single device, which serves a part of a request in one step.
    pub fn is_alone(&self) -> bool {
        self.data.models.len() == 1 && matches!(self.metadata, Metadata::None) && self.tier.is_none()
    }

    /// Lets the only device of a pool serve a part of a segment. Returns when it is done, and whether it is the first write to the
    /// segment.
    pub fn serve_alone(&mut self, now_ns: u64, segment: u64, inside: u64, length: u64, is_write: bool) -> (u64, bool) {
        let (place, is_first) = self.place(segment, is_write);
        let op = if is_write { Op::Write } else { Op::Read };
        (self.data.serve(now_ns, &[MemberOp { device: 0, op, offset: place * SEGMENT_BYTES + inside, length }]), is_first)
    }

    /// Returns the place of a segment on the data devices, and whether this is the first write to it.
    fn place(&mut self, segment: u64, is_write: bool) -> (u64, bool) {
        let count = self.places.len() as u64;
        let (place, is_written) = self.places.entry(segment).or_insert((count, false));
        let is_first = is_write && !*is_written;
        *is_written |= is_write;
        (*place, is_first)
    }

    /// Adds the steps by which a part of a segment is written, from `inside` on. Returns whether this is the first write to the
    /// segment, whose metadata are made then, and the steps by which another segment leaves the tier for it.
    pub fn write(&mut self, segment: u64, inside: u64, length: u64, steps: &mut Steps) -> (bool, Option<Steps>) {
        let (place, is_first) = self.place(segment, true);
        if is_first {
            self.put(steps);
        }
        let Some((group, held)) = &mut self.tier else {
            self.data.array.write(place * SEGMENT_BYTES + inside, length, &mut self.first, &mut self.then);
            steps.add(Place::Data, &mut self.first);
            steps.add(Place::Data, &mut self.then);
            return (is_first, None);
        };
        let (slot, left) = held.find(segment).map_or_else(|| held.admit(segment), |slot| (slot, None));
        group.array.write(slot * SEGMENT_BYTES + inside, length, &mut self.first, &mut self.then);
        steps.add(Place::Tier, &mut self.first);
        steps.add(Place::Tier, &mut self.then);
        (is_first, left.map(|left| self.leave(left, slot)))
    }

    /// Adds the steps by which the metadata of a new segment are stored.
    fn put(&mut self, steps: &mut Steps) {
        let (place, group, begin) = match (&self.metadata, &self.tier) {
            (Metadata::None, _) | (Metadata::OnTier, None) => return,
            (Metadata::Own(group), _) => (Place::Metadata, group, 0),
            (Metadata::OnTier, Some((group, held))) => (Place::Tier, group, held.capacity * SEGMENT_BYTES),
        };
        group.array.write(begin + self.puts * PUT_BYTES, PUT_BYTES, &mut self.first, &mut self.then);
        self.puts += 1;
        steps.add(place, &mut self.first);
        steps.add(place, &mut self.then);
    }

    /// Returns the steps by which a segment goes from a slot of the tier to the data devices. No request waits for them.
    fn leave(&mut self, segment: u64, slot: u64) -> Steps {
        let (place, mut steps) = (self.places[&segment].0, Steps::default());
        self.moved += 1;
        if let Some((group, _)) = &mut self.tier {
            group.array.read(slot * SEGMENT_BYTES, SEGMENT_BYTES, group.turn, &mut self.then);
            group.turn += 1;
        }
        steps.add(Place::Tier, &mut self.then);
        self.data.array.write(place * SEGMENT_BYTES, SEGMENT_BYTES, &mut self.first, &mut self.then);
        steps.add(Place::Data, &mut self.first);
        steps.add(Place::Data, &mut self.then);
        steps
    }

    /// Adds the step by which a part of a segment is read.
    pub fn read(&mut self, segment: u64, inside: u64, length: u64, steps: &mut Steps) {
        let slot = self.tier.as_mut().and_then(|(_, held)| held.find(segment));
        let (place, group, at) = if let (Some(slot), Some((group, _))) = (slot, &mut self.tier) {
            (Place::Tier, group, slot)
        } else {
            // A read can overlap the first write in the capture, and then be served before it. The segment has its place already.
            let (at, _) = self.place(segment, false);
            (Place::Data, &mut self.data, at)
        };
        group.array.read(at * SEGMENT_BYTES + inside, length, group.turn, &mut self.then);
        group.turn += 1;
        steps.add(place, &mut self.then);
    }

    /// Lets the devices serve the next step. Returns when it is done, or `None` if no step is left.
    pub fn serve(&mut self, now_ns: u64, steps: &mut Steps) -> Option<u64> {
        let &(place, end) = steps.ends.get(steps.next)?;
        let begin = steps.next.checked_sub(1).map_or(0, |before| steps.ends[before].1);
        steps.next += 1;
        let group = match place {
            Place::Data => Some(&mut self.data),
            Place::Metadata => match &mut self.metadata {
                Metadata::Own(group) => Some(group),
                _ => None,
            },
            Place::Tier => self.tier.as_mut().map(|(group, _)| group),
        };
        group.map(|group| group.serve(now_ns, &steps.ops[begin..end]))
    }
}
