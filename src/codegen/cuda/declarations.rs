//! Where variables are declared: in the innermost list of statements that holds all their uses,
//! above the first of them and with their first value if they have one there.

use smallvec::SmallVec;

use super::tree::{Stmt, Var};
use crate::ids::IdList;

/// Declares every variable of `list` but those in `declared`, which are parameters. `count`:
/// variables have numbers below it.
pub fn declare(list: &mut Vec<Stmt>, declared: &IdList<Var>, count: usize) {
    let mut finder = Finder { homes: vec![Home::Unused; count], path: SmallVec::new(), lists: 0 };
    declared.iter().for_each(|var| finder.bring(var));
    finder.list(list);
    let mut places: Vec<Insertion> = Vec::new();
    for (n, home) in finder.homes.iter().enumerate() {
        if let Home::At(path) = home
            && let Some(&(list, at)) = path.last()
        {
            places.push(Insertion { list, at, var: Var(n as u32) });
        }
    }
    places.sort_unstable();
    insert(list, &mut places.as_slice(), &mut 0);
}

/// Where a variable is to be declared: above statement `at` of a list. Lists that are not empty
/// count as the walk meets them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Insertion {
    list: u32,
    at: u32,
    var: Var,
}

/// What is known of a variable so far.
#[derive(Clone)]
enum Home {
    Unused,
    /// Parameters, and what loop heads and local arrays bring.
    Declared,
    /// The statement of the first use, after those around it, each with its list. Shortened until
    /// the last list holds all uses.
    At(SmallVec<[(u32, u32); 4]>),
}

struct Finder {
    homes: Vec<Home>,
    /// The current statement, after those around it, each with its list.
    path: SmallVec<[(u32, u32); 4]>,
    lists: u32,
}

impl Finder {
    fn list(&mut self, list: &[Stmt]) {
        if list.is_empty() {
            return;
        }
        let number = self.lists;
        self.lists += 1;
        for (at, stmt) in (0..).zip(list) {
            self.path.push((number, at));
            match stmt {
                Stmt::LocalArray { var, .. } | Stmt::SharedArray(var, _) | Stmt::For { var, .. } => self.bring(*var),
                Stmt::Declare(var) | Stmt::Assign { var, .. } => self.used(*var),
                _ => {}
            }
            stmt.for_each_expr(&mut |e| e.for_each_var(&mut |var| self.used(var)));
            stmt.bodies().into_iter().for_each(|body| self.list(body));
            self.path.pop();
        }
    }

    fn bring(&mut self, var: Var) {
        if let Some(home) = self.homes.get_mut(var.0 as usize) {
            *home = Home::Declared;
        }
    }

    fn used(&mut self, var: Var) {
        match self.homes.get_mut(var.0 as usize) {
            Some(home @ Home::Unused) => *home = Home::At(self.path.clone()),
            Some(Home::At(home)) => {
                // The last list of the home is around the statement at hand when both have it at
                // the same depth.
                while home.len() > 1 && home.last().map(|p| p.0) != self.path.get(home.len() - 1).map(|p| p.0) {
                    home.pop();
                }
            }
            Some(Home::Declared) | None => {}
        }
    }
}

/// Inserts the declarations of a list and of those nested in it, which come next in `places`.
fn insert(list: &mut Vec<Stmt>, places: &mut &[Insertion], lists: &mut u32) {
    if list.is_empty() {
        return;
    }
    let number = *lists;
    *lists += 1;
    let end = places.partition_point(|place| place.list == number);
    let (mut own, rest) = places.split_at(end);
    *places = rest;
    // Those that need a statement of their own, each with the place above which it is.
    let mut separate: Vec<(usize, Var)> = Vec::new();
    // What is directly above the statement at hand and is about it.
    let mut remarks = 0;
    for (at, stmt) in list.iter_mut().enumerate() {
        let end = own.partition_point(|place| place.at as usize == at);
        let (here, later) = own.split_at(end);
        own = later;
        let declared_by_itself = match stmt {
            Stmt::Assign { var, value, declare }
                if here.iter().any(|place| place.var == *var) && !value.reads(*var) =>
            {
                *declare = true;
                Some(*var)
            }
            _ => None,
        };
        let others = here.iter().map(|place| place.var).filter(|&var| Some(var) != declared_by_itself);
        separate.extend(others.map(|var| (at - remarks, var)));
        match stmt {
            Stmt::If { then, otherwise, .. } => {
                insert(then, places, lists);
                insert(otherwise, places, lists);
            }
            Stmt::For { body, .. } | Stmt::While { body, .. } => insert(body, places, lists),
            _ => {}
        }
        remarks = if matches!(stmt, Stmt::Note(_) | Stmt::At(_)) { remarks + 1 } else { 0 };
    }
    if separate.is_empty() {
        return;
    }
    let mut out: Vec<Stmt> = Vec::with_capacity(list.len() + separate.len());
    let mut separate = separate.into_iter().peekable();
    for (at, stmt) in std::mem::take(list).into_iter().enumerate() {
        while let Some((_, var)) = separate.next_if(|(above, _)| *above == at) {
            out.push(Stmt::Declare(var));
        }
        out.push(stmt);
    }
    *list = out;
}
