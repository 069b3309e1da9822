//! What is a mesh, a hash grid or the like in a program? How host programs build it of arrays, and
//! again where these were written, and what a launch gets.

use super::library::Role;
use crate::dataset::plan::{Given, Param};
use crate::run::launch::EngineKind;

/// The fields of an engine in launch files, in the order of the library.
fn fields(kind: EngineKind) -> &'static [&'static str] {
    match kind {
        EngineKind::Mesh => &["points", "indices"],
        EngineKind::Bvh => &["lowers", "uppers"],
        EngineKind::HashGrid => &["points", "width", "dim"],
        EngineKind::Volume => &["data", "voxel_size"],
        EngineKind::Texture => &["data"],
    }
}

/// What a launch builds an engine of; `of_program` is an array or a number of the program.
pub fn given(role: &Role, kind: EngineKind, mut of_program: impl FnMut(&str) -> Param) -> Given {
    let part = |(field, part): (&&'static str, &str)| {
        let numbers = part.split(' ').map(str::parse).collect::<Result<Vec<f64>, _>>();
        let number = |list| Param { name: part.to_string(), ty: String::new(), given: Given::Float(list) };
        (*field, numbers.map_or_else(|_| of_program(part), number))
    };
    Given::Engine { kind, parts: fields(kind).iter().zip(role.parts()).map(part).collect() }
}

/// The statements that build an engine of arrays; `host` is an array's name in NumPy.
pub fn built(role: &Role, host: &dyn Fn(&str) -> String) -> Vec<String> {
    let (name, parts) = (&role.name, role.parts().collect::<Vec<_>>());
    match (role.engine(), parts.as_slice()) {
        (Some(EngineKind::Mesh), [points, indices]) => {
            vec![format!("{name} = wp.Mesh(points={points}, indices={indices})")]
        }
        (Some(EngineKind::Bvh), [lowers, uppers]) => vec![format!("{name} = wp.Bvh({lowers}, {uppers})")],
        (Some(EngineKind::HashGrid), [_, _, dim]) => {
            vec![format!("{name} = wp.HashGrid({})", dim.replace(' ', ", ")), rebuilt(role)]
        }
        (Some(EngineKind::Volume), [data, size]) => {
            let data = host(data);
            vec![format!("{name} = wp.Volume.load_from_numpy({data}, voxel_size={size}, bg_value=0.0)")]
        }
        (Some(EngineKind::Texture), [data]) => vec![format!("{name} = wp.Texture2D({})", host(data))],
        _ => Vec::new(),
    }
}

/// The statement that lets an engine follow its arrays.
pub fn rebuilt(role: &Role) -> String {
    match (role.engine(), role.parts().collect::<Vec<_>>().as_slice()) {
        (Some(EngineKind::HashGrid), [points, width, ..]) => format!("{}.build({points}, {width})", role.name),
        _ => format!("{}.refit()", role.name),
    }
}
