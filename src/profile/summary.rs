//! What does a page that changes while it is looked at show of a launch (`kc explore`)? Less than a
//! whole report, which would take longer to read than to count.

use serde_json::{Value, json};

use super::html::{EXCESS, EXECUTED, Heat, LANES, SECTORS, value};
use super::{Profile, Roofline, USUAL};

impl Profile {
    /// The entry in words, its advice, what its lines cost, and its metrics.
    pub fn summary(&self) -> Value {
        let heat = Heat::of(self.lines.iter().map(|line| &*line.metrics));
        let lines = self.lines.iter();
        let heats: Vec<Value> =
            lines.clone().map(|line| json!({ "line": line.line, "heat": heat.at(&line.metrics) })).collect();
        let lines: Vec<Value> = lines
            .map(|line| {
                let of = |name| value(&line.metrics, name);
                json!({
                    "line": line.line, "sectors": of(SECTORS), "excessive": of(EXCESS), "executed": of(EXECUTED), "lanes": of(LANES),
                })
            })
            .collect();
        let advice = self.advice.iter();
        let advice: Vec<Value> =
            advice.map(|one| json!({ "line": one.line, "message": one.message, "share": one.share })).collect();
        let metrics = self.metrics.iter();
        let metrics: Vec<Value> = metrics
            .map(|one| {
                let usual = USUAL.contains(&one.name);
                json!({ "name": one.name, "value": one.number(), "kind": one.kind.name(), "usual": usual })
            })
            .collect();
        json!({
            "entry": self.measured.entry, "grid": self.measured.form.grid, "block": self.measured.form.block,
            "occupancy": self.resident.words(), "roofline": self.roofline.as_ref().map(Roofline::words),
            "advice": advice, "heat": heats, "lines": lines, "metrics": metrics,
        })
    }
}
