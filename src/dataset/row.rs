//! What is a row? A cell per column of its table, in the order of the columns.
//!
//! Both formats are written from the cells: JSON by way of [`Serialize`], which puts the structs
//! back that paths lead into.

use bytes::Bytes;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::Config;
use super::columns::{Columns, LIST};

/// The value of a column; in a column that leads into a list of structs, the list of the values in
/// each struct.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Null,
    /// UTF-8, shared with the Parquet page that it gets into.
    Text(Bytes),
    Int(u64),
    /// Finite.
    Float(f64),
    Bool(bool),
    List(Vec<Cell>),
}

impl Cell {
    /// The text in it; empty if it holds something else.
    pub fn text(&self) -> &str {
        match self {
            Cell::Text(bytes) => std::str::from_utf8(bytes).unwrap_or_default(),
            _ => "",
        }
    }

    /// The cells in it; none if it is no list.
    pub fn list(&self) -> &[Cell] {
        match self {
            Cell::List(list) => list,
            _ => &[],
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::from(text.to_string())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(Bytes::from(text))
    }
}

impl From<u32> for Cell {
    fn from(number: u32) -> Cell {
        Cell::Int(u64::from(number))
    }
}

impl From<u64> for Cell {
    fn from(number: u64) -> Cell {
        Cell::Int(number)
    }
}

impl From<usize> for Cell {
    fn from(number: usize) -> Cell {
        Cell::Int(number as u64)
    }
}

/// What is no number, or infinite, is not there: JSON has no word for it.
impl From<f64> for Cell {
    fn from(number: f64) -> Cell {
        if number.is_finite() { Cell::Float(number) } else { Cell::Null }
    }
}

impl From<bool> for Cell {
    fn from(truth: bool) -> Cell {
        Cell::Bool(truth)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(cell: Option<T>) -> Cell {
        cell.map_or(Cell::Null, T::into)
    }
}

impl<T: Into<Cell>> FromIterator<T> for Cell {
    fn from_iter<I: IntoIterator<Item = T>>(cells: I) -> Cell {
        Cell::List(cells.into_iter().map(T::into).collect())
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Cell::Null => out.serialize_none(),
            Cell::Text(_) => out.serialize_str(self.text()),
            Cell::Int(number) => out.serialize_u64(*number),
            Cell::Float(number) => out.serialize_f64(*number),
            Cell::Bool(truth) => out.serialize_bool(*truth),
            Cell::List(list) => list.serialize(out),
        }
    }
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    columns: Columns,
    cells: Vec<Cell>,
    /// Behind the column that was set last: rows are filled in order.
    next: usize,
}

impl Row {
    /// Without anything in its columns.
    pub fn new(config: Config) -> Row {
        let columns = config.columns();
        Row { columns, cells: vec![Cell::Null; columns.len()], next: 0 }
    }

    /// One cell per column.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The cell of the column with this path.
    pub fn get(&self, path: &str) -> &Cell {
        &self.cells[self.position(path)]
    }

    pub fn set(&mut self, path: &str, cell: impl Into<Cell>) {
        let position = match self.columns.get(self.next) {
            Some((next, _)) if *next == path => self.next,
            _ => self.position(path),
        };
        self.cells[position] = cell.into();
        self.next = position + 1;
    }

    fn position(&self, path: &str) -> usize {
        self.columns.iter().position(|(name, _)| *name == path).expect("rows are filled by the names of their columns")
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        Group { columns: self.columns, cells: &self.cells, depth: 0, element: None }.serialize(out)
    }
}

/// Columns that follow each other and begin with the same `depth` bytes: a struct, or the structs
/// of a list, of which `element` is meant.
#[derive(Clone, Copy)]
struct Group<'a> {
    columns: Columns,
    cells: &'a [Cell],
    depth: usize,
    element: Option<usize>,
}

impl Group<'_> {
    fn name(&self, column: usize) -> (&'static str, bool) {
        let rest = &self.columns[column].0[self.depth..];
        rest.split_once('.').map_or((rest, false), |(name, _)| (name, true))
    }
}

impl Serialize for Group<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut map = out.serialize_map(None)?;
        let mut at = 0;
        while at < self.columns.len() {
            let (name, leads_on) = self.name(at);
            if !leads_on {
                let cell = &self.cells[at];
                let cell = self.element.map_or(Some(cell), |n| cell.list().get(n)).unwrap_or(&Cell::Null);
                map.serialize_entry(name, cell)?;
                at += 1;
                continue;
            }
            let end = (at..self.columns.len()).find(|&n| self.name(n) != (name, true)).unwrap_or(self.columns.len());
            let (columns, cells) = (&self.columns[at..end], &self.cells[at..end]);
            let inner = Group { columns, cells, depth: self.depth + name.len() + 1, ..*self };
            match name.strip_suffix(LIST) {
                None => map.serialize_entry(name, &inner)?,
                Some(name) => {
                    let elements = 0..cells[0].list().len();
                    let list: Vec<Group> = elements.map(|n| Group { element: Some(n), ..inner }).collect();
                    map.serialize_entry(name, &list)?;
                }
            }
            at = end;
        }
        map.end()
    }
}
