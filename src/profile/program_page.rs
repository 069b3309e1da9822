//! What `kc gpu` found and counted, as one HTML file that loads nothing: findings, kernels by what
//! their launches cost, and the lines of their sources with the heat of each.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use super::html::STYLE;
use crate::html::escape;

/// Columns of the tables: a title, and the metric of which a sum is shown.
const COLUMNS: [(&str, &str); 4] = [
    ("warp instructions", "smsp__inst_executed.sum"),
    ("sectors", "memory_l2_theoretical_sectors_global"),
    ("excessive", "derived__memory_l2_theoretical_sectors_global_excessive"),
    ("excessive, shared", "derived__memory_l1_wavefronts_shared_excessive"),
];

type Costs = [f64; COLUMNS.len()];

/// The launches of one kernel.
#[derive(Default)]
struct Kernel {
    launches: u64,
    costs: Costs,
    /// By file and line.
    lines: BTreeMap<(String, u64), Costs>,
    /// By line: what is slow, in words.
    advice: BTreeMap<u64, String>,
}

fn costs(metrics: &Value) -> Costs {
    COLUMNS.map(|(_, name)| metrics[name]["value"].as_f64().unwrap_or(0.0))
}

fn add(to: &mut Costs, costs: Costs) {
    to.iter_mut().zip(costs).for_each(|(to, cost)| *to += cost);
}

/// The text of a file of sources, if it can be read.
type Read<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The page of a report (`kc gpu --report FILE.json`).
pub fn program_page(report: &Value, read: Read) -> String {
    let list = |name: &str| report[name].as_array().map(Vec::as_slice).unwrap_or_default();
    let words: Vec<&str> = report["program"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <link rel=\"icon\" href=\"data:,\"><title>kc gpu</title><style>{STYLE}</style></head><body>\n<h1>{}</h1><p>On {} of {}; {}.</p>\n",
        escape(&words.join(" ")),
        match report["devices"].as_u64() {
            Some(devices) if devices > 1 => format!("{devices} simulated GPUs"),
            _ => "1 simulated GPU".to_string(),
        },
        escape(report["arch"].as_str().unwrap_or("?")),
        match report["exit"].as_i64() {
            Some(code) => format!("the program ended with {code}"),
            None => "the program was ended by a signal".to_string(),
        }
    );
    findings(list("findings"), &mut text);
    kernels(list("launches"), read, &mut text);
    text + "</body></html>\n"
}

fn findings(list: &[Value], text: &mut String) {
    text.push_str("<h2>Findings</h2>\n");
    if list.is_empty() {
        text.push_str("<p>None.</p>\n");
        return;
    }
    text.push_str("<table><tr><th class=\"left\">code</th><th class=\"left\">what</th><th class=\"left\">where</th><th>times</th></tr>\n");
    for found in list {
        let word = |name: &str| escape(found[name].as_str().unwrap_or(""));
        let place = match (found["file"].as_str(), found["line"].as_u64()) {
            (Some(file), Some(line)) => format!("{}:{line}", escape(file)),
            _ => String::new(),
        };
        let _ = writeln!(
            text,
            "<tr><td class=\"left\">{}</td><td class=\"left\">{}</td><td class=\"left\">{place}</td><td>{}</td></tr>",
            word("code"),
            word("message"),
            found["times"].as_u64().unwrap_or(1)
        );
    }
    text.push_str("</table>\n");
}

fn kernels(launches: &[Value], read: Read, text: &mut String) {
    let mut all: BTreeMap<&str, Kernel> = BTreeMap::new();
    for launch in launches {
        let kernel = all.entry(launch["entry"].as_str().unwrap_or("?")).or_default();
        kernel.launches += 1;
        add(&mut kernel.costs, costs(&launch["metrics"]));
        for line in launch["lines"].as_array().into_iter().flatten() {
            if let (Some(file), Some(number)) = (line["file"].as_str(), line["line"].as_u64()) {
                add(kernel.lines.entry((file.to_string(), number)).or_default(), costs(&line["metrics"]));
            }
        }
        for advice in launch["advice"].as_array().into_iter().flatten() {
            if let (Some(line), Some(message)) = (advice["line"].as_u64(), advice["message"].as_str()) {
                kernel.advice.entry(line).or_insert_with(|| message.to_string());
            }
        }
    }
    let mut all: Vec<(&str, Kernel)> = all.into_iter().collect();
    all.sort_by(|(_, a), (_, b)| b.costs[0].total_cmp(&a.costs[0]));
    let titles: String = COLUMNS.iter().map(|(title, _)| format!("<th>{title}</th>")).collect();
    let _ = writeln!(text, "<h2>Kernels</h2><table><tr><th class=\"left\">kernel</th><th>launches</th>{titles}</tr>");
    for (n, (name, kernel)) in all.iter().enumerate() {
        let _ = writeln!(
            text,
            "<tr><td class=\"left\"><a href=\"#k{n}\">{}</a></td><td>{}</td>{}</tr>",
            escape(name),
            kernel.launches,
            cells(&kernel.costs)
        );
    }
    text.push_str("</table>\n");
    for (n, (name, kernel)) in all.iter().enumerate() {
        let _ = writeln!(text, "<section id=\"k{n}\"><h2>{}</h2>", escape(name));
        source(kernel, &titles, read, text);
        text.push_str("</section>\n");
    }
}

fn cells(costs: &Costs) -> String {
    costs.iter().map(|cost| if *cost == 0.0 { "<td></td>".to_string() } else { format!("<td>{cost}</td>") }).collect()
}

/// The lines that ran, with their text where the file can be read.
fn source(kernel: &Kernel, titles: &str, read: Read, text: &mut String) {
    let mut files: BTreeMap<&str, Option<Vec<String>>> = BTreeMap::new();
    for (file, _) in kernel.lines.keys() {
        files.entry(file).or_insert_with(|| Some(read(file)?.lines().map(str::to_string).collect()));
    }
    let most = kernel.lines.values().map(|costs| costs[1].max(costs[0] / 8.0)).fold(1.0, f64::max);
    for (name, lines) in &files {
        let _ = writeln!(
            text,
            "<p>{}</p><div class=\"scroll\"><table class=\"source\"><tr><th>line</th>{titles}<th></th></tr>",
            escape(name)
        );
        for ((_, line), costs) in kernel.lines.iter().filter(|((file, _), _)| file == name) {
            let words = lines.as_ref().and_then(|lines| lines.get((*line as usize).wrapping_sub(1)));
            let _ = writeln!(
                text,
                "<tr style=\"background:rgba(255,112,32,{:.2})\"><td class=\"number\">{line}</td>{}<td class=\"left\">{}</td></tr>",
                0.6 * costs[1].max(costs[0] / 8.0) / most,
                cells(costs),
                escape(words.map_or("", String::as_str))
            );
        }
        text.push_str("</table></div>\n");
    }
    if !kernel.advice.is_empty() {
        text.push_str("<ul class=\"advice\">\n");
        for (line, message) in &kernel.advice {
            let _ = writeln!(text, "<li>line {line}: {}</li>", escape(message));
        }
        text.push_str("</ul>\n");
    }
}
