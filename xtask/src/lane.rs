//! One lane of `ci`: a name, a reason, its needs, its work, and what came of it.
//!

use std::time::{Duration, Instant};

use crate::needs::{Need, Presence};
use crate::workspace::{Result, Workspace};

/// A unit of checking that passes or fails as a whole.
pub(crate) struct Lane {
    /// Unique; `--only` looks for it.
    pub(crate) name: String,
    /// What only this lane shows.
    pub(crate) why: &'static str,
    /// Checked before anything is run.
    pub(crate) needs: Vec<Need>,
    /// How long it may take on two cores from a clean clone.
    pub(crate) budget: Duration,
    /// Only in `ci --full`.
    pub(crate) is_full_only: bool,
    /// Part of `cargo xtask check`.
    pub(crate) is_quick: bool,
    /// Its work. An error is a failure, with its reason.
    pub(crate) work: Work,
}

/// What a lane does.
pub(crate) type Work = Box<dyn Fn(&Workspace) -> Result>;

/// What came of a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Pass,
    Fail(String),
    Skip(String),
}

/// One row of the table.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) outcome: Outcome,
    pub(crate) took: Duration,
    pub(crate) budget: Duration,
}

impl Lane {
    /// A lane that needs nothing, in every run.
    pub(crate) fn new(
        name: impl Into<String>,
        seconds: u64,
        why: &'static str,
        work: impl Fn(&Workspace) -> Result + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            why,
            needs: Vec::new(),
            budget: Duration::from_secs(seconds),
            is_full_only: false,
            is_quick: false,
            work: Box::new(work),
        }
    }

    /// With `needs`.
    pub(crate) fn needing(mut self, needs: &[Need]) -> Self {
        self.needs.extend_from_slice(needs);
        self
    }

    /// Also in `cargo xtask check`.
    pub(crate) const fn quick(mut self) -> Self {
        self.is_quick = true;
        self
    }

    /// Only in `ci --full`.
    pub(crate) const fn full_only(mut self) -> Self {
        self.is_full_only = true;
        self
    }

    /// Runs it to its end, whatever that is.
    pub(crate) fn run(&self, workspace: &Workspace, require_hardware: bool) -> Row {
        let start = Instant::now();
        let outcome = match self.missing(workspace, require_hardware) {
            Some(outcome) => outcome,
            None => match (self.work)(workspace) {
                Ok(()) => Outcome::Pass,
                Err(error) => Outcome::Fail(error.to_string()),
            },
        };
        Row { name: self.name.clone(), outcome, took: start.elapsed(), budget: self.budget }
    }

    /// The outcome that the first unmet need gives, if one is unmet.
    fn missing(&self, workspace: &Workspace, require_hardware: bool) -> Option<Outcome> {
        self.needs.iter().find_map(|need| match need.probe(&workspace.shell) {
            Presence::Here(_) => None,
            Presence::MissingTool(fix) => Some(Outcome::Fail(format!("{} is missing: {fix}", need.name()))),
            Presence::MissingHardware(reason) if require_hardware => Some(Outcome::Fail(reason.to_owned())),
            Presence::MissingHardware(reason) => Some(Outcome::Skip(reason.to_owned())),
        })
    }
}
