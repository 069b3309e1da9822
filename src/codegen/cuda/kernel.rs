//! A whole function: signature, and for kernels the loop over threads.

use std::fmt::Write as _;
use std::rc::Rc;

use super::block_memory::TilePlace;
use super::function::{Body, Fault, translate};
use super::guards::is_reverse;
use super::plain::{self, Argument, PlainEntry};
use super::prelude::{ArrayMember, Prelude};
use super::remarks::comment_line;
use super::tree::{Expr, Stmt, Var};
use super::types::{VarData, identifier, type_name};
use super::{TextContext, block_memory, composite, declarations, names, print, shape};
use crate::abi;
use crate::codegen::shadow::{self, Shadow};
use crate::ids::IdList;
use crate::ir::{FuncId, Function, Phase, ResultRole, Step, TapeRole};
use crate::passes::block_threads::own_threads;
use crate::types::{StructTable, Type};

/// A variable's name and type, for the printer.
struct Named<'a> {
    vars: &'a [VarData],
    names: &'a [Rc<str>],
    structs: &'a StructTable,
}

impl print::Variables for Named<'_> {
    fn name(&self, var: Var) -> &str {
        &self.names[var.0 as usize]
    }

    fn declaration(&self, var: Var) -> String {
        self.vars[var.0 as usize].declaration(self.name(var), false, self.structs)
    }
}

/// The text of a kernel or device function.
pub fn function(
    shared: &TextContext<'_>,
    id: FuncId,
    prelude: &mut Prelude,
) -> Result<(String, Option<PlainEntry>), Fault> {
    let structs = &shared.module.structs;
    let plain = shared.plain.get(&id);
    // What represents absent arrays of adjoints is chosen before the loop over threads.
    let extracted = if plain.is_some() { None } else { shadow::extract(&shared.module.functions[id]) };
    let (function, shadows) = match &extracted {
        Some((function, shadows)) => (function, shadows.as_slice()),
        None => (&shared.module.functions[id], &[][..]),
    };
    prelude.fast = function.fast_math && !(function.library && function.source_name.starts_with('_'));
    let mut body = translate(shared, function, plain, prelude)?;
    let defaults: Vec<Stmt> =
        shadows.iter().filter_map(|shadow| default_statement(function, &body, shadow, structs, prelude)).collect();
    let mut declared: IdList<Var> = body.params.iter().chain(&body.outs).copied().collect();
    if let Some((task, launch)) = body.thread {
        declared.extend([task, launch]);
    }
    if let Some(scope) = &body.plain {
        declared.extend(scope.variables());
    }
    let is_reverse = is_reverse(function);
    shape::run(&mut body.stmts, body.vars.len(), function.is_kernel(), is_reverse);
    composite::declare_updates(&body.stmts, &body.vars, structs, prelude);
    declarations::declare(&mut body.stmts, &declared, body.vars.len());
    if body.thread.is_some() && !body.returns_in_loop {
        replace_returns(&mut body.stmts);
        if matches!(body.stmts.last(), Some(Stmt::Continue)) {
            body.stmts.pop();
        }
    }
    let names = names::assign(&body, structs);
    let named = Named { vars: &body.vars, names: &names, structs };
    if let (Some(kernel), Some(scope)) = (plain.filter(|_| function.is_kernel()), &body.plain) {
        let arguments = plain::arguments(function, &body, scope);
        let text = doc(shared, function) + &plain_kernel(shared, id, kernel, scope, &arguments, &body, &named);
        let name = shared.plain_name(id).to_string();
        let grid = if scope.thread.is_some() { 1 } else { plain::rank(function) };
        let entry = PlainEntry { kernel: id, name, arguments, grid, by_block: function.by_block };
        return Ok((text, Some(entry)));
    }
    let declaration = |&var: &Var| body.vars[var.0 as usize].declaration(&names[var.0 as usize], true, structs);
    let mut params: Vec<String> = Vec::new();
    let passed = body.plain.as_ref().map(|scope| plain::Passed::of(&body, scope));
    for (n, var) in (0..).zip(&body.params) {
        let pointer = plain.and_then(|kernel| pointer(function, kernel, n, "", &names[var.0 as usize], structs));
        let Some((pointer, passed)) = pointer.zip(passed.as_ref()) else {
            params.push(declaration(var));
            continue;
        };
        params.extend(passed.named.contains(&n).then_some(pointer));
        let own = passed.extents.iter().filter(|(param, _)| *param == n);
        params.extend(own.filter_map(|extent| Some(declaration(body.plain.as_ref()?.extents.get(extent)?))));
    }
    params.extend(body.outs.iter().map(declaration));
    if let Some(passed) = passed {
        shared.passed.borrow_mut().insert(id, passed);
    }
    let doc = doc(shared, function);
    let text = match body.thread {
        Some(thread) => {
            let waits = shared.module.grid_sync_below(id).is_some();
            doc + &kernel(function, waits, &body, thread, &defaults, &params, &named)
        }
        None => {
            let result = body.returns.map_or("void".to_string(), |ty| type_name(ty, structs));
            let head = format!("static __device__ {result} {}", shared.function_name(id));
            let head = signature(&head, &params, true);
            if let Some(line) = in_one_line(&head, &body.stmts, &named).filter(|_| function.native.is_none()) {
                return Ok((doc + &line, None));
            }
            let mut out = doc + &head;
            match &function.native {
                Some(text) => native(&mut out, text, function, &body, &named),
                None => print::statements(&mut out, &body.stmts, 1, &named),
            }
            out.push_str("}\n");
            out
        }
    };
    Ok((text, None))
}

