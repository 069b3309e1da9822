//! In what order do the launches of a launch program run, and how is the program differentiated?
//!
//! The arrays are bound once and lent to each launch. With a gradient asked for, the forward sweep
//! keeps what each launch overwrites. The reverse sweep goes back launch by launch: it puts the
//! arrays back as they were before it, runs its gradient (forward, then backward, which adds to the
//! gradients of what it read and takes those of what it wrote), and puts them back again, since
//! that is how the launch before left them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use super::{Finished, Look, Ready, Session, Wanted, compiled_for, kernel};
use crate::analysis::written::{Touched, written};
use crate::diag::{Code, Diagnostic};
use crate::ir::{FuncId, Function};
use crate::run::args::parameters::{FloatParameter, float_parameters};
use crate::run::args::shared::{Saved, Shared};
use crate::run::args::{Arguments, memory};
use crate::run::launch::steps::{Call, Given, LaunchProgram, Step};
use crate::run::launch::{
    Argument, ArgumentKind, ArrayArgument, Direction, Fill, Launch, Literal, Number, Source, Stored,
};
use crate::run::program::Program;
use crate::run::{Fail, Result, fail, list};
use crate::types::{ArrayType, StructTable, Type};

/// A launch of the program, as it is every time it runs.
struct Prepared {
    /// The module with the forward entries, compiled for its blocks, and its kernel there.
    program: Rc<Program>,
    id: FuncId,
    /// The head of the launch, with the values; arrays are null.
    launch: Launch,
    /// By parameter and fields: the name of the array.
    arrays: BTreeMap<(u32, Vec<u32>), String>,
    /// By parameter and fields: the value of the program that was passed.
    values: BTreeMap<(u32, Vec<u32>), String>,
    written: Touched,
    /// In messages.
    origin: String,
}

/// One run of a launch: which, and the array that each of its parameters was.
struct Ran {
    step: usize,
    given: BTreeMap<(u32, Vec<u32>), usize>,
    /// What it overwrote.
    before: Saved,
}

