//! How do rows become a Parquet file? Column by column, from the same JSON values as the other format.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::record::{Field, Row, RowAccessor};
use parquet::schema::parser::parse_message_type;
use serde_json::Value;

use crate::dataset::Config;
use crate::dataset::record::ColumnType;

/// The schema in Parquet's message syntax.
fn schema(config: Config) -> String {
    let mut out = String::from("message row {\n");
    let mut open = "";
    for (name, ty) in config.columns() {
        let (group, leaf) = name.split_once('.').unwrap_or(("", name));
        if group != open {
            if !open.is_empty() {
                out.push_str("}\n");
            }
            if !group.is_empty() {
                out.push_str(&format!("required group {group} {{\n"));
            }
            open = group;
        }
        out.push_str(&match ty {
            ColumnType::Text => format!("required binary {leaf} (STRING);\n"),
            ColumnType::OptionalText => format!("optional binary {leaf} (STRING);\n"),
            ColumnType::Int => format!("required int64 {leaf};\n"),
            ColumnType::Float => format!("required double {leaf};\n"),
            ColumnType::Bool => format!("required boolean {leaf};\n"),
            ColumnType::OptionalBool => format!("optional boolean {leaf};\n"),
            ColumnType::TextList => {
                format!(
                    "required group {leaf} (LIST) {{ repeated group list {{ required binary element (STRING); }} }}\n"
                )
            }
        });
    }
    if !open.is_empty() {
        out.push_str("}\n");
    }
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
    pub fn push(&mut self, rows: &[Value]) -> Result<(), ParquetError> {
        let mut out = self.writer.next_row_group()?;
        for (name, ty) in self.config.columns() {
            let values: Vec<&Value> = rows.iter().map(|row| lookup(row, name)).collect();
            column(&mut out, *ty, &values)?;
        }
        out.close()?;
        Ok(())
    }

    /// The file.
    pub fn finish(self) -> Result<Vec<u8>, ParquetError> {
        self.writer.into_inner()
    }
}

/// The rows of a file, as [`Table`] writes them.
pub fn rows(path: &Path) -> Result<Vec<Value>, ParquetError> {
    let reader = SerializedFileReader::new(File::open(path)?)?;
    reader.get_row_iter(None)?.map(|row| Ok(object(&row?))).collect()
}

/// One column of a file, which holds texts; of its first rows, up to `most`.
pub fn texts(path: &Path, column: &str, most: usize) -> Result<Vec<String>, ParquetError> {
    let reader = SerializedFileReader::new(File::open(path)?)?;
    let projection = parse_message_type(&format!("message row {{ required binary {column} (STRING); }}"))?;
    let rows = reader.get_row_iter(Some(projection))?.take(most);
    rows.map(|row| row?.get_string(0).cloned()).collect()
}

fn object(row: &Row) -> Value {
    let fields = row.get_column_iter().map(|(name, field)| (name.clone(), value(field)));
    Value::Object(fields.collect())
}

fn value(field: &Field) -> Value {
    match field {
        Field::Bool(b) => (*b).into(),
        Field::Long(n) => (*n).into(),
        Field::Double(x) => (*x).into(),
        Field::Str(text) => text.as_str().into(),
        Field::Group(row) => object(row),
        Field::ListInternal(list) => list.elements().iter().map(value).collect(),
        _ => Value::Null,
    }
}

fn lookup<'a>(row: &'a Value, name: &str) -> &'a Value {
    name.split('.').fold(row, |value, part| value.get(part).unwrap_or(&Value::Null))
}

fn column(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    ty: ColumnType,
    values: &[&Value],
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("the schema has fewer columns than rows".to_string()));
    };
    let text = |value: &Value| ByteArray::from(value.as_str().unwrap_or_default());
    let present: Vec<i16> = values.iter().map(|v| i16::from(!v.is_null())).collect();
    let some = || values.iter().filter(|v| !v.is_null());
    match ty {
        ColumnType::Text => {
            let list: Vec<ByteArray> = values.iter().map(|v| text(v)).collect();
            column.typed::<ByteArrayType>().write_batch(&list, None, None)?;
        }
        ColumnType::OptionalText => {
            let list: Vec<ByteArray> = some().map(|v| text(v)).collect();
            column.typed::<ByteArrayType>().write_batch(&list, Some(&present), None)?;
        }
        ColumnType::Int => {
            let list: Vec<i64> = values.iter().map(|v| v.as_i64().unwrap_or(0)).collect();
            column.typed::<Int64Type>().write_batch(&list, None, None)?;
        }
        ColumnType::Float => {
            let list: Vec<f64> = values.iter().map(|v| v.as_f64().unwrap_or(0.0)).collect();
            column.typed::<DoubleType>().write_batch(&list, None, None)?;
        }
        ColumnType::Bool => {
            let list: Vec<bool> = values.iter().map(|v| v.as_bool().unwrap_or(false)).collect();
            column.typed::<BoolType>().write_batch(&list, None, None)?;
        }
        ColumnType::OptionalBool => {
            let list: Vec<bool> = some().map(|v| v.as_bool().unwrap_or(false)).collect();
            column.typed::<BoolType>().write_batch(&list, Some(&present), None)?;
        }
        ColumnType::TextList => {
            // An empty list has one level entry and no value.
            let (mut list, mut defined, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
            for value in values {
                let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
                for (n, item) in items.iter().enumerate() {
                    list.push(text(item));
                    defined.push(1);
                    repeated.push(i16::from(n > 0));
                }
                if items.is_empty() {
                    defined.push(0);
                    repeated.push(0);
                }
            }
            column.typed::<ByteArrayType>().write_batch(&list, Some(&defined), Some(&repeated))?;
        }
    }
    column.close()
}
