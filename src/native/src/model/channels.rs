//! The channels of a device. Each channel serves one request at a time, and the channel that is free first takes the next
//! request.

/// The times at which the channels are free, in ns. They ascend from index `first` on and go on at index 0 after the end. If
/// there are none, the number of channels has no limit, and a channel is always free.
#[derive(Debug)]
pub struct Channels {
    free_ns: Box<[u64]>,
    first: usize,
}

impl Channels {
    pub fn new(channels: u32) -> Self {
        Self { free_ns: (0..channels).map(|_| 0).collect(), first: 0 }
    }

    /// Returns the time at which the next request finds a free channel, in ns.
    pub fn free_ns(&self) -> u64 {
        self.free_ns.get(self.first).copied().unwrap_or(0)
    }

    /// Lets the request that found a channel hold it until `done_ns`.
    pub fn hold(&mut self, done_ns: u64) {
        // Later requests are mostly completed later, so the place of `done_ns` is near the end of the order, which is where the
        // first channel was.
        let channels = self.free_ns.len();
        let mut hole = self.first;
        for _ in 1..channels {
            let before = if hole == 0 { channels - 1 } else { hole - 1 };
            if self.free_ns[before] <= done_ns {
                break;
            }
            self.free_ns[hole] = self.free_ns[before];
            hole = before;
        }
        if channels > 0 {
            self.free_ns[hole] = done_ns;
            self.first = if self.first + 1 == channels { 0 } else { self.first + 1 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_that_is_free_first_is_next() {
        let mut channels = Channels::new(3);
        let found = [50, 20, 40, 30, 90, 35, 60].map(|done_ns| {
            let free_ns = channels.free_ns();
            channels.hold(done_ns);
            free_ns
        });
        assert_eq!(found, [0, 0, 0, 20, 30, 40, 35]);
    }
}
