//! What did a GPU count? Exports of Nsight Compute (`ncu --csv`), long ones with a row for each
//! metric and wide ones with a column for each (`--page raw`), with numbers as the reader's locale
//! writes them, beside the counts of the simulator.

use super::{Kind, Metric};

/// One launch in an export.
#[derive(Clone, PartialEq, Debug)]
pub struct Launch {
    /// Without its parameters.
    pub kernel: String,
    pub metrics: Vec<(String, f64)>,
}

/// A figure beside that of a GPU.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pair {
    pub name: &'static str,
    pub kind: Kind,
    pub ours: f64,
    pub theirs: f64,
}

impl Pair {
    /// Ours above theirs, in percent of theirs; None: theirs is 0, and ours is not.
    pub fn percent(&self) -> Option<f64> {
        match (self.ours, self.theirs) {
            (ours, theirs) if ours == theirs => Some(0.0),
            (_, 0.0) => None,
            (ours, theirs) => Some(100.0 * (ours - theirs) / theirs),
        }
    }
}

/// The metrics that both have, in our order.
pub fn pairs(ours: &[Metric], theirs: &Launch) -> Vec<Pair> {
    let pair = |m: &Metric| {
        let found = theirs.metrics.iter().find(|(name, _)| name == m.name)?;
        Some(Pair { name: m.name, kind: m.kind, ours: m.value, theirs: found.1 })
    };
    ours.iter().filter_map(pair).collect()
}

/// The launches of an export, in its order. The message says what is wrong, and in which line.
pub fn read(text: &str) -> Result<Vec<Launch>, String> {
    let rows = rows(text.trim_start_matches('\u{feff}'))?;
    let column = |row: &[String], name: &str| row.iter().position(|field| field.trim() == name);
    // Before it the profiler talks of what it does.
    let header = rows.iter().position(|(_, row)| column(row, "ID").is_some() && column(row, "Kernel Name").is_some());
    let Some(at) = header else {
        return Err("it has no header with `ID` and `Kernel Name`: write it with `ncu --csv`".to_string());
    };
    let names = &rows[at].1;
    let (id, kernel) = (column(names, "ID").unwrap_or(0), column(names, "Kernel Name").unwrap_or(0));
    let body: Vec<&(usize, Vec<String>)> = rows[at + 1..].iter().filter(|(_, row)| row.len() > 1).collect();
    for (line, row) in &body {
        if row.len() != names.len() {
            return Err(format!("line {line} has {} fields, and the header {}", row.len(), names.len()));
        }
    }
    // Each value with its launch and the name of its metric.
    let mut found: Vec<(&str, &str, &str, &str)> = Vec::new();
    match (column(names, "Metric Name"), column(names, "Metric Value")) {
        (Some(name), Some(value)) => {
            found.extend(body.iter().map(|(_, row)| (&*row[id], &*row[kernel], &*row[name], &*row[value])));
        }
        _ => {
            // The second row has the units, and no number of a launch.
            for (_, row) in body.iter().filter(|(_, row)| !row[id].trim().is_empty()) {
                let fields =
                    names.iter().zip(row).filter(|(name, _)| name.contains("__") || name.starts_with("memory_"));
                found.extend(fields.map(|(name, value)| (&*row[id], &*row[kernel], name.trim(), &**value)));
            }
        }
    }
    let decimal = decimal_mark(found.iter().map(|(.., value)| *value));
    let mut launches: Vec<(&str, Launch)> = Vec::new();
    for (id, kernel, name, value) in found {
        let Some(value) = number(value, decimal) else { continue };
        if launches.last().is_none_or(|(known, _)| *known != id) {
            let kernel = kernel.split('(').next().unwrap_or(kernel).trim().to_string();
            launches.push((id, Launch { kernel, metrics: Vec::new() }));
        }
        if let Some((_, launch)) = launches.last_mut() {
            launch.metrics.push((name.to_string(), value));
        }
    }
    Ok(launches.into_iter().map(|(_, launch)| launch).collect())
}

/// The rows of a text of comma-separated fields with their lines; fields in quotes hold commas,
/// line ends, and quotes written twice.
fn rows(text: &str) -> Result<Vec<(usize, Vec<String>)>, String> {
    let mut rows = Vec::new();
    let (mut row, mut field) = (Vec::new(), String::new());
    let (mut line, mut start, mut quoted) = (1, 1, false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        line += usize::from(c == '\n');
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut field)),
            '\r' if !quoted => {}
            '\n' if !quoted => {
                row.push(std::mem::take(&mut field));
                rows.push((start, std::mem::take(&mut row)));
                start = line;
            }
            c => field.push(c),
        }
    }
    if quoted {
        return Err(format!("a quote in line {start} does not end"));
    }
    if !field.is_empty() || !row.is_empty() {
        row.push(field);
        rows.push((start, row));
    }
    Ok(rows)
}

