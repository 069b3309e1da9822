//! Scenarios: a text with a cursor `<|>`, and what it tells there.

use std::path::Path;

use super::*;

const PRELUDE: &str = "import warp as wp\n\n\n@wp.struct\nclass Ball:\n    mass: float\n    at: wp.vec3\n\n\n\
    @wp.func\ndef scale(x: float, by: float = 2.0):\n    \"\"\"Scales `x`.\"\"\"\n    return x * by\n\n\n";

/// The file without its cursor, and the cursor's offset.
fn at(text: &str) -> (File, u32) {
    let text = format!("{PRELUDE}{text}");
    let offset = text.find("<|>").expect("a cursor");
    (File::quick(Path::new("test.py"), text.replace("<|>", "")), offset as u32)
}

fn kernel(body: &str) -> (File, u32) {
    at(&format!(
        "@wp.kernel\ndef k(x: wp.array(dtype=float), balls: wp.array(dtype=Ball), n: int):\n    i = wp.tid()\n    {}\n",
        body.replace('\n', "\n    ")
    ))
}

fn hovered(body: &str) -> String {
    let (file, offset) = kernel(body);
    hover::hover(&file, offset).map(|hover| hover.markdown).unwrap_or_default()
}

fn labels(body: &str) -> Vec<String> {
    let (file, offset) = kernel(body);
    let found = complete::complete(&file, Path::new("test.py"), offset);
    found.map(|found| found.list.into_iter().map(|p| p.label).collect()).unwrap_or_default()
}

#[test]
fn hover_tells_types_and_threads() {
    assert!(hovered("<|>y = x[i]").contains("y: float32"));
    assert!(hovered("y = x[<|>i]").contains("i: int32\n```\n\nvariable, per thread"));
    assert!(hovered("s = 0\ns += x[i]\ny = <|>s").contains("s: float32"));
    assert!(hovered("y = float(<|>n)").contains("n: int32\n```\n\nparameter, uniform"));
    assert!(hovered("m = balls[i].ma<|>ss").contains("Ball.mass: float"));
    assert!(hovered("y = x[i] <|>* 2.0").contains("x[i] * 2.0: float32"));
    assert!(hovered("y = sca<|>le(1.0)").contains("Scales `x`."));
    assert!(hovered("y = wp.vec<|>3(1.0)").contains("3 × float32, 12 bytes"));
}

#[test]
fn hover_tells_the_adjoint() {
    let sqrt = hovered("y = wp.sq<|>rt(x[i])");
    assert!(sqrt.contains("sqrt(x: Float) -> Float") && sqrt.contains("adjoint[x] +="), "{sqrt}");
    assert!(hovered("y = wp.flo<|>or(x[i])").contains("Adjoint: zero"));
    assert!(hovered("i = wp.ti<|>d()").contains("tid() -> int32"));
    assert!(hovered("wp.atomic_<|>add(x, 0, 1.0)").contains("the adjoint of the element goes to"));
}

#[test]
fn hover_works_in_broken_functions() {
    assert!(hovered("y = x[i]\nz = y + undefined\nw = <|>y").contains("y: float32"));
    assert!(hovered("y = x[i]\nz = (\nw = <|>y").contains("y: float32"));
}

#[test]
fn completion_after_a_dot() {
    assert_eq!(labels("y = balls[i].<|>"), ["mass", "at"]);
    assert_eq!(labels("y = balls[i].at.<|>"), ["x", "y", "z"]);
    assert_eq!(labels("y = wp.sin(balls[i].m<|>"), ["mass", "at"]);
    assert_eq!(labels("if balls[i].<|>\n    y = 1"), ["mass", "at"]);
    assert!(labels("x.<|>").contains(&"shape".to_string()));
    let builtins = labels("y = wp.<|>");
    for name in ["sin", "tid", "vec3", "array2d", "float64", "atomic_add"] {
        assert!(builtins.contains(&name.to_string()), "{name}");
    }
    assert!(!builtins.contains(&"kernel".to_string()));
}

#[test]
fn completion_of_names() {
    let names = labels("radius = 1.0\ny = r<|>");
    for name in ["radius", "balls", "i", "scale", "Ball", "wp", "for"] {
        assert!(names.contains(&name.to_string()), "{name}");
    }
    assert!(labels("y = 1.0  # r<|>").is_empty());
    assert!(labels("print(\"<|>").is_empty());
}

#[test]
fn completion_of_decorators_and_silence_elsewhere() {
    let complete = |text: &str| {
        let (file, offset) = at(text);
        complete::complete(&file, Path::new("test.py"), offset).map(|c| c.list.into_iter().map(|p| p.label).collect())
    };
    let decorators: Option<Vec<String>> = complete("@wp.<|>\ndef f(x: float):\n    return x\n");
    assert!(decorators.is_some_and(|list| list.contains(&"kernel".to_string())));
    assert_eq!(complete("print(wp.<|>)\n"), None::<Vec<String>>);
}

