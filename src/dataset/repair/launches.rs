//! Faults of the host program: launches with another number of threads than the one that is meant.

use std::ops::Range;

use super::sites::{Faults, Relaunch, Sites};

/// Launches of the kernel that is launched first.
pub fn faults(sites: &Sites, kernel: &str, out: &mut Faults) {
    let extents = extents(sites.text, kernel).unwrap_or_default();
    let at = |n: usize| extents.get(n).and_then(|range| sites.text.get(range.clone())).unwrap_or_default();
    let Some(first) = extents.first().cloned() else { return };
    let text = at(0).to_string();
    let mut replace = |kind, note: String, launch, with: String| {
        out.relaunch(kind, note, launch, vec![(first.clone(), with)]);
    };
    replace("short-launch", "the launch has one thread too few".to_string(), Relaunch::Short, format!("{text} - 1"));
    replace("long-launch", "the launch has one thread too many".to_string(), Relaunch::Long, format!("{text} + 1"));
    match extents.as_slice() {
        [_] => {
            let blocks =
                if text.contains(' ') { format!("(({text}) + 255) // 256") } else { format!("({text} + 255) // 256") };
            let note = "`dim` is the number of blocks, where Warp takes that of threads".to_string();
            replace("blocks-for-threads", note, Relaunch::Blocks, blocks);
        }
        [first, second, ..] if at(0) != at(1) => {
            let edits = vec![(first.clone(), at(1).to_string()), (second.clone(), text)];
            out.relaunch(
                "swapped-extents",
                "the extents of the launch are swapped".to_string(),
                Relaunch::Swapped,
                edits,
            );
        }
        _ => {}
    }
}

/// Where the extents of a kernel's first launch stand: those behind `dim=`.
pub fn extents(text: &str, kernel: &str) -> Option<Vec<Range<usize>>> {
    const LAUNCH: &str = "wp.launch(";
    let calls = text.match_indices(LAUNCH).map(|(at, _)| at + LAUNCH.len());
    let names = |at: &usize| text[*at..].trim_start().strip_prefix(kernel).is_some_and(|rest| rest.starts_with(','));
    let call = calls.filter(|at| text[*at..].trim_start().starts_with(kernel)).find(names)?;
    let value = call + text[call..].find("dim=")? + "dim=".len();
    let is_tuple = text[value..].starts_with('(');
    let (mut start, mut depth, mut out) = (value + usize::from(is_tuple), 0, Vec::new());
    for (n, letter) in text[start..].char_indices() {
        let here = value + usize::from(is_tuple) + n;
        match letter {
            '(' | '[' => depth += 1,
            ')' | ']' if depth > 0 => depth -= 1,
            ',' | ')' if depth == 0 => {
                let whole = &text[start..here];
                let (before, after) = (whole.len() - whole.trim_start().len(), whole.len() - whole.trim_end().len());
                if !whole.trim().is_empty() {
                    out.push(start + before..here - after);
                }
                if letter == ')' || !is_tuple {
                    // What goes on behind the brackets is no tuple: `(n + 1) // 2`.
                    let ends = !is_tuple || text[here + 1..].starts_with(',');
                    return ends.then_some(out);
                }
                start = here + 1;
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::extents;

    #[test]
    fn extents_of_launches_are_found() {
        let of = |dim: &str| {
            let text = format!(
                "    wp.launch(other, dim=1, inputs=[x])\n    wp.launch(\n        k,\n        dim={dim},\n    )\n"
            );
            let found = extents(&text, "k")?;
            Some(found.into_iter().map(|range| text[range].to_string()).collect::<Vec<_>>())
        };
        for (dim, list) in [("n", &["n"][..]), ("n + 1", &["n + 1"]), ("(ny, 2 * (nx - 1))", &["ny", "2 * (nx - 1)"])] {
            assert_eq!(of(dim).expect(dim), list);
        }
        assert_eq!(of("f(a, b)").expect("a call"), ["f(a, b)"]);
        assert_eq!(of("(n + 1) // 2"), None);
        assert_eq!(extents("wp.launch(kernel, dim=n, inputs=[])", "k"), None, "another kernel");
    }
}
