//! How long does each stage take?

use std::time::{Duration, Instant};

/// How long each stage took, in the order in which they ran.
#[derive(Clone, Debug, Default)]
pub struct Timings {
    stages: Vec<(&'static str, Duration)>,
}

impl Timings {
    /// Runs one stage and notes its time; a stage that runs again adds up.
    pub fn time<T>(&mut self, stage: &'static str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        let spent = start.elapsed();
        match self.stages.iter_mut().find(|(name, _)| *name == stage) {
            Some((_, total)) => *total += spent,
            None => self.stages.push((stage, spent)),
        }
        result
    }

    /// Adds what other work took.
    pub fn add(&mut self, other: &Timings) {
        for &(stage, spent) in &other.stages {
            match self.stages.iter_mut().find(|(name, _)| *name == stage) {
                Some((_, total)) => *total += spent,
                None => self.stages.push((stage, spent)),
            }
        }
    }

    pub fn stages(&self) -> &[(&'static str, Duration)] {
        &self.stages
    }
}