#[test]
fn signatures() {
    let help = |body: &str| {
        let (file, offset) = kernel(body);
        signature::help(&file, offset).map(|h| (h.signatures[h.active].label.clone(), h.argument))
    };
    let (label, argument) = help("y = wp.lerp(x[i], <|>").expect("help");
    assert!(label.starts_with("lerp(a: Float"), "{label}");
    assert_eq!(argument, 1);
    assert_eq!(help("y = scale(x[wp.min(i, 3)], by=<|>").map(|h| h.1), Some(1));
    assert_eq!(help("y = scale(by=<|>").map(|h| h.1), Some(1));
    assert!(help("y = wp.dot(balls[i].at, <|>balls[i].at)").is_some_and(|h| h.0.starts_with("dot(a: Vec")));
    assert!(help("wp.atomic_add(x, <|>").is_some_and(|h| h.0.starts_with("atomic_add(arr: ")));
    assert_eq!(help("y = (<|>"), None);
}

#[test]
fn definitions_and_references() {
    let (file, offset) = kernel("y = sca<|>le(x[i])");
    let (_, targets) = define::definitions(&file, offset).expect("a definition");
    let [define::Target::Here(span)] = targets.as_slice() else { panic!("{targets:?}") };
    assert_eq!(file.slice(*span), "scale");
    let (file, offset) = kernel("y = wp.sq<|>rt(x[i])");
    let (_, targets) = define::definitions(&file, offset).expect("a definition");
    let define::Target::Library { path, name } = &targets[0] else { panic!("{targets:?}") };
    let text = crate::library::Library::text(path).expect("a library file");
    assert_eq!(&text[name.start as usize..name.end as usize], "sqrt");
    let (file, offset) = kernel("y = x[i]\nif y > 0.0:\n    <|>y = y + 1.0\nx[i] = y");
    assert_eq!(define::references(&file, offset).len(), 5);
    let (file, offset) = kernel("y = balls<|>[i].mass");
    assert_eq!(define::type_definition(&file, offset).map(|span| file.slice(span).to_string()), Some("Ball".into()));
}

#[test]
fn renaming() {
    let rename = |text: &str, name: &str| {
        let (file, offset) = at(text);
        let places = rename::rename(&file, offset, name)?;
        Ok::<usize, String>(places.len())
    };
    let text = "@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    i = wp.tid()\n    x[i] = sca<|>le(x[i], by=3.0)\n\n\nprint(scale)\n";
    assert_eq!(rename(text, "grow"), Ok(3));
    assert!(rename(text, "k").is_err() && rename(text, "1x").is_err() && rename(text, "for").is_err());
    assert!(rename(&text.replace("sca<|>le(", "scale(").replace("tid", "t<|>id"), "x").is_err());
    // A keyword argument is renamed with its parameter.
    let text = "@wp.func\ndef f(a: float, b<|>: float):\n    return a * b\n\n\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    x[0] = f(1.0, b=2.0)\n";
    assert_eq!(rename(text, "factor"), Ok(3));
    assert!(rename(text, "a").is_err());
    // Plain Python uses the field: its types are not known.
    let listed = "import warp as wp\n\nC<|>OUNT = 4\n\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    i = wp.tid()\n    \
                  x[i] = float(wp.static(sum([i * COUNT for i in range(COUNT) if i < COUNT])))\n";
    assert_eq!(rename(listed, "TOTAL"), Ok(4));
    // The `i` of the comprehension is its own.
    assert_eq!(rename(&listed.replace("C<|>", "C").replace("    i = ", "    <|>i = "), "thread"), Ok(2));
    // Names in f-strings are names, in kernels and around them.
    let formatted = "C<|>OUNT = 4\n\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    i = wp.tid()\n    \
                     assert x[i] > 0.0, f\"{i}: {x[i]} of {COUNT}\"\n\n\nprint(f\"{COUNT:{COUNT}d} COUNT {{COUNT}}\")\n";
    assert_eq!(rename(formatted, "TOTAL"), Ok(4));
    assert_eq!(rename(&formatted.replace("C<|>", "C").replace("    i = ", "    <|>i = "), "thread"), Ok(4));
    let field = "@wp.kernel\ndef k(b: wp.array(dtype=Ball)):\n    b[0].ma<|>ss = 1.0\n";
    assert_eq!(rename(field, "weight"), Ok(2));
    assert!(rename(&format!("{field}\n\nball.mass = 3.0\n"), "weight").is_err());
}

