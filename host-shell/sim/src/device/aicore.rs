//! The AICore front end: which child runs when, and for whom.
//!
//! An execution is one launch between its *work* verdict and its end. Executions of one context come one after another, so they
//! can be counted: the branch that takes the n-th *work* of an area serves its n-th execution. Children wait in their
//! execution's queue until that branch is there, then run one after another, the blocks of each spread over the workers; blocks
//! beyond the number of workers take their turn. All children run even when one fails; the first failure is kept.
//!
//! Waiting branches occupy no worker: the scheduler looks after them. No lock is held while a block runs.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use heapless::Deque;
use tenon_core::area::MAX_AREAS;
use tenon_core::device::{AicoreJob, MAX_CHILD_SCALARS, MAX_CHILD_TENSORS};
use tenon_core::status::DispatchAnswer;

use super::channel::lock;
use super::random::{Random, Shuffle};
use crate::shm::Stats;

/// Children of one execution that can wait; who starts more waits until one has run.
const QUEUED_CHILDREN: usize = 16;

/// A child with its arguments.
#[derive(Clone, Copy)]
struct Child(AicoreJob);

// SAFETY: the tensors live until the launch has ended, and the launch waits for its children: the contract of `AicoreJob`.
unsafe impl Send for Child {}

/// The child of an execution whose turn it is.
struct Running {
    child: Child,
    order: Shuffle,
    issued: u32,
    finished: u32,
}

/// A launch that has started children.
#[derive(Default)]
struct Execution {
    /// Place of its area, while the entry is in use.
    area: Option<usize>,
    waiting: Deque<Child, QUEUED_CHILDREN>,
    running: Option<Running>,
    /// Children begun so far.
    begun: u64,
    /// First failure of a child, else 0.
    failure: i32,
    /// No branch came to serve it: its children were dropped.
    is_abandoned: bool,
}

impl Execution {
    fn is_idle(&self) -> bool {
        self.running.is_none() && self.waiting.is_empty()
    }

    /// Blocks that could be handed out now, were there a branch.
    fn next_blocks(&self) -> u32 {
        match &self.running {
            Some(running) => running.child.0.blocks - running.issued,
            None => self.waiting.front().map_or(0, |child| child.0.blocks),
        }
    }
}

/// *Work* verdicts taken and executions ended, per area. Both only grow, and wrap.
#[derive(Clone, Copy, Default)]
struct Count {
    taken: u32,
    ended: u32,
}

impl Count {
    /// Whether a branch is there for the execution that is going on.
    const fn is_served(self) -> bool {
        is_before(self.ended, self.taken)
    }
}

/// Whether `a` comes before `b`, for counters that wrap.
const fn is_before(a: u32, b: u32) -> bool {
    a != b && b.wrapping_sub(a) < 1 << 31
}

struct State {
    counts: Box<[Count]>,
    /// One entry per AICPU thread: each has at most one execution.
    executions: Box<[Execution]>,
    /// Workers that found nothing to do.
    idle_workers: usize,
    choice: Random,
}

impl State {
    fn of(&mut self, area: usize) -> Option<&mut Execution> {
        self.executions.iter_mut().find(|execution| execution.area == Some(area))
    }

    fn is_ready(&self, execution: &Execution) -> bool {
        execution.next_blocks() > 0 && execution.area.is_some_and(|area| self.counts[area].is_served())
    }
}

/// One block to run.
struct Block {
    execution: usize,
    child: Child,
    block: u32,
}

/// The front end and its workers' queue.
pub struct Front {
    state: Mutex<State>,
    /// There may be a block to run.
    work: Condvar,
    /// A child has ended, or an execution was given up.
    progress: Condvar,
    /// `Count::ended` again, for the scheduler to look at without the lock.
    ended: Box<[AtomicU32]>,
    patience: Duration,
    seed: u64,
}

impl Front {
    /// A front end for so many AICPU threads. `patience` is how long an execution with children waits for its AICore branch.
    #[must_use]
    pub fn new(aicpu_threads: usize, patience: Duration, seed: u64) -> Self {
        Self {
            state: Mutex::new(State {
                counts: vec![Count::default(); MAX_AREAS].into(),
                executions: (0..aicpu_threads).map(|_| Execution::default()).collect(),
                idle_workers: 0,
                choice: Random::split(seed, &[u64::from_le_bytes(*b"aicore  ")]),
            }),
            work: Condvar::new(),
            progress: Condvar::new(),
            ended: (0..MAX_AREAS).map(|_| AtomicU32::new(0)).collect(),
            patience,
            seed,
        }
    }

    /// A branch has taken *work* in this area. Gives the number of the execution that it serves from now on.
    pub fn serve(&self, area: usize) -> u32 {
        let mut state = lock(&self.state);
        let number = state.counts[area].taken;
        state.counts[area].taken = number.wrapping_add(1);
        self.wake_workers(&state);
        number
    }

    /// Whether the execution that a branch serves has ended.
    #[must_use]
    pub fn has_ended(&self, area: usize, number: u32) -> bool {
        is_before(number, self.ended[area].load(Acquire))
    }

    /// Queues one child of the execution in this area.
    pub fn start(&self, area: usize, job: &AicoreJob) -> DispatchAnswer {
        let fits = |count: u32, most: usize| usize::try_from(count).is_ok_and(|count| count <= most);
        if job.entry.is_none()
            || job.blocks == 0
            || !fits(job.tensor_count, MAX_CHILD_TENSORS)
            || !fits(job.scalar_count, MAX_CHILD_SCALARS)
        {
            return DispatchAnswer::InvalidBinding;
        }
        let mut state = lock(&self.state);
        if state.of(area).is_none() {
            // There is an entry for every AICPU thread, and this is one that had none.
            let Some(free) = state.executions.iter_mut().find(|execution| execution.area.is_none()) else {
                return DispatchAnswer::ExecutionFailed;
            };
            *free = Execution { area: Some(area), ..Execution::default() };
        }
        state = self.wait_until(state, area, |execution| !execution.waiting.is_full());
        let is_queued = state
            .of(area)
            .filter(|execution| !execution.is_abandoned)
            .is_some_and(|execution| execution.waiting.push_back(Child(*job)).is_ok());
        if !is_queued {
            return DispatchAnswer::ExecutionFailed;
        }
        self.wake_workers(&state);
        DispatchAnswer::Success
    }