/// A function that only returns something, if it fits into a line. `head` ends after its brace.
fn in_one_line(head: &str, stmts: &[Stmt], named: &Named<'_>) -> Option<String> {
    let result = stmts.iter().find(|stmt| !matches!(stmt, Stmt::At(_)))?;
    if !matches!(result, Stmt::Return(Some(_))) || head.lines().count() != 1 {
        return None;
    }
    let print = |stmts: &[Stmt]| {
        let mut text = String::new();
        print::statements(&mut text, stmts, 0, named);
        text
    };
    let fits = head.len() + print(std::slice::from_ref(result)).len() + 2 <= print::WIDTH;
    fits.then(|| format!("{} {} }}\n", head.trim_end(), print(stmts).trim_end()))
}

/// The function's docstring.
fn doc(shared: &TextContext<'_>, function: &Function) -> String {
    let doc = shared.remarks.of(function).map_or("", |remarked| &remarked.doc);
    doc.lines().map(|line| format!("// {}", comment_line(line)).trim_end().to_string() + "\n").collect()
}

/// The user's text as the body. Variables that it adds to, which are results, start at zero under
/// the names that it knows.
fn native(out: &mut String, text: &str, function: &Function, body: &Body, named: &Named<'_>) {
    let plain: Vec<_> = function.results.iter().filter(|r| r.role == ResultRole::Return).collect();
    for (n, &param) in body.params.iter().enumerate() {
        let (wanted, name) = (function.param_name(n), &named.names[param.0 as usize]);
        if wanted != **name {
            let _ = writeln!(out, "    auto& {wanted} = {name};");
        }
    }
    let mut last = None;
    for (n, result) in plain.iter().enumerate() {
        let Some(wanted) = &result.name else { continue };
        let ty = type_name(result.ty, named.structs);
        match body.outs.get(n).map(|out| &named.names[out.0 as usize]) {
            Some(name) => {
                let _ = writeln!(out, "    {name} = {ty}{{}};");
                if **name != **wanted {
                    let _ = writeln!(out, "    {ty}& {wanted} = {name};");
                }
            }
            None => {
                let _ = writeln!(out, "    {ty} {wanted} = {{}};");
                last = Some(wanted);
            }
        }
    }
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let depth = |line: &&str| line.len() - line.trim_start().len();
    let margin = lines.iter().filter(|line| !line.is_empty()).map(depth).min().unwrap_or(0);
    let first = lines.iter().position(|line| !line.is_empty()).unwrap_or(0);
    let end = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |at| at + 1);
    for line in lines.get(first..end).unwrap_or_default() {
        let line = line.get(margin..).unwrap_or("");
        let indent = if line.is_empty() { "" } else { "    " };
        let _ = writeln!(out, "{indent}{line}");
    }
    if let Some(name) = last {
        let _ = writeln!(out, "    return {name};");
    }
}

/// `if (!adj_x) adj_x = x.gradient();`
fn default_statement(
    function: &Function,
    body: &Body,
    shadow: &Shadow,
    structs: &StructTable,
    prelude: &mut Prelude,
) -> Option<Stmt> {
    let mut part = |place: &shadow::ArrayPath| {
        let at = function.params().iter().position(|&p| p == place.param)?;
        let (mut e, mut ty) = (Expr::Var(*body.params.get(at)?), function.ty(place.param));
        for step in &place.path {
            let (Type::Struct(id), Step::At(n)) = (ty, *step) else { return None };
            let field = structs[id].fields.get(n as usize)?;
            (e, ty) = (e.member(identifier(&field.name)), field.ty);
        }
        let Type::Array(array) = ty else { return None };
        for member in [ArrayMember::IsSet, ArrayMember::Gradient] {
            prelude.array_member(array.element, array.ndim, member, structs);
        }
        Some(e)
    };
    let (given, array) = (part(&shadow.given)?, part(&shadow.array)?);
    let value = Expr::Method(Box::new(array), "gradient", Vec::new());
    let condition = Expr::cast("bool", given.clone()).negate();
    Some(Stmt::If { condition, then: vec![Stmt::Store { target: given, value }], otherwise: Vec::new() })
}