impl Session<'_> {
    /// Runs a launch program and writes its results; `origin` names it in messages.
    pub fn run_steps(&mut self, program: &LaunchProgram, origin: &str) -> Finished {
        let mut finished = Finished { id: program.id.clone(), ..Finished::default() };
        if let Err(error) = self.attempt_steps(program, origin, &mut finished) {
            finished.errors.push(*error);
        }
        self.claim_no_check(&mut finished);
        self.write(&mut finished);
        finished
    }

    fn attempt_steps(&mut self, program: &LaunchProgram, origin: &str, finished: &mut Finished) -> Result<()> {
        let differentiated = !program.gradient_of.is_empty();
        if self.options.gradient && !differentiated {
            let message =
                format!("{origin}: `--gradient` of a launch program needs its `gradient_of`, which says of what");
            return Err(fail(Code::E1012, message));
        }
        let base = self.program(&program.source);
        finished.program = Some(base.clone());
        let mut prepared = Vec::new();
        let mut blamed = base.clone();
        if let Err(mut errors) = self.prepare_steps(program, origin, &program.steps, &mut prepared, &mut blamed) {
            finished.program = Some(blamed);
            let last = errors.pop();
            finished.errors = errors;
            return last.map_or(Ok(()), |error| Err(Box::new(error)));
        }
        let names: Vec<&str> = program.arrays.iter().map(|(name, _)| name.as_str()).collect();
        let mut shared = self.share(program, &base, &prepared, origin)?;
        let structs = &base.module.structs;
        // What each name represents, and stood for in the beginning.
        let mut places: HashMap<&str, usize> = names.iter().enumerate().map(|(n, name)| (*name, n)).collect();
        let mut sweep = Sweep { looked: HashSet::new(), ran: Vec::new(), kept: 0, next: 0, keep: differentiated };
        self.forward(program, &program.steps, &prepared, &mut shared, &mut places, &mut sweep, finished)?;
        let mut parameters = Vec::new();
        if differentiated && finished.errors.is_empty() {
            let last = shared.save(0..shared.count());
            for (name, value) in &program.gradient_of {
                shared.set_gradient(places[name.as_str()], *value, structs);
            }
            let zeros = zeros(&prepared);
            parameters = self.reverse(&prepared, &mut shared, sweep.ran, zeros, finished)?;
            shared.restore(&last);
        }
        if finished.errors.is_empty() {
            finished.program = Some(base.clone());
        }
        let named: Vec<(String, usize, usize)> =
            names.iter().enumerate().map(|(n, name)| (name.to_string(), places[name], n)).collect();
        let mut arguments = shared.into_arguments(&named);
        arguments.parameters = parameters;
        finished.arguments = Some(arguments);
        Ok(())
    }

    /// Finds the kernel and the arguments of each launch, in the order of the file. `blamed`: what
    /// was compiled last, whose errors these are.
    fn prepare_steps<'p>(
        &mut self,
        program: &'p LaunchProgram,
        origin: &str,
        steps: &'p [Step],
        out: &mut Vec<Prepared>,
        blamed: &mut Rc<Program>,
    ) -> std::result::Result<(), Vec<Diagnostic>> {
        for step in steps {
            match step {
                Step::Swap(..) => {}
                Step::Repeat(_, inner) => self.prepare_steps(program, origin, inner, out, blamed)?,
                Step::Launch(call) => {
                    let (source, name) = (&program.source, Some(call.kernel.as_str()));
                    let base = self.program_for(source, name, Some(call.block_dim));
                    *blamed = base.clone();
                    let function = &base.module.functions[kernel(&base, source, name)?];
                    let origin = format!("{origin}: launch {} (`{}`)", out.len() + 1, call.kernel);
                    let mut made = Resolver::new(program, &base.module.structs, &origin);
                    let args = made.arguments(function, call).map_err(|error| vec![*error])?;
                    let launch = Launch {
                        id: program.id.clone(),
                        source: program.source.clone(),
                        kernel: Some(call.kernel.clone()),
                        direction: Direction::Forward,
                        dim: call.dim.clone(),
                        block_dim: call.block_dim,
                        args,
                        structs: BTreeMap::new(),
                        inputs: program.inputs.clone(),
                        grid: None,
                        max_expanded: self.options.max_expanded,
                    };
                    let Resolver { arrays, values, .. } = made;
                    let mut wanted = Wanted::of(source, self.options.checked);
                    let program = compiled_for(&mut wanted, &launch, &mut |wanted| self.compiled(wanted));
                    *blamed = program.clone();
                    let id = kernel(&program, source, name)?;
                    let written = written(&program.module, id);
                    out.push(Prepared { program, id, launch, arrays, values, written, origin });
                }
            }
        }
        Ok(())
    }

    /// The arrays of the program; each has the type of the first parameter that takes it.
    fn share(&self, program: &LaunchProgram, base: &Program, prepared: &[Prepared], origin: &str) -> Result<Shared> {
        let structs = &base.module.structs;
        let mut arrays = Vec::new();
        let mut unused = Vec::new();
        for (name, array) in &program.arrays {
            let ty = prepared.iter().find_map(|step| {
                let ((param, fields), _) = step.arrays.iter().find(|(_, array)| *array == name)?;
                let Program { module, .. } = &*step.program;
                array_type(&module.functions[step.id], *param, fields, &module.structs)
            });
            let Some(ty) = ty else {
                unused.push(name.clone());
                continue;
            };
            let mut array = array.clone();
            array.convert |= self.options.convert;
            if !program.gradient_of.is_empty() && Type::from(ty.element).holds_floats(structs) {
                let zeros = Source::Fill(Fill::Value(Literal::One(Number::Int(0))));
                array.grad = Some(Stored { key: format!("{name}.grad"), source: zeros });
            }
            arrays.push((ty, array));
        }
        if !unused.is_empty() {
            return Err(fail(Code::E1004, format!("{origin}: no launch takes {}", list(&unused))));
        }
        if let Some((name, _)) = program.gradient_of.iter().find(|(name, _)| {
            arrays.iter().any(|(_, array): &(ArrayType, ArrayArgument)| {
                array.data.as_ref().is_some_and(|data| data.key == *name) && array.grad.is_none()
            })
        }) {
            return Err(fail(Code::E1103, format!("{origin}: array `{name}` has no floats, and so no gradient")));
        }
        let head = Launch {
            id: program.id.clone(),
            source: program.source.clone(),
            kernel: None,
            direction: Direction::Forward,
            dim: Vec::new(),
            block_dim: 1,
            args: Vec::new(),
            structs: BTreeMap::new(),
            inputs: program.inputs.clone(),
            grid: None,
            max_expanded: self.options.max_expanded,
        };
        Shared::new(&head, origin, &arrays, structs)
    }

    /// Runs steps in order, until one fails.
    fn forward<'p>(
        &mut self,
        program: &'p LaunchProgram,
        steps: &'p [Step],
        prepared: &[Prepared],
        shared: &mut Shared,
        places: &mut HashMap<&'p str, usize>,
        sweep: &mut Sweep,
        finished: &mut Finished,
    ) -> Result<()> {
        for step in steps {
            if !finished.errors.is_empty() {
                break;
            }
            match step {
                Step::Swap(first, second) => {
                    let (a, b) = (places[first.as_str()], places[second.as_str()]);
                    places.insert(first, b);
                    places.insert(second, a);
                }
                Step::Repeat(times, inner) => {
                    let first = sweep.next;
                    for _ in 0..*times {
                        sweep.next = first;
                        self.forward(program, inner, prepared, shared, places, sweep, finished)?;
                        if !finished.errors.is_empty() {
                            return Ok(());
                        }
                    }
                    sweep.next = first + launches(inner);
                }
                Step::Launch(_) => {
                    let at = sweep.next;
                    sweep.next += 1;
                    let step = &prepared[at];
                    let given: BTreeMap<_, _> =
                        step.arrays.iter().map(|(place, name)| (place.clone(), places[name.as_str()])).collect();
                    let mut before = Saved::new();
                    if sweep.keep {
                        let overwritten = |((param, fields), number): (&(u32, Vec<u32>), &usize)| {
                            step.written.may_be(*param, fields).then_some(*number)
                        };
                        let overwritten: Vec<usize> = given.iter().filter_map(overwritten).collect();
                        sweep.kept += shared.bytes(overwritten.iter().copied());
                        if !memory::allows(sweep.kept, 2) {
                            let message = format!(
                                "{}: after {} launches, what the gradient needs of overwritten arrays takes {} bytes, more than half of the memory that is free",
                                step.origin,
                                sweep.ran.len(),
                                sweep.kept
                            );
                            return Err(fail(Code::E1106, message));
                        }
                        before = shared.save(overwritten.into_iter());
                    }
                    // The reverse sweep looks at the launches of a gradient.
                    let look = match (self.options.checked && !sweep.keep, self.options.sample) {
                        (false, _) => Look::No,
                        (true, true) if !sweep.looked.insert(at) => Look::Sampled,
                        (true, _) => Look::Yes,
                    };
                    self.launch(step, Direction::Forward, look, shared, &given, finished)?;
                    if sweep.keep {
                        sweep.ran.push(Ran { step: at, given, before });
                    }
                }
            }
        }
        Ok(())
    }

    /// Runs the gradients of launches, the last one first. Gives the gradients of the program's
    /// values, added to `zeros`.
    fn reverse(
        &mut self,
        prepared: &[Prepared],
        shared: &mut Shared,
        ran: Vec<Ran>,
        zeros: Vec<FloatParameter>,
        finished: &mut Finished,
    ) -> Result<Vec<FloatParameter>> {
        let mut sums = zeros;
        // Where only samples are looked at: those that run for the first and for the last time.
        let mut looked = HashSet::new();
        let first: HashSet<usize> =
            (ran.iter().enumerate()).filter(|(_, r)| looked.insert(r.step)).map(|(n, _)| n).collect();
        looked.clear();
        // What kernels print was printed by the forward sweep.
        let printed = finished.printed.len();
        for (n, Ran { step, given, before }) in ran.into_iter().enumerate().rev() {
            let look = match (self.options.checked, self.options.sample) {
                (false, _) => Look::No,
                (true, true) if !looked.insert(step) && !first.contains(&n) => Look::Sampled,
                (true, _) => Look::Yes,
            };
            let step = &prepared[step];
            shared.restore(&before);
            let parameters = self.launch(step, Direction::Gradient, look, shared, &given, finished)?;
            finished.printed.truncate(printed);
            if !finished.errors.is_empty() {
                return Ok(Vec::new());
            }
            shared.restore(&before);
            for parameter in parameters {
                add(step, parameter, &mut sums);
            }
        }
        Ok(sums)
    }

    /// One launch. Gives what it computed of the gradients of its values.
    fn launch(
        &mut self,
        step: &Prepared,
        direction: Direction,
        look: Look,
        shared: &mut Shared,
        given: &BTreeMap<(u32, Vec<u32>), usize>,
        finished: &mut Finished,
    ) -> Result<Vec<FloatParameter>> {
        let launch = Launch { direction, ..step.launch.clone() };
        let mut this = Finished::default();
        let Some((wanted, program, id)) = self.prepare(&launch, &mut this)? else {
            finished.errors.append(&mut this.errors);
            finished.program = this.program;
            return Ok(Vec::new());
        };
        let function = &program.module.functions[id];
        let structs = &program.module.structs;
        let values = Arguments::bind(
            &Launch { direction: Direction::Forward, ..launch.clone() },
            &step.origin,
            function,
            structs,
        )?;
        let ready = Ready { launch: &launch, origin: &step.origin, wanted, program: program.clone(), id, look };
        let (ended, parameters) = shared.lend(values, function, structs, given, |arguments| {
            let ended = self.execute(ready, arguments, &mut this);
            (ended, std::mem::take(&mut arguments.parameters))
        })?;
        finished.seconds += this.seconds;
        finished.printed += &this.printed;
        if let Some(looked) = this.looked_at {
            finished.looked_at = Some(looked.and(finished.looked_at));
        }
        for finding in this.findings {
            if !finished.findings.contains(&finding) {
                finished.findings.push(finding);
            }
        }
        if ended.is_err() || !this.errors.is_empty() {
            finished.program = this.program;
        }
        ended.map_err(|error| at(step, error))?;
        finished.errors.extend(this.errors.into_iter().map(|error| *at(step, Box::new(error))));
        Ok(parameters)
    }
}

