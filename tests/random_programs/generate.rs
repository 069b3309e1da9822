//! Random programs. Every one is right: indices are in range, threads own the elements that they
//! write or update them in a way that no order shows, loops end.
//!
//! This file says what a program consists of; [`crate::statements`] and [`crate::expressions`] fill
//! it.

use kc::types::{Scalar, StructId, Type};

use crate::random::Random;
use crate::table::INTS;
use crate::tree::{Expr, Function, Program, Stmt, Struct};

/// Extents of all arrays, by dimension: powers of two, so that a mask keeps an index inside.
pub const EXTENTS: [i32; 4] = [32, 4, 2, 2];

/// Threads of a launch: not a multiple of any number of lanes.
pub const THREADS: u32 = 27;

/// Arrays of one kernel at most, results aside.
const MAX_ARRAYS: usize = 14;

/// What threads may do to an array.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Use {
    /// All read it.
    Read,
    /// Each thread reads and writes the elements whose first index is its own.
    Own,
    /// All update it, by this function alone.
    Update(&'static str),
    /// An array of the thread, of one dimension and four elements.
    Local,
}

#[derive(Clone)]
pub struct Array {
    pub name: String,
    pub element: Type,
    pub rank: usize,
    pub usage: Use,
}

#[derive(Clone)]
pub struct Variable {
    pub name: String,
    pub ty: Type,
    /// False: the counter of a loop.
    pub assignable: bool,
}

pub struct Signature {
    pub name: String,
    pub params: Vec<Type>,
    /// The element of the array that it takes first.
    pub array: Option<Type>,
    pub results: Vec<Type>,
}

pub struct Generator {
    pub random: Random,
    pub exact: bool,
    pub structs: Vec<Struct>,
    pub signatures: Vec<Signature>,
    /// The types that this program is about.
    pub pool: Vec<Type>,
    pub scope: Vec<Variable>,
    pub arrays: Vec<Array>,
    /// Arrays may be added: not in functions.
    pub in_kernel: bool,
    /// What the function around returns; None: a kernel.
    pub results: Option<Vec<Type>>,
    /// Turns of the loops around, multiplied.
    pub turns: usize,
    pub loops: usize,
    pub depth: usize,
    pub names: usize,
    /// Statements that may still be made.
    pub left: usize,
    pub uses: Vec<&'static str>,
    seed: u64,
}

/// The program of a seed.
pub fn program(seed: u64) -> Program {
    let mut generator = Generator {
        random: Random::new(seed),
        exact: seed.is_multiple_of(2),
        structs: Vec::new(),
        signatures: Vec::new(),
        pool: Vec::new(),
        scope: Vec::new(),
        arrays: Vec::new(),
        in_kernel: false,
        results: None,
        turns: 1,
        loops: 0,
        depth: 0,
        names: 0,
        left: 0,
        uses: Vec::new(),
        seed,
    };
    generator.choose_pool();
    let functions = (0..generator.random.below(3)).map(|n| generator.function(n)).collect();
    let (kernel, dims) = generator.kernel();
    let Generator { structs, exact, uses, .. } = generator;
    Program {
        seed,
        structs,
        functions,
        kernel,
        dims,
        extents: EXTENTS,
        block_dim: 16,
        counted: None,
        answer: None,
        mild: false,
        exact,
        uses,
    }
}

impl Generator {
    fn choose_pool(&mut self) {
        self.pool = vec![kc::types::I32];
        for _ in 0..2 {
            let scalar = self.scalar();
            self.pool.push(scalar.into());
        }
        for _ in 0..1 + self.random.below(2) {
            let ty = self.composite();
            self.pool.push(ty);
        }
        for n in 0..self.random.below(3) {
            let mut fields = Vec::new();
            for k in 0..1 + self.random.below(4) {
                let ty = match self.random.below(6) {
                    0 | 1 => self.composite(),
                    2 if n > 0 => Type::Struct(StructId(0)),
                    _ => self.scalar().into(),
                };
                fields.push((format!("f{k}"), ty));
            }
            self.structs.push(Struct { name: format!("S{}_{n}", self.seed), fields });
            self.pool.push(Type::Struct(StructId(n as u32)));
        }
        self.pool.dedup();
    }

    pub fn scalar(&mut self) -> Scalar {
        match self.random.below(10) {
            0 => Scalar::Bool,
            1 => Scalar::F16,
            2..=4 => Scalar::F32,
            5 => Scalar::F64,
            _ => self.random.pick(&INTS),
        }
    }

    pub fn float(&mut self) -> Scalar {
        self.random.pick(&[Scalar::F16, Scalar::F32, Scalar::F32, Scalar::F64])
    }

    fn composite(&mut self) -> Type {
        let float = self.float();
        let any = if self.random.one_in(3) { self.random.pick(&INTS) } else { float };
        match self.random.below(8) {
            0..=3 => Type::Vec(self.random.pick(&[2, 3, 3, 4, 6]), any),
            // The only one that `spatial_adjoint` gives.
            4 if self.random.one_in(8) => Type::Mat(6, 6, float),
            4 | 5 => Type::Mat(self.random.pick(&[2, 3, 4]), self.random.pick(&[2, 3, 3, 4]), any),
            6 => Type::Quat(float),
            _ => Type::Transform(float),
        }
    }

