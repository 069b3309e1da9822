//! Nothing that is said is false. Fifteen kinds of defects that readers found in programs of this
//! library, each with the rule that keeps it out.

use std::collections::HashSet;
use std::sync::OnceLock;

use super::code::writes;
use super::facts::{self, Usage};
use super::library::{Family, Kind, companions, families};
use super::program::{Draft, drafted};
use super::{claims, code, sample, words};

const PROGRAMS: u64 = 500;

struct Row {
    family: &'static Family,
    draft: Draft,
    text: String,
    tasks: [String; 3],
    prompt: String,
}

fn rows() -> &'static [Row] {
    static ROWS: OnceLock<Vec<Row>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let all: Vec<_> = families().iter().collect();
        let row = |number| {
            let (family, draft, _) = drafted(11, number, &all);
            let made = sample(11, number, &all);
            let prompt = made.meaning.prompt().to_string();
            Row { family, draft, text: made.plan.text, tasks: made.meaning.tasks, prompt }
        };
        (0..PROGRAMS).map(row).collect()
    })
}

/// No row has this; the message shows the first that does.
fn none(has: impl Fn(&Row) -> Option<String>) {
    let found: Vec<(&Row, String)> = rows().iter().filter_map(|row| Some((row, has(row)?))).collect();
    if let Some((row, what)) = found.first() {
        panic!("{} of {PROGRAMS}; {}: {what}\n{}", found.len(), row.family.name, row.text);
    }
}

fn contains(row: &Row, text: &str) -> Option<String> {
    let line = row.text.lines().find(|line| line.contains(text))?;
    Some(format!("{text:?} in {line}"))
}

#[test]
fn kind_1_companions_fit_and_are_few() {
    let names: HashSet<&str> =
        companions().iter().flat_map(|one| &one.functions).map(|function| function.name.as_str()).collect();
    let has = |row: &&Row| {
        row.draft.functions.iter().any(|function| {
            let bare = function.name.trim_start_matches('_').trim_end_matches("_kernel");
            function.kind == Kind::Kernel
                && names.iter().any(|name| bare == *name || bare.ends_with(&format!("_{name}")))
        })
    };
    let count = rows().iter().filter(has).count();
    assert!((10..=75).contains(&count), "{count} of {PROGRAMS}");
}

#[test]
fn kind_2_elements_are_not_reordered_for_nothing() {
    none(|row| {
        let own: HashSet<&str> = row.family.roles.iter().map(|role| role.about.as_str()).collect();
        let role = row
            .draft
            .roles
            .iter()
            .find(|role| role.content == "permutation()" && !own.contains(role.about.as_str()))?;
        Some(format!("`{}` is no part of the algorithm", role.name))
    });
}

#[test]
fn kind_3_all_state_is_of_a_world_or_none() {
    let mut worlds = 0;
    none(|row| {
        let is_count = |name: &str| ["num_worlds", "nworld", "num_envs", "num_systems", "batch_size"].contains(&name);
        let own = row.family.sizes.iter().any(|size| is_count(&size.name));
        let count = row.draft.sizes.iter().find(|size| is_count(&size.name) && !own)?;
        let is_state = |role: &&super::library::Role| {
            role.is_array() && role.content == "zeros"
                || ["uniform", "full"].contains(&role.content().0) && role.ty == "vec3"
        };
        let shared =
            row.draft.roles.iter().filter(is_state).find(|role| {
                role.is_array() && role.dims.iter().flatten().all(|dim| !code::mentions(dim, &count.name))
            });
        shared.map(|role| format!("`{}` has no {}", role.name, count.name))
    });
    for row in rows() {
        worlds += u64::from(row.tasks[1].contains("arrays without a dimension for them"));
    }
    assert!(worlds > 5 && worlds < PROGRAMS / 5, "{worlds}");
}

#[test]
fn kind_4_results_are_compared_by_their_scale() {
    none(|row| contains(row, "atol=1e-3"));
    none(|row| {
        let floats = row.text.contains("assert_allclose") || row.text.contains("check(\"");
        (floats && !row.text.contains("np.abs(expected).max()") && !row.text.contains(").max(), 1e-6)"))
            .then(|| "no scale".to_string())
    });
}