/// What goes along with the forward sweep.
struct Sweep {
    /// The launches whose threads were looked at, where only samples are.
    looked: HashSet<usize>,
    /// What ran, for the reverse sweep.
    ran: Vec<Ran>,
    /// Bytes of what is kept in it.
    kept: u64,
    /// The number of the launch that comes next.
    next: usize,
    /// There will be a reverse sweep.
    keep: bool,
}

/// The launches among steps, each once.
fn launches(steps: &[Step]) -> usize {
    let of = |step: &Step| match step {
        Step::Launch(_) => 1,
        Step::Repeat(_, inner) => launches(inner),
        Step::Swap(..) => 0,
    };
    steps.iter().map(of).sum()
}

/// Says which launch an error is of.
fn at(step: &Prepared, mut error: Fail) -> Fail {
    if !error.message.contains(&step.origin) {
        error.notes.push(format!("in {}", step.origin));
    }
    error
}

/// The values of the program that launches take, each with a gradient of zero.
fn zeros(prepared: &[Prepared]) -> Vec<FloatParameter> {
    let mut list: Vec<FloatParameter> = Vec::new();
    for step in prepared {
        let Program { module, .. } = &*step.program;
        for parameter in float_parameters(&module.functions[step.id], &module.structs) {
            let Some(name) = step.value(&parameter) else { continue };
            if list.iter().all(|known| known.key != name) {
                let gradient = Some(vec![0.0; parameter.place.scalars() as usize]);
                list.push(FloatParameter { key: name.to_string(), gradient, ..parameter });
            }
        }
    }
    list
}