    fn function(&mut self, number: usize) -> Function {
        let name = format!("f{}_{number}", self.seed);
        let params: Vec<Type> = (0..1 + self.random.below(3)).map(|_| self.from_pool()).collect();
        let results: Vec<Type> = (0..if self.random.one_in(4) { 2 } else { 1 }).map(|_| self.from_pool()).collect();
        let array = self.random.one_in(3).then(|| self.from_pool());
        let named = |n: usize| format!("a{n}");
        self.scope =
            params.iter().enumerate().map(|(n, &ty)| Variable { name: named(n), ty, assignable: false }).collect();
        self.arrays = array
            .map(|element| Array { name: "given".to_string(), element, rank: 1, usage: Use::Read })
            .into_iter()
            .collect();
        let mut head: Vec<String> =
            array.map(|ty| format!("given: wp.array(dtype={})", self.python(ty))).into_iter().collect();
        head.extend(params.iter().enumerate().map(|(n, &ty)| format!("{}: {}", named(n), self.python(ty))));
        let mut body = Vec::new();
        for n in 0..2 {
            let ty = results[n % results.len()];
            body.push(self.fresh(ty, 2));
        }
        self.results = Some(results.clone());
        self.left = 2 + self.random.below(5);
        body.extend(self.statements());
        body.push(self.give_back());
        self.results = None;
        let head = format!("@wp.func\ndef {name}({}):", head.join(", "));
        self.signatures.push(Signature { name, params, array, results });
        Function { head, body }
    }

    fn kernel(&mut self) -> (Function, Vec<u32>) {
        (self.scope, self.arrays, self.in_kernel) = (Vec::new(), Vec::new(), true);
        let two = self.random.one_in(4);
        let own = |name: &str| Variable { name: name.to_string(), ty: kc::types::I32, assignable: false };
        let mut start = if two {
            self.scope.extend([own("row"), own("column")]);
            vec![Stmt::line("row, column = wp.tid()", vec![]), Stmt::line("i = row * 3 + column", vec![])]
        } else {
            vec![Stmt::line("i = wp.tid()", vec![])]
        };
        self.scope.push(own("i"));
        let mut values = Vec::new();
        for ty in self.pool.clone() {
            if self.random.one_in(4) {
                let name = format!("p{}", values.len());
                self.scope.push(Variable { name: name.clone(), ty, assignable: false });
                values.push(format!("{name}: {}", self.python(ty)));
            }
            let array = self.add_array(ty, 1, Use::Read);
            for k in 0..2 {
                let name = self.name("v");
                let at = if k == 0 { "i" } else { "31 - i" };
                start.push(Stmt::line(&format!("{name} = {array}[{at}]"), vec![]));
                self.scope.push(Variable { name, ty, assignable: true });
            }
        }
        let variables: Vec<Variable> = self.scope.iter().filter(|v| v.assignable).cloned().collect();
        self.left = 4 + self.random.below(14);
        let mut body = start;
        while self.left > 0 {
            body.extend(self.statements());
        }
        for variable in variables {
            let array = self.add_array(variable.ty, 1, Use::Own);
            body.push(Stmt::line(&format!("{array}[i] = {{}}"), vec![Expr::leaf(variable.ty, variable.name)]));
        }
        let declared = self.arrays.iter().filter(|array| array.usage != Use::Local).map(|array| {
            let (name, element) = (&array.name, self.python(array.element));
            match array.rank {
                1 => format!("{name}: wp.array(dtype={element})"),
                rank => format!("{name}: wp.array{rank}d(dtype={element})"),
            }
        });
        let params: Vec<String> = declared.chain(values).collect();
        let head = format!("@wp.kernel\ndef k{}({}):", self.seed, params.join(", "));
        (Function { head, body }, if two { vec![THREADS / 3, 3] } else { vec![THREADS] })
    }

    /// Adds an array whatever their number.
    fn add_array(&mut self, element: Type, rank: usize, usage: Use) -> String {
        let name = self.name(match usage {
            Use::Read => "in",
            Use::Own => "out",
            Use::Update(_) => "sum",
            Use::Local => "local",
        });
        self.arrays.push(Array { name: name.clone(), element, rank, usage });
        name
    }

    /// An array for this use: one that is there, or a new one. None: there are too many.
    pub fn array(&mut self, element: Type, usage: Use) -> Option<Array> {
        let known: Vec<Array> =
            self.arrays.iter().filter(|a| a.element == element && a.usage == usage).cloned().collect();
        let declared = self.arrays.iter().filter(|a| a.usage != Use::Local).count();
        let may_add = self.in_kernel && declared < MAX_ARRAYS && usage != Use::Local;
        let adds = may_add && (known.is_empty() || self.random.one_in(4));
        if !adds && !known.is_empty() {
            return Some(known[self.random.below(known.len())].clone());
        }
        if !may_add {
            return None;
        }
        let rank = if matches!(usage, Use::Update(_)) { 1 } else { self.random.pick(&[1, 1, 2, 2, 3, 4]) };
        self.add_array(element, rank, usage);
        self.arrays.last().cloned()
    }

    pub fn from_pool(&mut self) -> Type {
        self.pool[self.random.below(self.pool.len())]
    }

    pub fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    pub fn fields(&self, id: StructId) -> &[(String, Type)] {
        &self.structs[id.0 as usize].fields
    }

    pub fn python(&self, ty: Type) -> String {
        crate::tree::type_name(ty, &|id| self.structs[id.0 as usize].name.clone())
    }

    pub fn note(&mut self, what: &'static str) {
        if !self.uses.contains(&what) {
            self.uses.push(what);
        }
    }
}
