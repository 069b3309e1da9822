//! Which functions, structs and words come with a kernel?

use super::category::Category;
use super::inputs::{self, Grid, array_type};
use super::tree::{Content, Function, Given, Kind, Param, Stmt, StructDef};
use super::vocabulary::{locals, scalars};
use super::writer::{Callee, Writer};

/// Functions that the kernel may call; the writer knows them afterwards.
pub fn functions(writer: &mut Writer, category: Category, depth: u32) -> Vec<Function> {
    let count = match category {
        Category::Function => 1 + writer.random.below(2),
        _ if writer.random.chance(38) => 1 + writer.random.below(5) / 4,
        _ => 0,
    };
    let constants = writer.values.clone();
    let kernel_names = writer.taken.clone();
    let mut out = Vec::new();
    for _ in 0..count {
        writer.values = constants.clone();
        let kinds = [
            Kind::Float,
            Kind::Float,
            Kind::Vec(3),
            Kind::Unit,
            Kind::Positive,
            Kind::Signed,
            Kind::Vec(2),
            Kind::Mat(3),
        ];
        let result = match category {
            Category::Vector => *writer.random.pick(&[Kind::Vec(3), Kind::Float]),
            Category::Matrix => *writer.random.pick(&[Kind::Mat(3), Kind::Vec(3), Kind::Float]),
            _ => *writer.random.pick(&kinds[..6]),
        };
        let stems: &[&str] = match result {
            Kind::Unit => {
                &["falloff", "sigmoid", "smooth_step", "coverage_of", "gate", "fade", "mask_of", "kernel_weight"]
            }
            Kind::Positive => &["safe_norm", "softplus", "metric_scale", "spread", "bounded", "width_of"],
            Kind::Signed => &["wave", "oscillate", "tilt_of", "centered_noise", "soft_sign", "cosine_of"],
            Kind::Vec(_) => {
                &["bend", "pull", "deflect", "shift_point", "swirl", "drift_vec", "reflect_about", "offset_from"]
            }
            Kind::Mat(_) => &["outer_metric", "rotation_like", "strain_of", "frame_of", "sym_part"],
            _ => &[
                "blend",
                "energy_of",
                "curve",
                "response",
                "potential",
                "cost",
                "profile",
                "polynomial",
                "shape",
                "penalty",
            ],
        };
        let name = writer.name(stems);
        let arity = 1 + writer.random.below(3);
        let mut params = Vec::new();
        let mut callee = Callee { name: name.clone(), params: Vec::new(), result, calls: 0 };
        for n in 0..arity {
            let kind = if n == 0 && result.components() > 1 { result } else { *writer.random.pick(&kinds) };
            let name = if n == 0 {
                writer.name(&["x", "p", "a", "v", "value"])
            } else {
                writer.name(scalars(writer.domain, kind))
            };
            writer.declare(&name, kind, true);
            params.push((name, kind.python().to_string()));
            callee.params.push(kind);
        }
        let mut body: Vec<Stmt> = Vec::new();
        for _ in 0..[0, 0, 1, 1, 2, 3][writer.random.below(6)] {
            let kind = *writer.random.pick(&kinds);
            body.push(writer.assign(kind, 2));
        }
        if depth > 0 && writer.random.chance(20) && result.is_float() {
            let condition = writer.expr(Kind::Bool, 1);
            let early = writer.expr(result, 1);
            body.push(Stmt::Block(
                format!("if {}:", condition.text),
                vec![Stmt::Line(format!("return {}", early.text))],
            ));
        }
        let value = writer.expr(result, 3);
        let value = match (result, writer.rest(0)) {
            (Kind::Float, Some(rest)) => format!("{} + {}", value.text, rest.text),
            (Kind::Unit, Some(rest)) => format!("wp.clamp({} + {}, 0.0, 1.0)", value.text, rest.text),
            (Kind::Positive, Some(rest)) => format!("wp.abs({}) + {}", rest.text, inputs::bracket(&value.text)),
            (Kind::Signed, Some(rest)) => format!("wp.sin({} + {})", value.text, rest.text),
            (kind, Some(rest)) if kind.components() > 1 => {
                format!("{} * wp.cos({})", inputs::bracket(&value.text), rest.text)
            }
            _ => value.text,
        };
        body.push(Stmt::Line(format!("return {value}")));
        let returns = writer.random.chance(45).then(|| result.python().to_string());
        let doc = writer.random.chance(30).then(|| {
            let what = name.replace('_', " ");
            let first = params.first().map_or("its argument", |p| p.0.as_str()).to_string();
            let form = *writer.random.pick(&[
                "The {w} at `{x}`.",
                "Evaluates the {w} for `{x}`.",
                "Returns the {w} of `{x}`.",
            ]);
            form.replace("{w}", &what).replace("{x}", &first)
        });
        out.push(Function { name: name.clone(), doc, params, returns, body });
        // Names inside a function are its own.
        writer.taken = kernel_names.clone();
        out.iter().for_each(|f: &Function| {
            writer.taken.insert(f.name.clone());
        });
        writer.callees.push(callee);
        if out.len() > 1 {
            // Helpers of helpers would hide the kernel's own calls.
            writer.callees.rotate_right(1);
        }
    }
    out
}

