//! The options for devices that look for faults.

use std::process::Command;

use crate::run::devices::Trial;

/// What `--device sim` tries, and looks for.
#[derive(clap::Args, Debug, Clone)]
pub(super) struct TrialArgs {
    /// Run a launch so often on `sim`, each time in another order of its threads, and compare what
    /// is left.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    schedules: u32,
    /// Which orders these are.
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Instructions that a warp may run on `sim` before it is taken for endless.
    #[arg(long, value_name = "N", default_value_t = Trial::PLAIN.steps, value_parser = clap::value_parser!(u64).range(1..))]
    steps: u64,
    /// What `sim` does not look for.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "CHECK")]
    no_check: Vec<Check>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum, Debug)]
enum Check {
    /// Accesses of several threads that nothing orders.
    Races,
    /// Reads of memory that was never written.
    Uninitialised,
}

impl TrialArgs {
    pub fn trial(&self) -> Trial {
        Trial {
            schedules: self.schedules,
            seed: self.seed,
            steps: self.steps,
            races: !self.no_check.contains(&Check::Races),
            uninitialised: !self.no_check.contains(&Check::Uninitialised),
            counts: false,
        }
    }

    /// The same options for another process.
    pub fn pass_on(&self, command: &mut Command) {
        let Trial { schedules, seed, steps, races, uninitialised, counts: _ } = self.trial();
        command.arg("--schedules").arg(schedules.to_string());
        command.arg("--seed").arg(seed.to_string());
        command.arg("--steps").arg(steps.to_string());
        for (on, name) in [(races, "races"), (uninitialised, "uninitialised")] {
            command.args((!on).then_some(["--no-check", name]).into_iter().flatten());
        }
    }
}
