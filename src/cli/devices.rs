//! `kc devices`: on what can kernels run here?

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::{Exit, output};
use crate::diag::Code;
use crate::diag::render::{Format, render};
use crate::run::devices::{self, Device, Found};
use crate::source::SourceMap;

/// Lists what kernels can run on: the host, the interpreter, and each NVIDIA GPU that the driver knows; without a GPU, why
/// there is none.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// One JSON object per device that is there.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Exit {
    let (mut lines, mut errors) = (String::new(), Vec::new());
    for device in devices::ALL {
        match device.found() {
            Ok(found) => lines.extend(found.iter().map(|one| if args.json { json(one) } else { text(one) })),
            // That there is no GPU is an answer.
            Err(error) if error.code == Code::E1104 && args.json => {}
            Err(error) if error.code == Code::E1104 => {
                let named = format!("the device `{}` is ", device.name());
                let why = error.message.strip_prefix(&named).unwrap_or(&error.message);
                lines += &format!("{:<7} {why}\n", device.name());
            }
            Err(error) => errors.push(error),
        }
    }
    errors.extend(output::out(lines.as_bytes()).err().map(Box::new));
    for error in &errors {
        output::err(&render(error, &SourceMap::default(), Format::Full, output::style()));
    }
    if errors.is_empty() { Exit::Ok } else { Exit::Errors }
}

fn text(found: &Found) -> String {
    format!("{:<7} {}\n", found.name, found.about)
}

fn json(found: &Found) -> String {
    let mut object = serde_json::Map::new();
    object.insert("device".to_string(), found.name.clone().into());
    object.extend(found.facts.clone());
    format!("{}\n", serde_json::Value::Object(object))
}

/// The values of `--device`.
pub(super) fn parser() -> impl TypedValueParser<Value = &'static dyn Device> {
    let named = |device: &&'static dyn Device| PossibleValue::new(device.name()).help(device.about());
    PossibleValuesParser::new(devices::ALL.iter().map(named))
        .try_map(|name| devices::named(&name).map_err(|error| error.message))
}