impl Prepared {
    /// The value of the program that a parameter was given.
    fn value(&self, parameter: &FloatParameter) -> Option<&str> {
        let place = (parameter.place.param as u32, parameter.place.fields.clone());
        self.values.get(&place).map(String::as_str)
    }
}

/// Adds the gradient of a value that has a name in the program to that of the launches after it.
fn add(step: &Prepared, parameter: FloatParameter, sums: &mut [FloatParameter]) {
    let Some(name) = step.value(&parameter) else { return };
    if let Some(sum) = sums.iter_mut().find(|sum| sum.key == name) {
        let all = sum.gradient.iter_mut().flatten().zip(parameter.gradient.iter().flatten());
        all.for_each(|(sum, more)| *sum += more);
    }
}

/// The type of the array at `fields` of a parameter.
fn array_type(kernel: &Function, param: u32, fields: &[u32], structs: &StructTable) -> Option<ArrayType> {
    let mut ty = kernel.ty(*kernel.params().get(param as usize)?);
    for &field in fields {
        let Type::Struct(id) = ty else { return None };
        ty = structs[id].fields.get(field as usize)?.ty;
    }
    if let Type::Array(array) = ty { Some(array) } else { None }
}

/// Finds what each parameter of a launch is given.
struct Resolver<'a> {
    program: &'a LaunchProgram,
    structs: &'a StructTable,
    origin: &'a str,
    arrays: BTreeMap<(u32, Vec<u32>), String>,
    values: BTreeMap<(u32, Vec<u32>), String>,
    missing: Vec<String>,
}

impl<'a> Resolver<'a> {
    fn new(program: &'a LaunchProgram, structs: &'a StructTable, origin: &'a str) -> Self {
        Resolver { program, structs, origin, arrays: BTreeMap::new(), values: BTreeMap::new(), missing: Vec::new() }
    }

    fn fail(&self, code: Code, message: impl std::fmt::Display) -> Fail {
        fail(code, format!("{}: {message}", self.origin))
    }

