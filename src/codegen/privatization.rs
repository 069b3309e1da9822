//! Can workers share a launch without atomics? They can if each array that a kernel updates
//! atomically is either used by each thread for itself, or only added to: then every worker adds to
//! a copy of its own, and the copies are summed at the end.

use std::collections::BTreeMap;

use super::shadow::{self, Shadow};
use crate::abi;
use crate::analysis::alias::{Root, root};
use crate::analysis::disjoint_rows::{self, apart};
use crate::analysis::ownership::{IndexFacts, Sharing, private_arrays_among};
use crate::analysis::uses;
use crate::ir::{Access, AtomicOp, FuncId, Function, Module, Op, Step};
use crate::passes::inline;
use crate::types::{Layout, Scalar, StructTable, Type};

/// An array among the arguments of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArrayArgument {
    /// Where its descriptor is in the argument struct.
    pub offset: u32,
    /// Where the descriptor of the array is whose gradient it is, if it is null itself.
    pub gradient_of: Option<u32>,
    /// What its elements are made of; None: a struct.
    pub scalar: Option<Scalar>,
    /// Bytes of an element.
    pub element: u32,
    pub ndim: u8,
    pub role: Role,
    /// The kernel stores to it.
    pub stored: bool,
    /// Of one with [`Role::Sum`]: how rows of the launch are apart in it.
    pub apart: Option<Apart>,
}

/// [`disjoint_rows::Apart`] of an argument: workers that keep to rows which are apart need no
/// copies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Apart {
    Bands {
        gap: u32,
        head: u32,
    },
    /// `bounds`: where the descriptor of that array is in the argument struct.
    Ranges {
        bounds: u32,
        first: u32,
    },
}

/// What the threads of a launch do with an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// They add to it and do nothing else: workers need copies.
    Sum,
    /// They update it, each at elements of its own, unless it shares memory with another array.
    Own,
    /// They do not update it.
    Other,
}

/// The arrays of a kernel, if copies of those with [`Role::Sum`] make its atomics needless. Holds
/// for launches without more dimensions than the kernel's rank, in which arrays that are updated
/// share no memory with others.
pub fn privatized(module: &Module, kernel: FuncId) -> Option<Vec<ArrayArgument>> {
    let (mut function, shadows) = match shadow::extract(&module.functions[kernel]) {
        Some((function, shadows)) => (function, shadows),
        None => (module.functions[kernel].clone(), Vec::new()),
    };
    inline::run(&mut function, module, &|_| true).ok()?;
    let known = IndexFacts::of(&function);
    let private = private_arrays_among(&function, &module.structs, Sharing::Never, &known, &|_| true);
    let uses = uses(&function);
    let mut roles: BTreeMap<Root, Role> = BTreeMap::new();
    let mut possible = true;
    function.walk(function.entry, &mut |_, inst| {
        let Some(Access { array, .. }) = inst.op.access().filter(|_| inst.op.properties().atomic) else { return };
        if matches!(function.ty(*array), Type::Local(_)) {
            return;
        }
        let root = root(&function, *array);
        possible &= matches!(root, Root::Param(..));
        if private.contains(&function, *array) {
            roles.insert(root, Role::Own);
            return;
        }
        let unused = inst.results.iter().all(|&r| uses[r] == 0);
        possible &= unused && matches!(inst.op, Op::Atomic { op: AtomicOp::Add | AtomicOp::Sub, .. });
        roles.insert(root, Role::Sum);
    });
    for (root, role) in &roles {
        possible &= *role == Role::Own || !used_otherwise(&function, root);
    }
    if !possible {
        return None;
    }
    let mut arrays = describe(&function, &module.structs, &shadows)?;
    let apart = apart(&function, &known, &|root| roles.get(root) == Some(&Role::Sum));
    let offset = |root: &Root| arrays.iter().find(|(known, _)| known == root).map(|(_, array)| array.offset);
    let apart: BTreeMap<Root, Apart> = apart
        .into_iter()
        .filter_map(|(root, way)| {
            let way = match way {
                disjoint_rows::Apart::Bands { gap, head } => Apart::Bands { gap, head },
                disjoint_rows::Apart::Ranges { bounds, first } => Apart::Ranges { bounds: offset(&bounds)?, first },
            };
            Some((root, way))
        })
        .collect();
    function.walk(function.entry, &mut |_, inst| {
        if let Op::Store { access, .. } = &inst.op {
            let root = root(&function, access.array);
            arrays.iter_mut().filter(|(known, _)| *known == root).for_each(|(_, array)| array.stored = true);
        }
    });
    for (root, role) in roles {
        let array = arrays.iter_mut().find(|(known, _)| *known == root)?;
        array.1.role = role;
        array.1.apart = apart.get(&root).copied();
        let addable = array.1.scalar.is_some_and(|s| !matches!(s, Scalar::F16 | Scalar::BF16 | Scalar::Bool));
        if role == Role::Sum && !addable {
            return None;
        }
    }
    Some(arrays.into_iter().map(|(_, array)| array).collect())
}

