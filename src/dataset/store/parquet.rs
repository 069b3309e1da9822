//! How do rows become a Parquet file? Column by column, from their cells.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::record::{Field, Row};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::Type;
use serde_json::Value;

use crate::dataset::Config;
use crate::dataset::columns::{ColumnType, LIST};
use crate::dataset::row::{Cell, Row as Cells};

/// The schema in Parquet's message syntax.
fn schema(config: Config) -> String {
    let mut out = String::from("message row {\n");
    // The structs around the last column.
    let mut open: Vec<&str> = Vec::new();
    let close = |open: &mut Vec<&str>, keep: usize, out: &mut String| {
        for group in open.drain(keep..).rev() {
            out.push_str(if group.ends_with(LIST) { "}}}\n" } else { "}\n" });
        }
    };
    for (path, ty) in config.columns() {
        let mut groups: Vec<&str> = path.split('.').collect();
        let leaf = groups.pop().unwrap_or(path);
        let common = open.iter().zip(&groups).take_while(|(a, b)| a == b).count();
        close(&mut open, common, &mut out);
        for &group in &groups[common..] {
            match group.strip_suffix(LIST) {
                Some(name) => {
                    out +=
                        &format!("required group {name} (LIST) {{ repeated group list {{ required group element {{\n");
                }
                None => out += &format!("required group {group} {{\n"),
            }
            open.push(group);
        }
        let list = |element: &str| {
            format!("required group {leaf} (LIST) {{ repeated group list {{ required {element}; }} }}\n")
        };
        out.push_str(&match ty {
            ColumnType::Text => format!("required binary {leaf} (STRING);\n"),
            ColumnType::OptionalText => format!("optional binary {leaf} (STRING);\n"),
            ColumnType::Int => format!("required int64 {leaf};\n"),
            ColumnType::OptionalInt => format!("optional int64 {leaf};\n"),
            ColumnType::Float => format!("required double {leaf};\n"),
            ColumnType::OptionalFloat => format!("optional double {leaf};\n"),
            ColumnType::Bool => format!("required boolean {leaf};\n"),
            ColumnType::OptionalBool => format!("optional boolean {leaf};\n"),
            ColumnType::TextList => list("binary element (STRING)"),
            ColumnType::IntList => list("int64 element"),
            ColumnType::WordList => list("int32 element (INTEGER(32,false))"),
        });
    }
    close(&mut open, 0, &mut out);
    out + "}"
}

/// A file in memory that grows by row groups.
pub struct Table {
    config: Config,
    writer: SerializedFileWriter<Vec<u8>>,
}

impl Table {
    pub fn new(config: Config) -> Result<Table, ParquetError> {
        let schema = Arc::new(parse_message_type(&schema(config))?);
        let properties = WriterProperties::builder()
            .set_writer_version(WriterVersion::PARQUET_1_0)
            .set_created_by("kc".to_string())
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(super::ZSTD_LEVEL)?))
            // Texts differ from row to row: a dictionary of them would be all of them.
            .set_dictionary_enabled(false)
            .build();
        Ok(Table { config, writer: SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))? })
    }

    /// Adds a row group.
    pub fn push(&mut self, rows: &[Cells]) -> Result<(), ParquetError> {
        let mut out = self.writer.next_row_group()?;
        for (n, (path, ty)) in self.config.columns().iter().enumerate() {
            let cells = rows.iter().map(|row| &row.cells()[n]);
            column(&mut out, *ty, &Leaf::of(cells, path.contains(LIST) || ty.is_list(), ty.is_optional()))?;
        }
        out.close()?;
        Ok(())
    }

    /// The file.
    pub fn finish(self) -> Result<Vec<u8>, ParquetError> {
        plain_orders(self.writer.into_inner()?, self.config.columns().len())
    }
}

/// The file with the order of each column as Parquet has had it since 2017. For floats the writer
/// names one that came later, IEEE 754's, and readers from before (polars 1) take that for a
/// damaged file; the orders differ for NaN and signed zeros alone. They are the last field of the
/// footer: for each column a union whose only field is an empty struct, three bytes.
fn plain_orders(mut file: Vec<u8>, columns: usize) -> Result<Vec<u8>, ParquetError> {
    const TYPE_DEFINED: [u8; 3] = [0x1c, 0, 0];
    const IEEE_754: [u8; 3] = [0x2c, 0, 0];
    let unknown = || ParquetError::General("the footer does not end in orders of columns".to_string());
    // Behind them: the end of the struct, the length of the footer, and the mark of the format.
    let end = file.len().checked_sub(9).ok_or_else(unknown)?;
    let start = end.checked_sub(3 * columns).ok_or_else(unknown)?;
    for order in file[start..end].as_chunks_mut::<3>().0 {
        match *order {
            IEEE_754 => *order = TYPE_DEFINED,
            TYPE_DEFINED => {}
            _ => return Err(unknown()),
        }
    }
    Ok(file)
}

/// The rows of a file, as [`Table`] writes them.
pub fn rows(path: &Path) -> Result<Vec<Value>, ParquetError> {
    let reader = SerializedFileReader::new(File::open(path)?)?;
    reader.get_row_iter(None)?.map(|row| Ok(object(&row?))).collect()
}