/// What a reader should know before the first line of an entry that kc made.
fn heading(function: &Function, has_defaults: bool, launches: Vec<String>) -> String {
    let kernel = &function.source_name;
    let mut lines = match function.phase {
        Phase::Forward => Vec::new(),
        Phase::Augmented => {
            vec![format!("`{kernel}`, and a log of what its gradient needs and the launch overwrites.")]
        }
        Phase::Backward => {
            let mut lines = vec![format!(
                "Gradient of `{kernel}`: adds to the adjoints of what it reads, takes those of what it writes."
            )];
            if has_defaults {
                lines.push("An array of adjoints that is null stands for the one behind its array.".to_string());
            }
            lines
        }
    };
    lines.extend(launches);
    for buffer in &function.tape {
        let name = function.param_name(buffer.param as usize);
        let slots = buffer.slots.map_or(String::new(), |n| format!(" ({n} slot{})", if n == 1 { "" } else { "s" }));
        lines.push(match buffer.role {
            TapeRole::Log | TapeRole::State => format!("{name}[slot][thread]{slots}: {}", buffer.reason),
            TapeRole::Parameters => format!("{name}: receives the gradients of {}.", buffer.reason),
            TapeRole::Needed => {
                format!("{name}: receives the most slots that a thread wants (high half), and that thread.")
            }
        });
    }
    lines.iter().flat_map(|text| text.lines()).map(|line| format!("// {line}\n")).collect()
}

/// `return` of a thread goes on to the next one.
fn replace_returns(list: &mut [Stmt]) {
    for stmt in list {
        match stmt {
            Stmt::Return(_) => *stmt = Stmt::Continue,
            Stmt::If { then, otherwise, .. } => {
                replace_returns(then);
                replace_returns(otherwise);
            }
            // No loop holds one: such a body is in a function of its own.
            _ => {}
        }
    }
}

/// Whether a tile is a part of the memory that launches ask for.
fn has_part(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::SharedArray(_, TilePlace::Asked(_)))
        || stmt.bodies().iter().any(|body| body.iter().any(has_part))
}

/// `waits`: all threads of the launch wait for each other.
fn kernel(
    function: &Function,
    waits: bool,
    body: &Body,
    (task, launch): (Var, Var),
    defaults: &[Stmt],
    params: &[String],
    named: &Named<'_>,
) -> String {
    let name = &function.name;
    let entry = abi::device_entry(&function.source_name, function.phase);
    let (task, launch) = (&named.names[task.0 as usize], &named.names[launch.0 as usize]);
    let mut all = vec![format!("launch_bounds {launch}")];
    all.extend_from_slice(params);
    let mut launches = block_memory::launches(function, named.structs);
    if waits {
        launches.push("A launch is cooperative, with a thread for each task: cuLaunchCooperativeKernel.".to_string());
    }
    let mut out = heading(function, !defaults.is_empty(), launches);
    let takes_parts = body.stmts.iter().any(has_part);
    let leading = body.stmts.iter().take_while(|stmt| matches!(stmt, Stmt::SharedArray(..) | Stmt::At(_))).count();
    let last = body.stmts[..leading].iter().rposition(|stmt| matches!(stmt, Stmt::SharedArray(..)));
    let arrays = last.filter(|_| !body.returns_in_loop).map_or(0, |last| last + 1);
    let (arrays, stmts) = body.stmts.split_at(arrays);
    if body.returns_in_loop {
        let mut thread_params = vec![format!("size_t {task}")];
        thread_params.extend_from_slice(&all);
        out.push_str(&signature(&format!("static __device__ void {name}_thread"), &thread_params, true));
        if takes_parts {
            print::line(&mut out, 1, &block_memory::declaration());
        }
        print::statements(&mut out, &body.stmts, 1, named);
        out.push_str("}\n\n");
    }
    let threads = own_threads(function);
    let bounds = threads.map_or(String::new(), |threads| format!(" __launch_bounds__({threads})"));
    out.push_str(&signature(&format!("extern \"C\" __global__ void{bounds} {entry}"), &all, false));
    if let Some(threads) = threads {
        print::line(&mut out, 1, &format!("if (blockDim.x != {threads}) __trap();"));
    }
    if waits {
        print::line(&mut out, 1, &format!("if ((size_t)gridDim.x * blockDim.x < {launch}.size) __trap();"));
    }
    if takes_parts && !body.returns_in_loop {
        print::line(&mut out, 1, &block_memory::declaration());
    }
    print::statements(&mut out, arrays, 1, named);
    print::statements(&mut out, defaults, 1, named);
    let (first, stride) = match function.by_block {
        true => ("blockIdx.x", "gridDim.x"),
        false => ("first_task()", "task_step()"),
    };
    let _ = writeln!(out, "    for (size_t {task} = {first}; {task} < {launch}.size; {task} += {stride}) {{");
    if body.returns_in_loop {
        let args: Vec<&str> = body.params.iter().map(|p| &*named.names[p.0 as usize]).collect();
        let args = [&[&**task, &**launch], args.as_slice()].concat().join(", ");
        let _ = writeln!(out, "        {name}_thread({args});");
    } else {
        print::statements(&mut out, stmts, 2, named);
    }
    out.push_str("    }\n}\n");
    out
}

