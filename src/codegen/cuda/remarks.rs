//! What the source says beside its code: docstrings and comments, which the text carries over.
//!
//! A comment belongs to the line of code that it is on or before, and is written before the first
//! statement that comes of that line; where the line has none (its value is part of a later
//! statement), before the next one that is near.

use std::collections::HashMap;
use std::ops::Range;

use crate::ir::{Function, Phase};
use crate::source::Span;

/// Of the functions of a source file, by their places.
#[derive(Clone, Debug, Default)]
pub struct Remarks {
    pub functions: HashMap<Span, Remarked>,
}

/// A function that a person wrote.
#[derive(Clone, Debug)]
pub struct Remarked {
    pub name: String,
    pub doc: String,
    /// In the order of the source.
    pub comments: Vec<Comment>,
}

#[derive(Clone, Debug)]
pub struct Comment {
    pub text: String,
    /// Offsets: from the start of its line of code to the end of the last one that may still have
    /// it.
    pub near: Range<u32>,
}

impl Remarks {
    /// Those of a function, if it is the source's own: gradients say other things.
    pub(super) fn of(&self, function: &Function) -> Option<&Remarked> {
        let found = self.functions.get(&function.span)?;
        (function.phase == Phase::Forward && found.name == function.source_name).then_some(found)
    }
}

/// The comments of a function that are not written yet.
pub(super) struct Pending<'a> {
    comments: &'a [Comment],
    written: Vec<bool>,
}

impl<'a> Pending<'a> {
    pub fn of(remarked: Option<&'a Remarked>) -> Pending<'a> {
        let comments = remarked.map_or(&[][..], |remarked| &remarked.comments);
        Pending { comments, written: vec![false; comments.len()] }
    }

    /// The comments to write before a statement that comes of this place, by number.
    pub fn take(&mut self, at: Span) -> Vec<usize> {
        // They are in the order of the source, at both ends of what is near.
        let first = self.comments.partition_point(|comment| comment.near.end <= at.start);
        let end = self.comments.partition_point(|comment| comment.near.start <= at.start);
        let found: Vec<usize> = (first..end).filter(|&n| !self.written[n]).collect();
        found.iter().for_each(|&n| self.written[n] = true);
        found
    }

    /// These were not written after all.
    pub fn put_back(&mut self, comments: &[usize]) {
        comments.iter().for_each(|&n| self.written[n] = false);
    }

    /// Their lines.
    pub fn text(&self, comments: &[usize]) -> String {
        let lines: Vec<String> = comments.iter().map(|&n| comment_line(&self.comments[n].text)).collect();
        lines.join("\n")
    }
}

/// A line of text as one of a `//` comment: a backslash at its end would take the next line in.
pub(super) fn comment_line(text: &str) -> String {
    let plain: String = text.chars().filter(|c| !c.is_control()).collect();
    // `??/` is one too, for old compilers.
    let end = plain.trim_end();
    end.strip_suffix("??/").unwrap_or(end).trim_end_matches(['\\', ' ']).to_string()
}
