//! A report in one HTML file that loads nothing: the source with the heat of its lines, the
//! figures, the occupancy as a picture, the advice.

use std::fmt::Write as _;

use super::{Line, Metric, Picture, Profile, find};
use crate::html::escape;

/// One launch of an entry beside the text that it was made of.
pub struct Page<'a> {
    pub profile: &'a Profile,
    /// The launch.
    pub id: &'a str,
    pub path: String,
    pub source: &'a str,
    pub arch: &'a str,
    /// The source is the PTX.
    pub foreign: bool,
}

/// The style of reports.
pub(super) const STYLE: &str = "body{font:14px/1.45 system-ui,sans-serif;margin:2em auto;max-width:75em;padding:0 1em;color:#1b1f24;background:#fff}\
h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}table{border-collapse:collapse}td,th{padding:.1em .7em;text-align:right}\
th{font-weight:600;border-bottom:1px solid #ccc;white-space:nowrap}.scroll{overflow-x:auto}.left{text-align:left}.kind{color:#777}\
.source td{font:12.5px/1.5 ui-monospace,monospace;white-space:pre}.source .number{color:#999}\
.beside{display:flex;flex-wrap:wrap;gap:1.5em}.beside>.scroll{flex:1 1 30em;max-height:80vh;overflow:auto}.beside th{position:sticky;top:0;background:inherit}\
.advice li{margin:.4em 0}a{color:#0a58ca}:target{outline:2px solid #0a58ca}svg{display:block;margin:.6em 0}\
@media(prefers-color-scheme:dark){body{background:#14171a;color:#e6e6e6}.kind,.source .number{color:#999}a{color:#7db3ff}th{border-color:#444}}";

/// Of tables of lines, less the end of its row.
const HEADER: &str =
    "<tr><th>line</th><th>sectors</th><th>excessive</th><th>warp instructions</th><th>lanes</th><th></th>";

/// What lines are coloured by.
pub(super) const SECTORS: &str = "memory_l2_theoretical_sectors_global";
pub(super) const EXCESS: &str = "derived__memory_l2_theoretical_sectors_global_excessive";
pub(super) const EXECUTED: &str = "smsp__inst_executed.sum";
pub(super) const LANES: &str = "smsp__thread_inst_executed_per_inst_executed.ratio";

/// The report of some launches.
pub fn report(pages: &[Page]) -> String {
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <link rel=\"icon\" href=\"data:,\"><title>kc profile</title><style>{STYLE}</style></head><body>\n"
    );
    for (n, page) in pages.iter().enumerate() {
        entry(n, page, &mut text);
    }
    text + "</body></html>\n"
}

fn entry(n: usize, page: &Page, text: &mut String) {
    let profile = page.profile;
    let form = profile.measured.form;
    let dims = |d: [u32; 3]| d.map(|extent| extent.to_string()).join(" × ");
    let _ = writeln!(
        text,
        "<section><h1>{}: {}</h1><p>grid {}, block {}</p>",
        escape(page.id),
        escape(&profile.measured.entry),
        dims(form.grid),
        dims(form.block)
    );
    occupancy(page, text);
    roofline(page, text);
    if !profile.advice.is_empty() {
        text.push_str("<h2>Advice</h2><ol class=\"advice\">\n");
        for advice in &profile.advice {
            let (line, message) = (advice.line, escape(&advice.message));
            let _ = writeln!(
                text,
                "<li><a href=\"#e{n}l{line}\">line {line}</a>: {message} ({:.0} %)</li>",
                100.0 * advice.share
            );
        }
        text.push_str("</ol>\n");
    } else {
        text.push_str("<h2>Advice</h2><p>No line stands out.</p>\n");
    }
    let _ = writeln!(
        text,
        "<h2>{}</h2><div class=\"beside\"><div class=\"scroll\"><table class=\"source\">{HEADER}</tr>",
        escape(&tidy(&page.path))
    );
    let heat = Heat::of(profile.lines.iter().map(|line| &*line.metrics));
    // The part of the source that ran, and a little around it.
    let (first, last) = match (profile.lines.first(), profile.lines.last()) {
        (Some(first), Some(last)) => (first.line.saturating_sub(3).max(1), last.line + 3),
        _ => (1, 0),
    };
    for (at, words) in (1..).zip(page.source.lines()).filter(|(at, _)| (first..=last).contains(at)) {
        let Some(line) = profile.lines.iter().find(|line| line.line == at) else {
            let _ = writeln!(
                text,
                "<tr><td class=\"number\">{at}</td><td></td><td></td><td></td><td></td><td class=\"left\">{}</td></tr>",
                escape(words)
            );
            continue;
        };
        let heat = heat.at(&line.metrics);
        let value = |line: &Line, name| value(&line.metrics, name);
        let _ = writeln!(
            text,
            "<tr id=\"e{n}l{at}\" style=\"background:rgba(255,112,32,{:.2})\"><td class=\"number\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.1}</td><td class=\"left\">{}</td></tr>",
            0.6 * heat,
            match profile.ptx.iter().find(|ptx| ptx.source == Some(at) && !page.foreign) {
                Some(ptx) => format!("<a href=\"#e{n}p{}\">{at}</a>", ptx.line),
                None => at.to_string(),
            },
            count(value(line, SECTORS)),
            count(value(line, EXCESS)),
            count(value(line, EXECUTED)),
            value(line, LANES),
            escape(words)
        );
    }
    text.push_str("</table></div>\n");
    // PTX that was given is the source.
    if !page.foreign {
        ptx(n, page.profile, text);
    }
    text.push_str("</div>\n<h2>Metrics</h2><table><tr><th class=\"left\">name</th><th>value</th><th class=\"left\">trust</th></tr>\n");
    for metric in &profile.metrics {
        let _ = writeln!(
            text,
            "<tr><td class=\"left\">{}</td><td>{}</td><td class=\"left kind\">{}</td></tr>",
            escape(metric.name),
            (metric.value * 1000.0).round() / 1000.0,
            metric.kind.name()
        );
    }
    text.push_str("</table></section>\n");
}

