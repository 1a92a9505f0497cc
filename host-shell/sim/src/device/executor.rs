//! Work that streams and replays do alike: begun once, watched until it ends.
//!

use core::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use tenon_core::verdict::{self, Taken, Verdict};

use super::Device;
use super::area::MappedArea;
use super::engines::{Job, LaneId, OUTSTANDING};
use super::failure::{AICORE_TIMEOUT, DRIVER, Failure, Outcome};
use super::log::{self, Level};
use super::task::{Malformed, Work};
use super::transfer::{self, SMALL_BYTES};

/// What begun work waits for.
#[derive(Clone, Copy, Debug)]
pub enum Waiting {
    /// The engine that it was given to.
    Engine,
    /// Room in the engines' queues.
    Room(Work),
    /// A verdict of this area, until then.
    Verdict(MappedArea, Instant),
    /// The end of the execution with this number in the area at this place.
    Execution(usize, u32),
}

/// How far a piece of work is.
#[derive(Clone, Copy, Debug)]
pub enum Progress {
    /// It has ended.
    Ended(Outcome),
    /// It has not.
    Waiting(Waiting),
}

/// Gives work to the engines and keeps what they answer.
pub struct Executor {
    device: &'static Device,
    /// By lane: how its work at an engine ended.
    outcomes: Box<[Option<Outcome>]>,
    outstanding: usize,
    patience: Duration,
    /// When the first of the waiting branches runs out of time, of those looked at since `forget_deadline`.
    deadline: Option<Instant>,
}

impl Executor {
    /// For lanes with numbers below `lanes`.
    #[must_use]
    pub fn new(device: &'static Device, lanes: usize) -> Self {
        Self { device, outcomes: vec![None; lanes].into(), outstanding: 0, patience: device.patience(), deadline: None }
    }

    /// The device.
    #[must_use]
    pub const fn device(&self) -> &'static Device {
        self.device
    }

    /// Takes in what the engines have ended.
    pub fn collect(&mut self) {
        while let Some((LaneId(lane), outcome)) = self.device.engines.endings.try_receive() {
            self.outcomes[lane as usize] = Some(outcome);
            self.outstanding -= 1;
        }
    }

    /// Before all that waits is looked at.
    pub const fn forget_deadline(&mut self) {
        self.deadline = None;
    }

    /// How long nothing happens by itself; `None` for ever.
    #[must_use]
    pub fn quiet_for(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Begins `work` for a lane that has none.
    pub fn begin(&mut self, lane: LaneId, work: Work) -> Progress {
        let is_full = self.outstanding == OUTSTANDING;
        match work {
            Work::Transfer(transfer) if transfer.bytes <= SMALL_BYTES => {
                transfer::run(&transfer);
                return Progress::Ended(Ok(()));
            }
            Work::Aicore(address) => return self.begin_branch(lane, address),
            Work::Call(_) | Work::Transfer(_) if is_full => return Progress::Waiting(Waiting::Room(work)),
            Work::Call(call) => {
                if self.device.engines.jobs.send(Job::Call(lane, call)).is_err() {
                    return Progress::Waiting(Waiting::Room(work));
                }
            }
            Work::Transfer(transfer) => {
                if self.device.engines.transfers.send((lane, transfer)).is_err() {
                    return Progress::Waiting(Waiting::Room(work));
                }
            }
        }
        self.outstanding += 1;
        Progress::Waiting(Waiting::Engine)
    }

    /// Looks again at what a lane waits for.
    pub fn look(&mut self, lane: LaneId, waiting: Waiting) -> Progress {
        match waiting {
            Waiting::Engine => match self.outcomes[lane.0 as usize].take() {
                Some(outcome) => Progress::Ended(outcome),
                None => Progress::Waiting(waiting),
            },
            Waiting::Room(work) => self.begin(lane, work),
            Waiting::Verdict(area, until) => self.look_for_verdict(area, until),
            Waiting::Execution(area, number) => self.look_at_execution(area, number),
        }
    }

    fn begin_branch(&mut self, lane: LaneId, address: u64) -> Progress {
        match MappedArea::at(&self.device.machine, address) {
            Some(area) => self.look_for_verdict(area, Instant::now() + self.patience),
            None => Progress::Ended(Err(malformed(lane, Malformed::Area(address)))),
        }
    }

    fn look_for_verdict(&mut self, area: MappedArea, until: Instant) -> Progress {
        let stats = &self.device.control().stats;
        match verdict::try_take(&area) {
            Some(Taken::Verdict(Verdict::Work)) => {
                let number = self.device.front.serve(area.index);
                self.look_at_execution(area.index, number)
            }
            Some(Taken::Verdict(Verdict::Leave) | Taken::Cancelled) => {
                stats.aicore_leave.fetch_add(1, Relaxed);
                Progress::Ended(Ok(()))
            }
            None if Instant::now() >= until => {
                stats.aicore_timeouts.fetch_add(1, Relaxed);
                Progress::Ended(Err(Failure::of(AICORE_TIMEOUT)))
            }
            None => {
                self.deadline = Some(self.deadline.map_or(until, |deadline| deadline.min(until)));
                Progress::Waiting(Waiting::Verdict(area, until))
            }
        }
    }

    /// An execution without children may have ended before its branch came.
    fn look_at_execution(&self, area: usize, number: u32) -> Progress {
        if !self.device.front.has_ended(area, number) {
            return Progress::Waiting(Waiting::Execution(area, number));
        }
        self.device.control().stats.aicore_work.fetch_add(1, Relaxed);
        Progress::Ended(Ok(()))
    }
}

/// Logs a malformed task; gives the failure of its lane.
pub fn malformed(LaneId(lane): LaneId, why: Malformed) -> Failure {
    let (stream, lane) = (lane as usize / super::LANES_PER_STREAM, lane as usize % super::LANES_PER_STREAM);
    log::line(Level::Error, format_args!("malformed task: stream {stream} lane {lane}: {why}"));
    Failure::of(DRIVER)
}
