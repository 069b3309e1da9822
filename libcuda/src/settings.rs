//! What did the user ask for? `kc gpu` says it by variables of the environment, and so can anybody.

use std::ffi::c_int;
use std::path::PathBuf;
use std::sync::OnceLock;

use kc::profile::{Gpu, Limits, known_architectures};

/// How the simulated machine is made.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `KC_SIM_DEVICES`: how many GPUs there are, of which `CUDA_VISIBLE_DEVICES` may name some.
    pub devices: usize,
    /// `KC_SIM_ARCH`: of which architecture.
    pub limits: &'static Limits,
    pub gpu: &'static Gpu,
    /// `KC_SIM_MEMORY`: bytes of each.
    pub memory: u64,
    /// `KC_SIM_CHECKS`: what is looked for besides what ends a launch in any case. Races of streams
    /// are races.
    pub races: bool,
    pub uninitialised: bool,
    pub leaks: bool,
    /// `KC_SIM_SEED`: the order of blocks and warps; in their order without.
    pub seed: Option<u64>,
    /// `KC_SIM_STEPS`: instructions that a warp may run.
    pub steps: u64,
    /// `KC_SIM_LOG`: a file for a line of JSON for each launch and finding.
    pub log: Option<PathBuf>,
    /// `KC_SIM_COUNT`: count what a profiler counts.
    pub counts: bool,
}

/// The words of `KC_SIM_CHECKS`.
const CHECKS: [&str; 3] = ["races", "uninitialised", "leaks"];
const MOST_DEVICES: usize = 16;

impl Settings {
    /// Those of the environment, or what is wrong with them.
    pub fn read() -> Result<Settings, String> {
        Settings::of(&|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn of(value: &dyn Fn(&str) -> Option<String>) -> Result<Settings, String> {
        let number = |name: &str, usual: u64| match value(name) {
            Some(text) => bytes(&text).ok_or_else(|| format!("{name}={text} is no number")),
            None => Ok(usual),
        };
        let arch = value("KC_SIM_ARCH").unwrap_or_else(|| "sm_90".to_string());
        let known = Limits::of(&arch).zip(Gpu::of(&arch));
        let (limits, gpu) = known.ok_or_else(|| {
            format!("KC_SIM_ARCH={arch} is not known; known architectures: {}", known_architectures().join(", "))
        })?;
        let devices = number("KC_SIM_DEVICES", 1)? as usize;
        if devices > MOST_DEVICES {
            return Err(format!("KC_SIM_DEVICES={devices}: there can be {MOST_DEVICES}"));
        }
        // All are alike: what counts is how many a program sees.
        let devices = match value("CUDA_VISIBLE_DEVICES") {
            Some(list) => {
                list.split(',').take_while(|id| id.trim().parse().is_ok_and(|id: usize| id < devices)).count()
            }
            None => devices,
        };
        if devices == 0 {
            return Err("no GPU is visible (KC_SIM_DEVICES, CUDA_VISIBLE_DEVICES)".to_string());
        }
        let memory = number("KC_SIM_MEMORY", 8 << 30)?;
        if !(1 << 20..=1 << 40).contains(&memory) {
            return Err(format!("KC_SIM_MEMORY={memory}: a GPU has from 1M to 1024G bytes"));
        }
        let checks = value("KC_SIM_CHECKS").unwrap_or_else(|| "races,uninitialised".to_string());
        let checks: Vec<&str> = checks.split(',').filter(|check| !check.is_empty() && *check != "none").collect();
        if let Some(unknown) = checks.iter().find(|check| !CHECKS.contains(check)) {
            return Err(format!("KC_SIM_CHECKS: `{unknown}` is no check; there are {}, or none", CHECKS.join(", ")));
        }
        Ok(Settings {
            devices,
            limits,
            gpu,
            memory,
            races: checks.contains(&"races"),
            uninitialised: checks.contains(&"uninitialised"),
            leaks: checks.contains(&"leaks"),
            seed: match value("KC_SIM_SEED") {
                Some(_) => Some(number("KC_SIM_SEED", 0)?),
                None => None,
            },
            steps: number("KC_SIM_STEPS", kc::sim::How::LIMIT)?.max(1),
            log: value("KC_SIM_LOG").map(PathBuf::from),
            counts: value("KC_SIM_COUNT").is_some_and(|value| value != "0"),
        })
    }
}

/// What a function of the driver returns in any case (`KC_SIM_FAIL=cuInit:100`): so programs are
/// tested for what they do then.
pub fn failing(name: &str) -> Option<c_int> {
    static FAILS: OnceLock<Option<(String, c_int)>> = OnceLock::new();
    let read = || {
        let value = std::env::var("KC_SIM_FAIL").ok()?;
        let (name, status) = value.split_once(':')?;
        Some((name.to_string(), status.parse().ok()?))
    };
    let (failing, status) = FAILS.get_or_init(read).as_ref()?;
    (failing == name).then_some(*status)
}

/// `512`, `64M`, `8G`.
fn bytes(text: &str) -> Option<u64> {
    let (digits, unit) = match text.char_indices().find(|(_, c)| !c.is_ascii_digit()) {
        Some((at, _)) => text.split_at(at),
        None => (text, ""),
    };
    let shift = match unit {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}