pub(super) fn value(metrics: &[Metric], name: &str) -> f64 {
    find(metrics, name).map_or(0.0, |metric| metric.value)
}

/// How much lines cost beside the one that costs most, from 0 to 1.
pub(super) struct Heat {
    sectors: f64,
    executed: f64,
}

impl Heat {
    pub fn of<'a>(lines: impl Iterator<Item = &'a [Metric]>) -> Heat {
        lines.fold(Heat { sectors: 1.0, executed: 1.0 }, |most, line| Heat {
            sectors: most.sectors.max(value(line, SECTORS)),
            executed: most.executed.max(value(line, EXECUTED)),
        })
    }

    pub fn at(&self, line: &[Metric]) -> f64 {
        (value(line, SECTORS) / self.sectors).max(0.3 * value(line, EXECUTED) / self.executed)
    }
}

/// The instructions that ran, each with the line that it comes from.
fn ptx(n: usize, profile: &Profile, text: &mut String) {
    let _ = writeln!(text, "<div class=\"scroll\"><table class=\"source\">{HEADER}<th>from line</th></tr>");
    let heat = Heat::of(profile.ptx.iter().map(|line| &*line.metrics));
    for line in &profile.ptx {
        let value = |name| value(&line.metrics, name);
        let _ = writeln!(
            text,
            "<tr id=\"e{n}p{at}\" style=\"background:rgba(255,112,32,{:.2})\"><td class=\"number\">{at}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.1}</td>\
             <td class=\"left\">{}</td><td>{}</td></tr>",
            0.6 * heat.at(&line.metrics),
            count(value(SECTORS)),
            count(value(EXCESS)),
            count(value(EXECUTED)),
            value(LANES),
            escape(&line.text),
            line.source.map_or_else(String::new, |line| format!("<a href=\"#e{n}l{line}\">{line}</a>")),
            at = line.line
        );
    }
    text.push_str("</table></div>\n");
}

/// A count; nothing for none, so that the eye finds the others.
fn count(value: f64) -> String {
    if value == 0.0 { String::new() } else { value.to_string() }
}

/// A path without the steps that lead into a folder and out of it again.
fn tidy(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match (part, parts.last()) {
            ("..", Some(&last)) if !matches!(last, "" | "." | "..") => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// A row of warps, those that are resident filled.
fn occupancy(page: &Page, text: &mut String) {
    let resident = &page.profile.resident;
    let found = &resident.occupancy;
    let _ = writeln!(
        text,
        "<h2>Occupancy on {}</h2><p>{} of {} warps, {} blocks a multiprocessor, limited by {}; at most {} registers a thread keep it so; {}{}</p>",
        escape(page.arch),
        found.warps_per_sm,
        found.most_warps,
        found.blocks_per_sm,
        found.limiter,
        found.free_registers,
        resident.registers.words(),
        resident.least.map_or_else(String::new, |least| format!(": at least {} warps", least.warps_per_sm))
    );
    let _ = write!(
        text,
        "<svg width=\"{}\" height=\"14\" role=\"img\" aria-label=\"resident warps\">",
        10 * found.most_warps
    );
    for warp in 0..found.most_warps {
        let fill = if warp < found.warps_per_sm { "#2da44e" } else { "#8884" };
        let _ = write!(text, "<rect x=\"{}\" y=\"1\" width=\"8\" height=\"12\" fill=\"{fill}\"/>", 10 * warp);
    }
    text.push_str("</svg>\n");
}

/// The launch under the roofs, and how busy each part is beside the one that limits.
fn roofline(page: &Page, text: &mut String) {
    let Some(roof) = &page.profile.roofline else { return };
    let _ = writeln!(
        text,
        "<h2>Roofline of {}</h2><p>{}. Peaks: {}. These are bounds, not times.</p>",
        escape(roof.gpu.name),
        escape(&roof.words()),
        escape(roof.gpu.source)
    );
    if let Some(picture) = Picture::of(&[(page.profile.measured.entry.clone(), roof)]) {
        text.push_str(&picture.svg(false));
    }
    text.push_str("<table><tr><th class=\"left\">part</th><th>asked</th><th class=\"left\"></th><th>busy</th><th class=\"left\">trust</th></tr>\n");
    for demand in &roof.demands {
        let _ = writeln!(
            text,
            "<tr><td class=\"left\">{}</td><td>{}</td><td class=\"left\">{}</td><td>{:.0} %</td><td class=\"left kind\">{}</td></tr>",
            demand.part,
            demand.amount,
            demand.unit,
            100.0 * demand.busy,
            demand.kind.name()
        );
    }
    text.push_str("</table>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_nowhere_and_back_no_more() {
        for (path, short) in [
            ("examples/launches/../spmv.py", "examples/spmv.py"),
            ("a/b/../../c.py", "c.py"),
            ("../a.py", "../a.py"),
            ("./../a.py", "./../a.py"),
            ("/../a.py", "/../a.py"),
        ] {
            assert_eq!(tidy(path), short);
        }
        assert_eq!((count(0.0), count(12.0)), (String::new(), "12".to_string()));
    }
}