#[test]
fn kind_5_data_reach_all_groups() {
    none(|row| contains(row, "rng.integers(-1, 1,").or_else(|| contains(row, "rng.integers(-1, 0,")));
}

#[test]
fn kind_6_tasks_are_specifications() {
    none(|row| {
        let kernels = row.draft.functions.iter().filter(|function| function.kind == Kind::Kernel);
        for kernel in kernels {
            let signature = format!("{}({})", kernel.name, kernel.params.join(", "));
            if let Some(level) = row.tasks.iter().position(|task| !task.contains(&signature)) {
                return Some(format!("level {level} lacks {signature}"));
            }
            if let Some(name) = kernel.params.iter().find(|name| !row.tasks[2].contains(&format!("- `{name}`"))) {
                return Some(format!("`{name}` is not described in\n{}", row.tasks[2]));
            }
        }
        None
    });
    let distinct: HashSet<&str> = rows().iter().map(|row| row.prompt.as_str()).collect();
    assert!(distinct.len() as u64 * 100 >= PROGRAMS * 95, "{} of {PROGRAMS} prompts", distinct.len());
    for family in ["heat_explicit", "axpy"] {
        let family = super::find(family).expect("a family");
        let wordings: HashSet<String> = (0..60)
            .map(|number| {
                let made = sample(2, number, &[family]).meaning;
                made.tasks[0].split('`').step_by(2).collect()
            })
            .collect();
        assert!(wordings.len() >= 5, "{wordings:?}");
    }
}

#[test]
fn kind_7_sizes_are_described_or_not_at_all() {
    for words in ["along this axis", "number of obs.", "number of act.", "number of dofs."] {
        none(|row| contains(row, words));
    }
}

#[test]
fn kind_8_text_and_code_agree() {
    none(|row| claims::first(&row.draft));
    none(|row| {
        let says = row.text.contains("2 to 6") || row.tasks[2].contains("2 to 6");
        (says && !row.text.contains("p == 6")).then(|| "orders that are not handled".to_string())
    });
    none(|row| {
        let says = row.tasks[2].contains("4 ellipsoid");
        (says && !row.text.contains("ray_ellipsoid")).then(|| "shapes that are not handled".to_string())
    });
}

#[test]
fn kind_9_labels_and_launches_say_what_is_written() {
    none(|row| {
        let draft = &row.draft;
        for function in draft.functions.iter().filter(|function| function.kind == Kind::Kernel) {
            let launch = row.text.split(&format!("wp.launch({},", function.name)).nth(1);
            let outputs =
                launch.and_then(|text| text.split(")\n").next()?.split_once("outputs=[")?.1.split(']').next());
            let bound = draft.runs.iter().any(|run| run.kernel == function.name && !run.bound.is_empty());
            for name in outputs.into_iter().flat_map(|list| list.split(", ")).filter(|_| !bound) {
                let name = name.trim().trim_start_matches("self.");
                if facts::usage(draft, function, name) != Usage::Output {
                    return Some(format!("`{name}` of `{}` is read", function.name));
                }
            }
        }
        None
    });
    none(|row| {
        let mut header: Vec<&str> = Vec::new();
        for line in row.text.lines() {
            match line {
                "    # inputs" | "    # outputs" | "    # in and out" if header.contains(&line) => {
                    return Some(format!("{line} is there twice"));
                }
                "    # inputs" | "    # outputs" | "    # in and out" => header.push(line),
                "):" => header.clear(),
                _ => {}
            }
        }
        None
    });
    let tile = rows().iter().find(|row| row.text.contains("wp.tile_store(")).expect("a program with tiles");
    let kernel =
        tile.draft.functions.iter().find(|f| f.body.iter().any(|line| line.contains("wp.tile_store("))).expect("it");
    assert!(kernel.params.iter().any(|name| facts::usage(&tile.draft, kernel, name) == Usage::Output), "{}", tile.text);
}

#[test]
fn kind_10_docstrings_name_what_a_kernel_has() {
    none(|row| {
        let kernels = row.draft.functions.iter().filter(|function| function.kind == Kind::Kernel);
        let sizes = kernels.flat_map(|kernel| kernel.params.iter().map(move |name| (kernel, name)));
        sizes.filter(|(_, name)| row.draft.role(name).is_none()).find_map(|(kernel, name)| {
            let text = facts::size(&row.draft, Some(kernel), name)?;
            let array = text.split('`').nth(1)?.to_string();
            (!kernel.params.contains(&array)).then_some(format!("`{array}` in {text}"))
        })
    });
}