#[test]
fn actions_repair() {
    let apply = |body: &str, title: &str| {
        let (file, offset) = kernel(body);
        let list = actions::actions(&file, offset..offset);
        let action = list.iter().find(|a| a.title.contains(title)).unwrap_or_else(|| panic!("{title} of {list:?}"));
        let mut edits = action.edits.clone();
        edits.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
        let mut text = file.text().to_string();
        for (span, with) in edits {
            text.replace_range(span.start as usize..span.end as usize, &with);
        }
        text
    };
    assert!(apply("y = <|>i * 2.5\nx[i] = y", "float(").contains("y = float(i) * 2.5"));
    // What is assigned stays as it is.
    for body in ["<|>s = 0\ns += 1", "s = 0\n<|>s += 1", "for <|>j in range(3):\n    x[j] = 1.0"] {
        let (file, offset) = kernel(body);
        let list = actions::actions(&file, offset..offset);
        assert!(list.iter().all(|action| !action.title.starts_with("Convert")), "{body}: {list:?}");
    }
    assert!(apply("x[0] <|>+= 1.0", "atomic_add").contains("wp.atomic_add(x, 0, 1.0)"));
    assert!(apply("x[i] = wp.<|>sine(1.0)", "sin").contains("x[i] = wp.sin(1.0)"));
    assert!(apply("<|>y = 3.0", "Allow W1301").contains("y = 3.0  # kc: allow(W1301)"));
}

#[test]
fn the_whole_file() {
    let (file, _) = kernel("for j in range(3):\n    y = scale(x[j], 2.0)\n    x[j] = y<|>");
    let outline: Vec<String> = symbols::outline(&file).into_iter().map(|entry| entry.name).collect();
    assert_eq!(outline, ["Ball", "scale", "k"]);
    let hints: Vec<String> = hints::hints(&file, 0..u32::MAX).into_iter().map(|hint| hint.label).collect();
    assert_eq!(hints, [": int32", ": int32", ": float32", "by: "]);
    assert_eq!(fold::folds(&file).len(), 4);
    let tokens = tokens::tokens(&file);
    let of = |text: &str| tokens.iter().find(|token| file.slice(token.span) == text).map(|token| token.class);
    assert_eq!(of("scale"), Some(tokens::Class::Function));
    assert_eq!(of("balls"), Some(tokens::Class::Parameter));
    assert_eq!(of("Ball"), Some(tokens::Class::Struct));
    assert_eq!(of("mass"), Some(tokens::Class::Property));
    assert!(tokens.is_sorted_by_key(|token| token.span.start));
}

#[test]
fn findings_stay_inside_kernels() {
    let (file, _) = at(
        "SIZE = open('x')\n\n\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    x[0] = SIZE * 2.0<|>\n\n\nbad = 1 +\n",
    );
    let places: Vec<&str> = file.findings().map(|(span, _)| file.slice(span)).collect();
    // Not at the constant, which is Python's: at the name of the kernel that needs it.
    assert_eq!(places, ["k"]);
    let plain = File::quick(Path::new("t.py"), "import warp as wp\n\ndef f(:\n    1 +\n".to_string());
    assert_eq!(plain.findings().count(), 0);
}

/// Everything an editor can ask, at one place: nothing may panic.
fn ask_everything(file: &File, offset: u32) {
    let path = Path::new("test.py");
    hover::hover(file, offset);
    complete::complete(file, path, offset);
    signature::help(file, offset);
    define::definitions(file, offset);
    define::type_definition(file, offset);
    define::references(file, offset);
    let _ = rename::rename(file, offset, "renamed");
    actions::actions(file, offset..offset);
    fold::around(file, offset);
    hints::hints(file, 0..u32::MAX);
    symbols::outline(file);
    tokens::tokens(file);
    fold::folds(file);
}

/// A person types every example from its beginning. Places between names and signs are asked about
/// at every third character, which differs from file to file.
#[test]
fn half_typed_examples() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut files: Vec<_> = std::fs::read_dir(folder).expect("examples").map(|e| e.expect("an entry").path()).collect();
    files.sort();
    let files: Vec<_> = files.into_iter().filter(|path| path.extension().is_some_and(|e| e == "py")).collect();
    assert!(files.len() > 5);
    std::thread::scope(|scope| {
        for (k, path) in files.iter().enumerate() {
            std::thread::Builder::new()
                .stack_size(64 << 20)
                .spawn_scoped(scope, move || {
                    let text = std::fs::read_to_string(path).expect("a text");
                    let start = text.find("@wp.").unwrap_or(0);
                    let ends = text.char_indices().map(|(at, _)| at).filter(|at| *at > start);
                    for end in ends.filter(|at| at % 3 == k % 3) {
                        let file = File::quick(path, text[..end].to_string());
                        ask_everything(&file, end as u32);
                    }
                })
                .expect("a thread");
        }
    });
}