/// Some columns of a file; of its first rows, up to `most`.
pub fn first(path: &Path, columns: &[&str], most: usize) -> Result<Vec<Value>, ParquetError> {
    let reader = SerializedFileReader::new(File::open(path)?)?;
    let schema = reader.metadata().file_metadata().schema();
    let fields = schema.get_fields().iter().filter(|field| columns.contains(&field.name())).cloned();
    let projection = Type::group_type_builder(schema.name()).with_fields(fields.collect()).build()?;
    let rows = reader.get_row_iter(Some(projection))?.take(most);
    rows.map(|row| Ok(object(&row?))).collect()
}

fn object(row: &Row) -> Value {
    let fields = row.get_column_iter().map(|(name, field)| (name.clone(), value(field)));
    Value::Object(fields.collect())
}

fn value(field: &Field) -> Value {
    match field {
        Field::Bool(b) => (*b).into(),
        Field::Long(n) => (*n).into(),
        Field::UInt(n) => (*n).into(),
        Field::Double(x) => (*x).into(),
        Field::Str(text) => text.as_str().into(),
        Field::Group(row) => object(row),
        Field::ListInternal(list) => list.elements().iter().map(value).collect(),
        _ => Value::Null,
    }
}

/// The values of a column with what Parquet calls levels: which are there, and which begin a row.
#[derive(Default)]
struct Leaf<'a> {
    /// Those that are there.
    values: Vec<&'a Cell>,
    defined: Option<Vec<i16>>,
    repeated: Option<Vec<i16>>,
}

impl<'a> Leaf<'a> {
    /// Of one cell per row, in lists or not, of which some may be missing.
    fn of(cells: impl Iterator<Item = &'a Cell>, in_lists: bool, missing: bool) -> Leaf<'a> {
        if !in_lists && !missing {
            return Leaf { values: cells.collect(), ..Leaf::default() };
        }
        let (mut values, mut defined, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
        for cell in cells {
            let items = if in_lists { cell.list() } else { std::slice::from_ref(cell) };
            for (n, item) in items.iter().enumerate() {
                let there = !missing || *item != Cell::Null;
                values.extend(there.then_some(item));
                defined.push(i16::from(in_lists) + i16::from(missing && there));
                repeated.push(i16::from(n > 0));
            }
            // An empty list has one level entry and no value.
            if items.is_empty() {
                defined.push(0);
                repeated.push(0);
            }
        }
        Leaf { values, defined: Some(defined), repeated: in_lists.then_some(repeated) }
    }
}

fn column(group: &mut SerializedRowGroupWriter<'_, Vec<u8>>, ty: ColumnType, leaf: &Leaf) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("the schema has fewer columns than rows".to_string()));
    };
    let (defined, repeated) = (leaf.defined.as_deref(), leaf.repeated.as_deref());
    let values = leaf.values.iter();
    // What a required column lacks is nothing, in the sense of its type.
    let int = |cell: &&Cell| if let Cell::Int(n) = cell { *n } else { 0 };
    use ColumnType::*;
    match ty {
        Text | OptionalText | TextList => {
            let text = |cell: &&Cell| if let Cell::Text(text) = cell { text.clone() } else { Bytes::new() };
            let list: Vec<ByteArray> = values.map(|cell| ByteArray::from(text(cell))).collect();
            column.typed::<ByteArrayType>().write_batch(&list, defined, repeated)?;
        }
        Int | OptionalInt | IntList => {
            let list: Vec<i64> = values.map(|cell| i64::try_from(int(cell)).unwrap_or(0)).collect();
            column.typed::<Int64Type>().write_batch(&list, defined, repeated)?;
        }
        // The bits of a number without sign.
        WordList => {
            let list: Vec<i32> = values.map(|cell| int(cell) as u32 as i32).collect();
            column.typed::<Int32Type>().write_batch(&list, defined, repeated)?;
        }
        Float | OptionalFloat => {
            let float = |cell: &&Cell| if let Cell::Float(x) = cell { *x } else { 0.0 };
            let list: Vec<f64> = values.map(float).collect();
            column.typed::<DoubleType>().write_batch(&list, defined, repeated)?;
        }
        Bool | OptionalBool => {
            let list: Vec<bool> = values.map(|cell| **cell == Cell::Bool(true)).collect();
            column.typed::<BoolType>().write_batch(&list, defined, repeated)?;
        }
    }
    column.close()
}

#[cfg(test)]
mod tests {
    use parquet::basic::ColumnOrder;

    use super::*;

    /// The orders are where they are looked for, and none is of the later kind.
    #[test]
    fn orders_of_columns_are_those_that_all_readers_know() {
        for config in [Config::Pairs, Config::Repair] {
            let file = Table::new(config).and_then(Table::finish).expect("a file");
            let reader = SerializedFileReader::new(Bytes::from(file)).expect("a Parquet file");
            let orders = reader.metadata().file_metadata().column_orders().expect("orders");
            assert_eq!(orders.len(), config.columns().len());
            let is_plain = |order: &ColumnOrder| matches!(order, ColumnOrder::TYPE_DEFINED_ORDER(_));
            assert!(orders.iter().all(is_plain), "{orders:?}");
        }
        assert!(plain_orders(vec![7; 40], 3).is_err());
    }
}