/// The digits behind the last mark of a kind, and how many such marks there are.
fn tail(text: &str, mark: char) -> Option<(usize, usize)> {
    let at = text.rfind(mark)?;
    Some((text.len() - at - 1, text.matches(mark).count()))
}

/// The mark before the decimals, by the numbers that leave no doubt; a point, if all do.
fn decimal_mark<'a>(numbers: impl Iterator<Item = &'a str>) -> char {
    for text in numbers {
        let text = text.trim();
        let decided = match (tail(text, ','), tail(text, '.')) {
            (Some(_), Some(_)) => Some(if text.rfind(',') > text.rfind('.') { ',' } else { '.' }),
            // Several marks of a kind part thousands, and so does none that has not three digits
            // behind it.
            (Some((digits, count)), None) if count > 1 || digits != 3 => Some(if count > 1 { '.' } else { ',' }),
            (None, Some((digits, count))) if count > 1 || digits != 3 => Some(if count > 1 { ',' } else { '.' }),
            _ => None,
        };
        if let Some(mark) = decided.filter(|_| text.starts_with(|c: char| c.is_ascii_digit() || c == '-')) {
            return mark;
        }
    }
    '.'
}

/// A number as a locale writes it; None: it is none.
fn number(text: &str, decimal: char) -> Option<f64> {
    let is_apart = |c: &char| !(c.is_whitespace() || matches!(c, '\'' | '’' | '\u{202f}' | '\u{a0}'));
    let thousands = if decimal == ',' { '.' } else { ',' };
    let plain: String = text.chars().filter(is_apart).filter(|&c| c != thousands).collect();
    let plain = plain.replace(decimal, ".");
    // Words such as `inf` are no counts.
    plain.starts_with(|c: char| c.is_ascii_digit() || c == '-').then(|| plain.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECTORS: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
    const RATIO: &str = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio";

    fn launch(kernel: &str, sectors: f64, ratio: f64) -> Launch {
        Launch { kernel: kernel.into(), metrics: vec![(SECTORS.into(), sectors), (RATIO.into(), ratio)] }
    }

    #[test]
    fn long_exports_of_two_locales() {
        let export = |sectors: &str, ratio: &str| {
            format!(
                "==PROF== Connected to process 41\n==PROF== Disconnected\n\
                 \"ID\",\"Process ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n\
                 \"0\",\"41\",\"rows(float *, int)\",\"{SECTORS}\",\"sector\",\"{sectors}\"\n\
                 \"0\",\"41\",\"rows(float *, int)\",\"{RATIO}\",\"\",\"{ratio}\"\n"
            )
        };
        for (sectors, ratio) in [("1,048,576", "4.50"), ("1.048.576", "4,50"), ("1 048 576", "4,5"), ("1048576", "4.5")]
        {
            assert_eq!(read(&export(sectors, ratio)), Ok(vec![launch("rows", 1_048_576.0, 4.5)]), "{sectors} {ratio}");
        }
        // One number alone leaves a doubt that others end.
        assert_eq!(read(&export("1,024", "9,00")), Ok(vec![launch("rows", 1.024, 9.0)]));
        assert_eq!(read(&export("1,024", "9.00")), Ok(vec![launch("rows", 1024.0, 9.0)]));
    }

    #[test]
    fn wide_exports_have_a_row_of_units() {
        let text = format!(
            "\"ID\",\"Kernel Name\",\"{SECTORS}\",\"{RATIO}\",\"device__name\"\r\n\"\",\"\",\"sector\",\"\",\"\"\r\n\
             \"0\",\"rows\",\"128\",\"4\",\"NVIDIA H100\"\r\n\"1\",\"say \"\"hi\"\"\",\"1,000,000\",\"32\",\"NVIDIA H100\"\r\n"
        );
        assert_eq!(read(&text), Ok(vec![launch("rows", 128.0, 4.0), launch("say \"hi\"", 1e6, 32.0)]));
    }

    #[test]
    fn what_is_no_export_is_said_so() {
        assert!(read("").is_err_and(|error| error.contains("no header")));
        assert!(read("a,b\n1,2\n").is_err());
        assert!(read("\"ID\",\"Kernel Name\",\"x__y\"\n1,2\n").is_err_and(|error| error.contains("line 2")));
        assert!(read("\"ID\",\"Kernel Name").is_err_and(|error| error.contains("quote")));
        assert_eq!(read("\"ID\",\"Kernel Name\",\"x__y\"\n"), Ok(vec![]));
    }

    #[test]
    fn differences_are_of_theirs() {
        let ours = [Metric { name: SECTORS, value: 150.0, kind: Kind::Exact }];
        let found = pairs(&ours, &launch("k", 100.0, 4.0));
        assert_eq!(found, [Pair { name: SECTORS, kind: Kind::Exact, ours: 150.0, theirs: 100.0 }]);
        assert_eq!(found[0].percent(), Some(50.0));
        let nothing = |ours| Pair { ours, theirs: 0.0, ..found[0] }.percent();
        assert_eq!((nothing(0.0), nothing(1.0)), (Some(0.0), None));
    }
}