/// A struct parameter, or an array of structs; its fields are in scope.
pub fn structure(writer: &mut Writer, grid: &Grid, params: &mut Vec<Param>, body: &mut Vec<Stmt>) -> StructDef {
    let class = writer
        .name(&["Params", "Material", "Settings", "Particle", "Body", "Config", "Options", "Cell", "Node", "Light"]);
    let element = matches!(class.as_str(), "Particle" | "Body" | "Cell" | "Node" | "Light") || writer.random.chance(15);
    let count = 2 + writer.random.below(3);
    let mut fields = Vec::new();
    let mut given = Vec::new();
    let mut kinds = Vec::new();
    let mut names = std::collections::HashSet::new();
    for _ in 0..count {
        let kind =
            *writer.random.pick(&[Kind::Positive, Kind::Positive, Kind::Float, Kind::Vec(3), Kind::Unit, Kind::Vec(3)]);
        let list =
            if element && kind.components() > 1 { locals(writer.domain, kind) } else { scalars(writer.domain, kind) };
        let name = writer.random.pick(list).to_string();
        if !names.insert(name.clone()) {
            continue;
        }
        // All floats of an array of structs are filled alike.
        let kind = if element && kind != Kind::Vec(3) { Kind::Unit } else { kind };
        fields.push((name.clone(), kind.python().to_string()));
        given.push((name.clone(), inputs::value(writer, kind)));
        kinds.push((name, kind));
    }
    let lower = class.to_lowercase();
    if element {
        let plural = writer.name(&[format!("{lower}_list").as_str(), "items", "elements", "records"]);
        params.push(Param {
            name: plural.clone(),
            ty: array_type(&class, grid.indices.len(), false),
            given: Given::Array { shape: grid.shape(), content: Content::Between(0.0625, 1.0) },
        });
        let at = format!("{plural}[{}]", grid.own());
        let base = if writer.random.chance(60) {
            let local = writer.name(&[lower.as_str(), "item", "element"]);
            body.push(Stmt::Line(format!("{local} = {at}")));
            local
        } else {
            at
        };
        for (name, kind) in kinds {
            writer.declare(&format!("{base}.{name}"), kind, true);
        }
    } else {
        let name = writer.name(&[lower.as_str(), "cfg", "opts", "args"]);
        params.push(Param { name: name.clone(), ty: class.clone(), given: Given::Struct(given) });
        for (field, kind) in kinds {
            writer.declare(&format!("{name}.{field}"), kind, false);
        }
    }
    let doc = writer.random.chance(35).then(|| {
        (*writer.random.pick(&[
            "What all threads share.",
            "The constants of a step.",
            "The state of one element.",
            "Values that stay fixed during a launch.",
        ]))
        .to_string()
    });
    StructDef { name: class, doc, fields }
}

/// The docstring of a kernel.
pub fn doc(writer: &mut Writer, verb: &str, object: &str) -> String {
    let mut third = verb.to_string();
    third.push_str(if verb.ends_with('s') || verb.ends_with('x') || verb.ends_with('h') { "es" } else { "s" });
    if let Some(first) = third.get(..1) {
        third = first.to_uppercase() + &third[1..];
    }
    let tail = *writer.random.pick(&[
        "",
        ", one thread for each",
        ", element by element",
        " in place of a host loop",
        " from the arrays given",
        " and writes the result",
        " with the parameters of this step",
    ]);
    format!("{third} the {object}{tail}.")
}

/// The docstring of a module.
pub fn module_doc(writer: &mut Writer, object: &str) -> String {
    let domain = writer.domain.name();
    match writer.random.below(3) {
        0 => format!("A {domain} kernel that works on {object}."),
        1 => format!("Kernels for {object}."),
        _ => format!("{}: a small building block.", object[..1].to_uppercase() + &object[1..]),
    }
}