#[test]
fn kind_11_axes_have_one_convention() {
    none(|row| {
        let own: HashSet<&str> = row.family.sizes.iter().map(|size| size.name.as_str()).collect();
        let axes: Vec<&str> =
            row.draft.sizes.iter().map(|size| size.name.as_str()).filter(|name| words::is_axis(name)).collect();
        let own: Vec<&str> = axes.iter().copied().filter(|name| own.contains(name)).collect();
        (!own.is_empty() && own.len() != axes.len() && own.iter().any(|name| name.starts_with('n')))
            .then(|| format!("{axes:?}"))
    });
}

#[test]
fn kind_12_pairs_are_constants_together() {
    none(|row| {
        let lower: Vec<String> = row.draft.constants.iter().map(|name| name.to_lowercase()).collect();
        let is_scalar = |role: &&super::library::Role| !role.is_array() && ["float", "int"].contains(&role.ty.as_str());
        let numbers = row.draft.roles.iter().filter(is_scalar).filter(|role| role.name == role.name.to_lowercase());
        let names: Vec<String> = numbers.map(|role| role.name.clone()).collect();
        let split = words::kin(&names, &lower).into_iter().find(|(_, has)| *has)?;
        Some(format!("{split:?} beside constants {lower:?}"))
    });
}

#[test]
fn kind_13_comments_on_threads_are_true() {
    none(|row| contains(row, "per stride").or_else(|| contains(row, "@threads")));
    none(|row| {
        let line =
            row.text.lines().find(|line| line.contains("thread") && line.contains("# ") && line.contains(" * "))?;
        Some(line.to_string())
    });
    none(|row| {
        let tiles = row.draft.functions.iter().filter(|f| f.body.iter().any(|line| line.contains("wp.tile_")));
        tiles.filter_map(|function| facts::thread(&row.draft, function)).find(|text| !text.starts_with("one block"))
    });
}

#[test]
fn kind_14_expressions_are_simplified() {
    none(|row| row.text.contains("[0 * ").then(|| "a product with 0".to_string()));
    // A call that is too long is broken inside of its own brackets.
    none(|row| {
        let alone = row.text.split("return (\n").skip(1).filter_map(|rest| rest.split("\n    )").next());
        let is_call = |inside: &&str| {
            inside.trim().starts_with("wp.vec") && inside.trim().ends_with(')') && !inside.contains('\n')
        };
        alone.filter(is_call).map(str::to_string).next()
    });
    let generic =
        rows().iter().filter(|row| row.text.contains("    return type(") || row.text.contains("= type(")).count();
    assert!(generic <= PROGRAMS as usize / 50, "{generic}");
}

/// What a kernel of an algorithm writes is compared, except for random numbers that Python has not.
#[test]
fn kind_15_everything_written_is_compared() {
    for family in families() {
        let of = |kind: Kind, name: &str| {
            let functions = family.functions.iter().filter(|function| function.kind == kind);
            functions.flat_map(|function| &function.body).any(|line| writes(line, name))
        };
        for role in family.roles.iter().filter(|role| role.is_array() && role.name != "jitter") {
            let is_missing = of(Kind::Kernel, &role.name) && !of(Kind::Reference, &role.name);
            assert!(!is_missing, "{}: `{}` is written and not compared", family.name, role.name);
        }
    }
}

/// A description needs no other one: lists are shuffled, so what came before another is not known.
#[test]
fn kind_16_descriptions_stand_alone() {
    let ladders = super::ladders().iter().map(|ladder| &ladder.family);
    for family in families().iter().chain(super::library::companions()).chain(ladders) {
        for role in &family.roles {
            let about = format!("{} ", role.about.replace([',', ';', ':', '['], " "));
            let first = about.split(' ').next().unwrap_or_default();
            let hangs = ["its", "their", "it", "them", "these", "those"].contains(&first)
                || [
                    " of them ",
                    " of these ",
                    " the same ",
                    " in the same order",
                    "and their number",
                    " of its entries ",
                ]
                .iter()
                .any(|words| format!(" {about}").contains(words));
            assert!(!hangs, "{}: `{}`: {}", family.name, role.name, role.about);
        }
    }
}

