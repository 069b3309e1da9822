//! What does [`Body`](super::Body) know beside its names, concept by concept?

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::check::body::Binding;
use crate::check::state::definition::Rule;
use crate::check::tree::{LocalId, ReturnedArray, Stmt};
use crate::check::types::pattern::Bindings;
use crate::check::types::value::Constant;
use crate::ir::ConstantId;
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{Scalar, Type};

/// The function that the body is of.
#[derive(Default)]
pub(crate) struct OwnFunction {
    /// What is checked, if it is a function of its own.
    pub source: Option<Arc<ast::Function>>,
    pub kernel: bool,
    /// In the body of a gradient rule.
    pub rule: Option<Rule>,
    /// What the variables of its signature stand for.
    pub bindings: Bindings,
    /// How many of the locals are parameters.
    pub parameters: usize,
    pub by_ref: Vec<LocalId>,
}

/// What callers and later stages ask of the body, as far as it is checked.
pub(crate) struct Summary {
    /// The most coordinates that a `tid()` of this kernel asks for.
    pub rank: u8,
    /// The types of the first `return`, and its place.
    pub results: Option<(Vec<Type>, Span)>,
    /// The tuples among them, as [`crate::check::tree::Function::nested`] has them.
    pub nested: Vec<Option<usize>>,
    /// The local arrays that a first look at the body found to be returned.
    pub returned_arrays: Vec<ReturnedArray>,
    /// Where it names a constant.
    pub named: HashMap<Span, ConstantId>,
    /// It works on tiles, or calls what does.
    pub by_block: bool,
    /// It uses what differs between the threads of a block.
    pub by_thread: bool,
}

impl Default for Summary {
    fn default() -> Summary {
        Summary {
            rank: 1,
            results: None,
            nested: Vec::new(),
            returned_arrays: Vec::new(),
            named: HashMap::new(),
            by_block: false,
            by_thread: false,
        }
    }
}

/// What is around the current statement.
#[derive(Default)]
pub(crate) struct Nesting {
    /// Branches and loops.
    pub depth: u32,
    pub loops: u32,
    /// Loops that are unrolled.
    pub unrolled: u32,
}

/// The current statement.
#[derive(Default)]
pub(crate) struct Statement {
    /// What its parts ask for before it.
    pub pending: Vec<Stmt>,
    /// The expression whose value it drops.
    pub dropped: Option<Span>,
}

/// Tiles and local arrays.
#[derive(Default)]
pub(crate) struct Tiles {
    /// The places of the tiles of whose elements something is computed: what is said of an element
    /// is said there.
    pub computed: Vec<Span>,
    /// Variables that have a local array of their own wherever they are known.
    pub own_arrays: HashSet<LocalId>,
    /// The tiles of which a loop, by its counter, or a call sets all elements.
    pub filled: HashMap<LocalId, LocalId>,
}

/// What a body knows of literals that adapt.
#[derive(Default)]
pub(crate) struct Literals {
    /// What arithmetic on literals alone gives in Python, by its place.
    pub computed: HashMap<Span, f64>,
    /// The types of variables that start with a literal, where a first look has told them.
    pub starts: Starts,
    /// The variables that started with a literal.
    pub started: HashMap<LocalId, Constant>,
    /// Those that started with what is computed of these.
    pub derived: HashMap<LocalId, Vec<LocalId>>,
    /// Types that variables should have from their start; those that they should have if they come
    /// to hold floats that are computed; and the variables that do.
    pub wishes: Vec<(Span, Scalar)>,
    pub weak: Vec<(Span, Scalar)>,
    pub computed_floats: HashSet<Span>,
    /// The number that the function's annotation says it returns.
    pub promised: Option<Scalar>,
    /// The literal that its first `return` gives.
    pub first_literal: Option<(Span, Constant)>,
    /// A call is tried in which literals adapt.
    pub opening: bool,
    /// The variable that the current statement assigns.
    pub assigning: Option<LocalId>,
}

/// Types of variables that start with literals, by the places of their names.
pub type Starts = HashMap<Span, Scalar>;

/// How often a body is checked again for the types of its variables.
pub const MOST_LOOKS: usize = 16;

/// What a look at a body says about variables that start with literals.
#[derive(Default)]
pub struct Wishes {
    pub strong: Vec<(Span, Scalar)>,
    pub weak: Vec<(Span, Scalar)>,
    /// The variables that hold floats which are computed.
    pub computed: HashSet<Span>,
}

/// Adds types to those that variables start with. False: none is new.
pub fn grow(starts: &mut Starts, wishes: &[(Span, Scalar)]) -> bool {
    let mut changed = false;
    for &(span, scalar) in wishes {
        // A later look may have a wider one.
        let wider = |known: Scalar| scalar.is_float() && (!known.is_float() || scalar.size() > known.size());
        if starts.get(&span).is_none_or(|&known| wider(known)) {
            starts.insert(span, scalar);
            changed = true;
        }
    }
    changed
}

/// The literal that each variable holds, where that is known.
pub(crate) type Known = HashMap<LocalId, Constant>;

/// What a name means, and where it got that.
#[derive(Clone, Debug)]
pub(crate) struct Meaning {
    pub(super) binding: Binding,
    pub(super) place: Option<Span>,
}

/// A name that means one thing on one way to here and another on another.
#[derive(Clone, Debug)]
pub(crate) struct Several {
    pub(super) one: (String, Option<Span>),
    pub(super) other: (String, Option<Span>),
    /// They are functions.
    pub(super) called: bool,
}

/// The names of a body through its branches and loops.
#[derive(Debug, Default)]
pub(crate) struct Ways {
    /// In branches and loops: the names that got another meaning, with the one before.
    pub(super) journal: Vec<(String, Option<Meaning>)>,
    /// Where each name got its meaning.
    pub(super) places: HashMap<String, Span>,
    /// For each branch and loop around the current statement, where its part of the journal begins.
    pub(super) branches: Vec<usize>,
    /// The loops around the current statement.
    pub(super) loops: Vec<Loop>,
    /// The variables of the elements of each name's tuples, one set for each list of types.
    pub(super) tuples: HashMap<String, Vec<Vec<LocalId>>>,
    /// Names with a meaning on some ways only, by how many branches and loops are around the place
    /// behind.
    pub(super) maybe: HashMap<String, (u32, Span)>,
}

#[derive(Debug)]
pub(crate) struct Loop {
    /// Where its part of the journal begins.
    pub(super) mark: usize,
    /// What names mean where a `break` or `continue` is.
    pub(super) leaves: Vec<(String, Option<Meaning>)>,
}

/// What names mean at the end of one branch.
pub(crate) type Ends = HashMap<String, Option<Meaning>>;
