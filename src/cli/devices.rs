//! `kc devices`: on what can kernels run here?

use std::ffi::OsStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde_json::Value;

use super::profile::limits;
use super::{Exit, output};
use crate::diag::Code;
use crate::diag::render::{Format, render};
use crate::profile::{Limits, gpus, gpus::Gpu, occupancy};
use crate::run::devices::{self, Device, Found};
use crate::source::SourceMap;

/// Lists the devices that kernels can run on.
///
/// These are the host, the interpreter, the simulator, and each NVIDIA GPU that the driver finds.
/// If there is no GPU, it says why. With an architecture, it lists the resources of a GPU of it.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// One JSON object per device that is there.
    #[arg(long)]
    json: bool,
    /// What a GPU of this architecture has, such as `sm_90`: the figures of `kc profile`, with
    /// where they are published.
    #[arg(long, value_name = "ARCH", value_parser = limits)]
    arch: Option<&'static Limits>,
}

pub(super) fn run(args: &Args) -> Exit {
    if let Some(limits) = args.arch {
        return match output::out(properties(limits, args.json).as_bytes()) {
            Ok(()) => Exit::Ok,
            Err(error) => {
                output::err(&render(&error, &SourceMap::default(), Format::Full, output::style()));
                Exit::Errors
            }
        };
    }
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

/// What a multiprocessor of an architecture has, and a GPU of it at most.
fn properties(limits: &Limits, as_json: bool) -> String {
    let multiprocessor = [
        ("warps_per_sm", limits.warps),
        ("blocks_per_sm", limits.blocks),
        ("registers_per_sm", limits.registers),
        ("shared_bytes_per_sm", limits.shared),
        ("shared_bytes_per_block", limits.shared_per_block),
        ("shared_bytes_reserved_per_block", limits.shared_reserved),
    ];
    let mut facts: Vec<(&str, Value)> = vec![("arch", limits.arch.into())];
    facts.extend(multiprocessor.map(|(name, value)| (name, value.into())));
    facts.push(("source", occupancy::SOURCE.into()));
    if let Some(gpu) = Gpu::of(limits.arch) {
        let peaks: [(&str, Value); 8] = [
            ("gpu", gpu.name.into()),
            ("multiprocessors", gpu.multiprocessors.into()),
            ("megahertz", gpu.megahertz.into()),
            ("gigabytes_per_second", gpu.bandwidth.into()),
            ("float32_per_sm_and_cycle", gpu.float32.into()),
            ("float64_per_sm_and_cycle", gpu.float64.into()),
            ("gpu_source", gpu.source.into()),
            ("arithmetic_source", gpus::SOURCE.into()),
        ];
        facts.extend(peaks);
    }
    if as_json {
        let object = facts.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
        return format!("{}\n", Value::Object(object));
    }
    let line = |(name, value): &(&str, Value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_string);
        format!("{name:<32} {value}\n")
    };
    facts.iter().map(line).collect()
}

fn text(found: &Found) -> String {
    format!("{:<7} {}\n", found.name, found.about)
}

fn json(found: &Found) -> String {
    let mut object = serde_json::Map::new();
    object.insert("device".to_string(), found.name.clone().into());
    object.extend(found.facts.clone());
    format!("{}\n", Value::Object(object))
}

/// The values of `--device`.
pub(super) fn parser() -> impl TypedValueParser<Value = &'static dyn Device> {
    let named = |device: &&'static dyn Device| PossibleValue::new(device.name()).help(device.about());
    Names(PossibleValuesParser::new(devices::ALL.iter().map(named)))
}

/// The names of devices, and `cuda:1` for one GPU of several.
#[derive(Clone)]
struct Names(PossibleValuesParser);

impl TypedValueParser for Names {
    type Value = &'static dyn Device;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Self::Value, clap::Error> {
        if let Some(device) = value.to_str().and_then(devices::numbered) {
            return Ok(device);
        }
        let name = self.0.parse_ref(command, argument, value)?;
        devices::named(&name).map_err(|error| clap::Error::raw(clap::error::ErrorKind::InvalidValue, error.message))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        self.0.possible_values()
    }
}
