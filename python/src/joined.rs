//! Which arrays does the result of a backward run depend on? Those that the steps of the tape join
//! to it; for others a gradient of zero would be no answer.

use pyo3::prelude::*;

use crate::memory::Place;
use crate::tape::{Step, shown};

/// What steps join to what a backward run started from.
#[derive(Default)]
pub struct Joined {
    /// Bytes from, and before: apart from each other, in their order.
    spans: Vec<(usize, usize)>,
    /// The step that wrote to the result last.
    last: Option<String>,
    /// The arrays of the steps that are joined, in words.
    arrays: Vec<String>,
}

/// More arrays than these are not told.
const MOST: usize = 6;

impl Joined {
    pub fn of<'s>(
        py: Python<'_>,
        steps: impl DoubleEndedIterator<Item = &'s Step>,
        results: &[Place],
    ) -> PyResult<Joined> {
        let mut joined = Joined::default();
        results.iter().for_each(|place| joined.add(place));
        for step in steps.rev() {
            let used = step.used(py)?;
            if !used.iter().any(|array| array.written && joined.has(array.place)) {
                continue;
            }
            joined.last.get_or_insert_with(|| step.name(py).unwrap_or_default());
            for array in &used {
                if !array.written && joined.arrays.len() < MOST {
                    let name = step.name(py).unwrap_or_default();
                    let text = format!("`{}` of `{name}` with the shape {}", array.name, shown(&array.place.shape));
                    if !joined.arrays.contains(&text) {
                        joined.arrays.push(text);
                    }
                }
                joined.add(array.place);
            }
        }
        Ok(joined)
    }

    /// Whether the result depends on memory in which this array lies.
    pub fn has(&self, place: &Place) -> bool {
        let first = self.spans.partition_point(|(_, end)| *end <= place.low);
        self.spans.get(first).is_some_and(|(low, _)| *low < place.high)
    }

    fn add(&mut self, place: &Place) {
        if place.is_empty() {
            return;
        }
        let first = self.spans.partition_point(|(_, end)| *end < place.low);
        let end = self.spans.partition_point(|(low, _)| *low <= place.high).max(first);
        let met = &self.spans[first..end];
        let low = met.first().map_or(place.low, |(low, _)| place.low.min(*low));
        let high = met.last().map_or(place.high, |(_, high)| place.high.max(*high));
        self.spans.splice(first..end, [(low, high)]);
    }

    /// Why an array has no gradient.
    pub fn told(&self, place: &Place) -> String {
        let what = format!("no recorded step joins this array of shape {} to the result", shown(&place.shape));
        match &self.last {
            None => format!("{what}, to which none wrote"),
            Some(last) if self.arrays.is_empty() => format!("{what}, to which `{last}` wrote last, from no array"),
            Some(last) => {
                format!("{what}, to which `{last}` wrote last; joined to it are {}", self.arrays.join(", "))
            }
        }
    }
}