    /// Waits until every child of the execution in this area has run. The first failure of one, or 0.
    pub fn wait(&self, area: usize) -> i32 {
        let mut state = self.wait_until(lock(&self.state), area, Execution::is_idle);
        state.of(area).map_or(0, |execution| execution.failure)
    }

    /// The execution in this area has ended: its branch may leave.
    pub fn end(&self, area: usize) {
        let mut state = self.wait_until(lock(&self.state), area, Execution::is_idle);
        if let Some(execution) = state.of(area) {
            *execution = Execution::default();
        }
        let ended = state.counts[area].ended.wrapping_add(1);
        state.counts[area].ended = ended;
        self.ended[area].store(ended, Release);
    }

    /// What a worker does, for ever.
    pub fn work(&self, stats: &Stats) -> ! {
        let mut state = lock(&self.state);
        loop {
            let Some(block) = self.issue(&mut state) else {
                state.idle_workers += 1;
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle_workers -= 1;
                continue;
            };
            drop(state);
            let result = run(&block);
            stats.blocks.fetch_add(1, Relaxed);
            state = lock(&self.state);
            self.finish(&mut state, block.execution, result);
        }
    }

    /// Waits until `is_met` for the execution in this area; gives an execution up that no branch serves for too long.
    fn wait_until<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        area: usize,
        is_met: impl Fn(&Execution) -> bool,
    ) -> MutexGuard<'a, State> {
        let mut deadline = Instant::now() + self.patience;
        loop {
            let is_served = state.counts[area].is_served();
            match state.of(area) {
                Some(execution) if !is_met(execution) => {
                    if is_served {
                        deadline = Instant::now() + self.patience;
                    } else if Instant::now() >= deadline {
                        execution.waiting.clear();
                        execution.is_abandoned = true;
                        if execution.failure == 0 {
                            execution.failure = DispatchAnswer::ExecutionFailed.code().cast_signed();
                        }
                        continue;
                    }
                }
                _ => return state,
            }
            let left = deadline.saturating_duration_since(Instant::now());
            (state, _) = self.progress.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes the next block of one of the executions that have one.
    fn issue(&self, state: &mut State) -> Option<Block> {
        let is_ready = |state: &State, index: &usize| state.is_ready(&state.executions[*index]);
        let indices = 0..state.executions.len();
        let ready = indices.clone().filter(|index| is_ready(state, index)).count();
        let place = match u32::try_from(ready) {
            Ok(0) | Err(_) => return None,
            Ok(1) => 0,
            Ok(ready) => state.choice.below(ready),
        };
        let index = indices.filter(|index| is_ready(state, index)).nth(usize::try_from(place).ok()?)?;
        let number = state.executions[index].area.map(|area| (area, state.counts[area].ended))?;
        let execution = &mut state.executions[index];
        if execution.running.is_none() {
            let child = execution.waiting.pop_front()?;
            let purpose = [number.0 as u64, number.1.into(), execution.begun];
            execution.begun += 1;
            let order = Shuffle::new(child.0.blocks, &mut Random::split(self.seed, &purpose));
            execution.running = Some(Running { child, order, issued: 0, finished: 0 });
        }
        let running = execution.running.as_mut()?;
        let block = running.order.at(running.issued);
        running.issued += 1;
        Some(Block { execution: index, child: running.child, block })
    }

    /// Notes the end of a block.
    fn finish(&self, state: &mut MutexGuard<'_, State>, index: usize, result: i32) {
        let execution = &mut state.executions[index];
        if execution.failure == 0 {
            execution.failure = result;
        }
        let Some(running) = execution.running.as_mut() else { return };
        running.finished += 1;
        if running.finished == running.child.0.blocks {
            execution.running = None;
            self.progress.notify_all();
            self.wake_workers(state);
        }
    }

    /// Wakes as many sleeping workers as there are blocks to run.
    fn wake_workers(&self, state: &State) {
        let ready = state.executions.iter().filter(|execution| state.is_ready(execution));
        let blocks: usize = ready.map(|execution| execution.next_blocks() as usize).sum();
        for _ in 0..blocks.min(state.idle_workers) {
            self.work.notify_one();
        }
    }
}

/// Runs one block. No lock is held.
fn run(block: &Block) -> i32 {
    let AicoreJob { entry, blocks, tensor_count, scalar_count, ref tensors, ref scalars, .. } = block.child.0;
    let Some(entry) = entry else { return DispatchAnswer::ExecutionFailed.code().cast_signed() };
    // SAFETY:
    // 1. `entry` is a child's entry and its tensors live until the launch has ended: the contract of `aicore_start`;
    // 2. the counts are at most the lengths of both arrays: `start` checked them;
    // 3. the arrays live until this function returns.
    unsafe { entry(tensors.as_ptr(), tensor_count, scalars.as_ptr(), scalar_count, block.block, blocks) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_compared_across_their_wrap() {
        assert!(is_before(0, 1) && is_before(u32::MAX, 0) && is_before(u32::MAX, 5));
        assert!(!is_before(1, 1) && !is_before(1, 0) && !is_before(0, u32::MAX));
    }
}