/// An array that workers only add to, by the names of parameters and fields (`bins.of`).
pub struct Summed {
    pub name: String,
    pub apart: Option<NamedApart>,
}

/// [`Apart`] with the name of the array that has the bounds.
pub enum NamedApart {
    Bands { gap: u32, head: u32 },
    Ranges { bounds: String, first: u32 },
}

/// The arrays that workers only add to, if rows that are apart, or copies, make the atomics of the
/// kernel needless.
pub fn summed(module: &Module, kernel: FuncId) -> Option<Vec<Summed>> {
    let function = &module.functions[kernel];
    let arrays = privatized(module, kernel)?;
    let types: Vec<Type> = function.params().iter().map(|p| function.ty(*p)).collect();
    let (offsets, _) = abi::argument_layout(&types, &module.structs);
    let name = |offset| name_at(function, &module.structs, &types, &offsets, offset);
    let sums = arrays.iter().filter(|array| array.role == Role::Sum);
    let named = sums.filter_map(|array| {
        let apart = match array.apart {
            None => None,
            Some(Apart::Bands { gap, head }) => Some(NamedApart::Bands { gap, head }),
            Some(Apart::Ranges { bounds, first }) => Some(NamedApart::Ranges { bounds: name(bounds)?, first }),
        };
        Some(Summed { name: name(array.offset)?, apart })
    });
    Some(named.collect())
}

/// The name of what is in the argument struct at an offset.
fn name_at(function: &Function, structs: &StructTable, types: &[Type], offsets: &[u32], at: u32) -> Option<String> {
    let n = offsets.iter().rposition(|&offset| offset <= at)?;
    let (mut name, mut ty, mut start) = (function.param_name(n), types[n], offsets[n]);
    while let Type::Struct(id) = ty {
        let step = |k: usize| start + Layout::step_offset(ty, k as u32, structs);
        let k = (0..structs[id].fields.len()).rev().find(|&k| step(k) <= at)?;
        let field = &structs[id].fields[k];
        name = format!("{name}.{}", field.name);
        (start, ty) = (step(k), field.ty);
    }
    Some(name)
}

/// Whether something else than atomics reads or writes the array.
fn used_otherwise(function: &Function, array: &Root) -> bool {
    let mut used = false;
    function.walk(function.entry, &mut |_, inst| {
        let own = inst.op.properties();
        used |= if let Op::Gradient(a) | Op::Address(a) = &inst.op {
            // Another array, through it.
            root(function, *a) == *array
        } else if let Some(access) = inst.op.access() {
            !own.atomic && root(function, access.array) == *array
        } else {
            own.accesses_memory()
        };
    });
    used
}

/// All arrays among the arguments of a kernel, and in its structs.
pub fn array_arguments(function: &Function, structs: &StructTable) -> Vec<(Root, ArrayArgument)> {
    let types: Vec<Type> = function.params().iter().map(|p| function.ty(*p)).collect();
    let (offsets, _) = abi::argument_layout(&types, structs);
    let mut found = Vec::new();
    for (n, (&ty, &offset)) in types.iter().zip(&offsets).enumerate() {
        collect(Root::Param(n as u32, Vec::new()), ty, offset, structs, &mut found);
    }
    found
}

/// The same with what their gradients belong to.
fn describe(function: &Function, structs: &StructTable, shadows: &[Shadow]) -> Option<Vec<(Root, ArrayArgument)>> {
    let mut found = array_arguments(function, structs);
    let root_of = |place: &shadow::ArrayPath| {
        let n = function.params().iter().position(|&p| p == place.param)?;
        let fields: Option<Vec<u32>> =
            place.path.iter().map(|step| if let Step::At(k) = step { Some(*k) } else { None }).collect();
        Some(Root::Param(n as u32, fields?))
    };
    for shadow in shadows {
        let (given, array) = (root_of(&shadow.given)?, root_of(&shadow.array)?);
        let of = found.iter().find(|(root, _)| *root == array)?.1.offset;
        found.iter_mut().find(|(root, _)| *root == given)?.1.gradient_of = Some(of);
    }
    Some(found)
}

fn collect(root: Root, ty: Type, offset: u32, structs: &StructTable, found: &mut Vec<(Root, ArrayArgument)>) {
    match (ty, root) {
        (Type::Array(array), root) => {
            let scalar = Type::from(array.element).scalar_part();
            let element = Layout::of_element(array.element, structs).size;
            let (ndim, role) = (array.ndim, Role::Other);
            found.push((
                root,
                ArrayArgument { offset, gradient_of: None, scalar, element, ndim, role, stored: false, apart: None },
            ));
        }
        (Type::Struct(id), Root::Param(n, fields)) => {
            for (k, field) in structs[id].fields.iter().enumerate() {
                let at = offset + Layout::step_offset(ty, k as u32, structs);
                let path = fields.iter().copied().chain([k as u32]).collect();
                collect(Root::Param(n, path), field.ty, at, structs, found);
            }
        }
        _ => {}
    }
}