    fn arguments(&mut self, kernel: &Function, call: &Call) -> Result<Vec<Argument>> {
        let params: Vec<(String, Type)> =
            kernel.params().iter().enumerate().map(|(n, &p)| (kernel.param_name(n), kernel.ty(p))).collect();
        self.known(&call.args, &params, &format!("kernel `{}`", call.kernel), "parameter")?;
        let mut out = Vec::new();
        for (n, (name, ty)) in params.iter().enumerate() {
            let given = call.args.iter().find(|(of, _)| of == name).map(|(_, given)| given.clone());
            out.extend(self.argument(name, name, *ty, given, (n as u32, Vec::new()))?);
        }
        if !self.missing.is_empty() {
            let missing = list(&self.missing);
            let mut error = self
                .fail(Code::E1004, format!("nothing is called {missing}, as parameters of kernel `{}`", call.kernel));
            error.help = Some(
                "name an array or a value of the program in the launch's `args`, or write a number there".to_string(),
            );
            return Err(error);
        }
        Ok(out)
    }

    /// Fails where something is given that is not there.
    fn known(&self, given: &[(String, Given)], there: &[(String, Type)], owner: &str, what: &str) -> Result<()> {
        match given.iter().find(|(name, _)| there.iter().all(|(of, _)| of != name)) {
            None => Ok(()),
            Some((name, _)) => {
                let names: Vec<String> = there.iter().map(|(name, _)| name.clone()).collect();
                let has = if names.is_empty() { "none".to_string() } else { list(&names) };
                Err(self.fail(Code::E1004, format!("`{name}` is not a {what} of {owner}; its {what}s are {has}")))
            }
        }
    }

    /// None: it is missing.
    fn argument(
        &mut self,
        path: &str,
        name: &str,
        ty: Type,
        given: Option<Given>,
        place: (u32, Vec<u32>),
    ) -> Result<Option<Argument>> {
        let argument = |kind| Ok(Some(Argument { name: name.to_string(), kind }));
        if let Type::Struct(id) = ty {
            let fields = match given {
                None => Vec::new(),
                Some(Given::Fields(fields)) => fields,
                Some(_) => {
                    return Err(self.fail(Code::E1005, format!("`{path}` is a struct: write its fields, {{...}}")));
                }
            };
            let there: Vec<(String, Type)> =
                self.structs[id].fields.iter().map(|field| (field.name.clone(), field.ty)).collect();
            self.known(&fields, &there, &format!("struct `{}`", self.structs[id].name), "field")?;
            let mut list = Vec::new();
            for (k, (field, ty)) in there.iter().enumerate() {
                let given = fields.iter().find(|(of, _)| of == field).map(|(_, given)| given.clone());
                let inner = (place.0, [place.1.as_slice(), &[k as u32]].concat());
                list.extend(self.argument(&format!("{path}.{field}"), field, *ty, given, inner)?);
            }
            return argument(ArgumentKind::Struct { name: None, fields: list });
        }
        let implied = given.is_none();
        match (ty, given.unwrap_or_else(|| Given::Name(path.to_string()))) {
            (Type::Array(_), Given::Null) => argument(ArgumentKind::Array(ArrayArgument::default())),
            (Type::Array(_), Given::Name(array)) if self.program.arrays.iter().any(|(name, _)| *name == array) => {
                self.arrays.insert(place, array);
                argument(ArgumentKind::Array(ArrayArgument::default()))
            }
            (Type::Array(_), Given::Value(_) | Given::Fields(_)) => {
                Err(self.fail(Code::E1005, format!("`{path}` is an array: write the name of one of the program's")))
            }
            (_, Given::Value(literal)) => argument(ArgumentKind::Value { dtype: None, literal }),
            (ty, Given::Name(value)) => match self.program.values.iter().find(|(name, _)| *name == value) {
                Some((_, literal)) if !matches!(ty, Type::Array(_)) => {
                    self.values.insert(place, value);
                    argument(ArgumentKind::Value { dtype: None, literal: literal.clone() })
                }
                _ if implied => {
                    self.missing.push(path.to_string());
                    Ok(None)
                }
                _ => {
                    let kind = if matches!(ty, Type::Array(_)) { "arrays" } else { "values" };
                    Err(self.fail(
                        Code::E1004,
                        format!("`{path}` is given `{value}`, which is none of the program's {kind}"),
                    ))
                }
            },
            (_, Given::Null | Given::Fields(_)) => Err(self
                .fail(Code::E1005, format!("`{path}` is a `{}`: write a number or a list", ty.display(self.structs)))),
        }
    }
}
