//! Does a launch hold a bound? `METRIC OP NUMBER`, the condition under which a check fails: a gate
//! against regressions.

use super::{Metric, find};

/// `l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum > 1000`
#[derive(Clone, Debug)]
pub struct Gate {
    pub text: String,
    metric: String,
    comparison: fn(&f64, &f64) -> bool,
    bound: f64,
}

/// How a gate ends for a launch.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Verdict {
    Holds,
    /// The value that breaks it.
    Fails(f64),
    /// The launch has no such count.
    Unknown,
}

/// Longer ones before those that they begin with.
const COMPARISONS: [(&str, fn(&f64, &f64) -> bool); 6] =
    [(">=", f64::ge), ("<=", f64::le), ("==", f64::eq), ("!=", f64::ne), (">", f64::gt), ("<", f64::lt)];

impl Gate {
    /// The message says what is wrong.
    pub fn parse(text: &str) -> Result<Gate, String> {
        let usage = || format!("`{text}` is no condition: write `METRIC > NUMBER`, with >, >=, <, <=, == or !=");
        let (at, (sign, comparison)) =
            COMPARISONS.iter().filter_map(|c| text.find(c.0).map(|at| (at, c))).next().ok_or_else(usage)?;
        let (metric, bound) = (text[..at].trim(), text[at + sign.len()..].trim());
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let bound: f64 = bound.parse().map_err(|_| usage())?;
        if metric.is_empty() || !metric.chars().all(is_name) || bound.is_nan() {
            return Err(usage());
        }
        Ok(Gate { text: text.to_string(), metric: metric.to_string(), comparison: *comparison, bound })
    }

    pub fn metric(&self) -> &str {
        &self.metric
    }

    pub fn check(&self, metrics: &[Metric]) -> Verdict {
        self.verdict(find(metrics, &self.metric).map(|metric| metric.value))
    }

    /// `value`: what the launch has of the metric.
    pub fn verdict(&self, value: Option<f64>) -> Verdict {
        match value {
            Some(value) if (self.comparison)(&value, &self.bound) => Verdict::Fails(value),
            Some(_) => Verdict::Holds,
            None => Verdict::Unknown,
        }
    }
}