#[test]
fn kind_17_names_are_words_and_say_what_a_thing_is() {
    none(|row| {
        let draft = &row.draft;
        let names = draft.roles.iter().map(|role| &role.name).chain(draft.sizes.iter().map(|size| &size.name));
        let mut names = names.map(|name| name.to_lowercase());
        names.find(|name| {
            ["true", "false", "none"].contains(&name.as_str()) || name.split('_').any(|word| word == "losse")
        })
    });
    // One of the vertices of a triangle is no triangle.
    none(|row| {
        let line = row.text.lines().find(|line| {
            let (name, value) = line.trim().split_once(" = ").unwrap_or_default();
            let last = value.strip_suffix(']').and_then(|value| value.rsplit_once(", ")).map(|(_, last)| last);
            name.len() > 5
                && name.ends_with("_index")
                && value.starts_with(name.trim_end_matches("index"))
                && last.is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()))
        })?;
        Some(line.to_string())
    });
}

#[test]
fn kind_18_tasks_say_how_often_kernels_are_launched() {
    let steps = |row: &&Row| row.text.contains("for _ in range(num_steps):");
    assert!(rows().iter().filter(steps).count() > 3);
    none(|row| (steps(&row) && !row.tasks[1].contains(" 3 times")).then(|| row.tasks[1].clone()));
    none(|row| {
        let worlds = row.tasks[1].contains("arrays without a dimension for them");
        let count = ["num_worlds", "nworld", "num_envs", "num_systems", "batch_size"];
        let is_shared = |role: &super::library::Role| {
            role.is_array() && !role.dims.iter().flatten().any(|dim| count.iter().any(|name| code::mentions(dim, name)))
        };
        (worlds && !row.draft.roles.iter().any(is_shared)).then(|| "all arrays have worlds".to_string())
    });
    // Each world begins with something of its own.
    none(|row| {
        let worlds = row.tasks[1].contains(" are independent");
        let own = |role: &super::library::Role| {
            let count = ["num_worlds", "nworld", "num_envs", "num_systems", "batch_size"];
            role.dims.iter().flatten().any(|dim| count.iter().any(|name| code::mentions(dim, name)))
                && !["zeros", "full"].contains(&role.content().0)
        };
        (worlds && !row.draft.roles.iter().any(own)).then(|| "worlds that begin alike".to_string())
    });
}

/// Options that a program takes may be other ones.
#[test]
fn kind_19_options_are_free_of_each_other() {
    let mut options = 0;
    none(|row| {
        let has = |name: &str| row.text.contains(&format!("\"--{}\"", name.replace('_', "-")));
        let wrong = [("res", "num_cells"), ("res", "n_cells"), ("res", "cell_count")];
        let found = wrong.iter().find(|(a, b)| has(a) || has(b) && row.draft.sizes.iter().any(|size| size.name == *a));
        let steps = row.draft.runs.iter().flat_map(|run| &run.bound).any(|(_, value)| value.parse::<i64>().is_ok());
        let any = row.draft.sizes.iter().find(|size| has(&size.name)).filter(|_| steps);
        found.map(|pair| format!("{pair:?}")).or(any.map(|size| size.name.clone()))
    });
    for row in rows() {
        options += usize::from(
            row.draft.sizes.iter().any(|size| row.text.contains(&format!("\"--{}\"", size.name.replace('_', "-")))),
        );
    }
    assert!(options > 10, "{options}");
}

/// What is called a rotation is one in double precision, too.
#[test]
fn kind_21_frames_are_orthogonal_in_every_precision() {
    let family = super::find("contact_pgs").expect("a family");
    let texts = (0..80).map(|number| sample(3, number, &[family]).plan.text);
    let wide: Vec<String> = texts.filter(|text| text.contains("mat33d")).collect();
    assert!(!wide.is_empty() && wide.iter().all(|text| text.contains("np.linalg.qr(")), "{}", wide.len());
}

/// Every number that a kernel has is described, an extent too.
#[test]
fn kind_20_every_parameter_is_described() {
    none(|row| {
        let sizes = row
            .draft
            .sizes
            .iter()
            .find(|size| row.tasks[2].lines().any(|line| line == format!("- `{}`: int", size.name)));
        sizes.map(|size| size.name.clone())
    });
}