/// A kernel with plain parameters.
fn plain_kernel(
    shared: &TextContext<'_>,
    id: FuncId,
    kernel: &plain::Kernel,
    scope: &plain::Scope,
    arguments: &[Argument],
    body: &Body,
    named: &Named<'_>,
) -> String {
    let function = &shared.module.functions[id];
    let waits = shared.module.grid_sync_below(id).is_some();
    let name = |var: Var| named.names[var.0 as usize].to_string();
    let params = arguments.iter().map(|&argument| match argument {
        Argument::Array(n) => {
            // Behind a barrier of the grid a thread reads what others wrote.
            let own = if waits { "" } else { "__restrict__ " };
            pointer(function, kernel, n, own, &name(body.params[n as usize]), named.structs).unwrap_or_default()
        }
        Argument::Value(n) => {
            let var = body.params[n as usize];
            body.vars[var.0 as usize].declaration(&name(var), true, named.structs)
        }
        Argument::Extent(n, dim) => {
            format!("int {}", scope.extents.get(&(n, dim)).map_or(String::new(), |&var| name(var)))
        }
        Argument::Launch(dim) => {
            format!("int {}", scope.counts.get(usize::from(dim)).map_or(String::new(), |&var| name(var)))
        }
    });
    let params: Vec<String> = params.collect();
    let mut launches = block_memory::launches(function, named.structs);
    if function.by_block {
        launches.insert(0, "Each block does one task: the grid has a block for each.".to_string());
    }
    let mut out = heading(function, false, launches);
    let entry = shared.plain_name(id);
    let threads = own_threads(function);
    let bounds = threads.map_or(String::new(), |threads| format!(" __launch_bounds__({threads})"));
    out.push_str(&signature(&format!("extern \"C\" __global__ void{bounds} {entry}"), &params, false));
    if body.stmts.iter().any(has_part) {
        print::line(&mut out, 1, &block_memory::declaration());
    }
    let head = plain::head(scope, function.by_block, &name);
    head.iter().for_each(|line| print::line(&mut out, 1, line));
    let mut rest = String::new();
    print::statements(&mut rest, &body.stmts, 1, named);
    // The source may ask what the head has asked.
    let asked = head.last().and_then(|line| rest.strip_prefix(&format!("    {line}\n")));
    out.push_str(asked.unwrap_or(&rest));
    out.push_str("}\n");
    out
}

/// The declaration of parameter `n` if it is an array: `const float *x`.
fn pointer(
    function: &Function,
    kernel: &plain::Kernel,
    n: u32,
    own: &str,
    name: &str,
    structs: &StructTable,
) -> Option<String> {
    let param = function.params()[n as usize];
    let Type::Array(array) = function.ty(param) else { return None };
    let constant = if kernel.read_only.contains(&param) { "const " } else { "" };
    Some(format!("{constant}{} *{own}{name}", type_name(array.element.into(), structs)))
}

/// A function's first lines up to its brace; the parameters get lines of their own when they are
/// many.
fn signature(head: &str, params: &[String], brace_on_line: bool) -> String {
    let brace = if brace_on_line { " {\n" } else { "\n{\n" };
    let line = format!("{head}({})", params.join(", "));
    if line.len() <= print::WIDTH {
        return format!("{line}{brace}");
    }
    let mut out = format!("{head}(");
    let mut column = usize::MAX;
    for (n, param) in params.iter().enumerate() {
        let comma = if n + 1 < params.len() { "," } else { ")" };
        if column.saturating_add(param.len() + 2) > print::WIDTH {
            out.push_str("\n    ");
            column = 4;
        } else {
            out.push(' ');
            column += 1;
        }
        let _ = write!(out, "{param}{comma}");
        column += param.len() + 1;
    }
    out.push_str(if brace_on_line { "\n{\n" } else { brace });
    out
}
