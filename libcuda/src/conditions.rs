//! Which nodes of a graph run as numbers say? A kernel gives a condition its number
//! (`cudaGraphSetConditional`), and a node does one of its bodies as the number says, once or as
//! long as it is not 0. A body is a graph of its own, to which nodes are added as to others.

use std::ffi::{c_int, c_uint};
use std::sync::Arc;

use crate::driver::Driver;
use crate::graphs::{self, Graph};
use crate::order::Work;
use crate::pointers::{In, Out};
use crate::queue::Queued;
use crate::status::{Result, Status};
use crate::streams::Operation;

/// A number that kernels set and nodes go by.
#[derive(Clone, Copy, Debug)]
pub struct Condition {
    value: u32,
    /// What it is when a graph with it begins, if it does not stay.
    default: Option<u32>,
}

/// When a node runs its bodies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum When {
    /// Always, once: a graph in a graph.
    Always,
    /// The first where the number is not 0, or else the second, if there is one.
    If,
    /// As long as the number is not 0.
    While,
    /// The one that has the number.
    Switch,
}

/// What a node with bodies does.
#[derive(Clone, Debug)]
pub struct Nested {
    when: When,
    condition: u64,
    /// The bodies as the client adds to them; it is given the list.
    open: Arc<[u64]>,
    /// The same where the graph can be launched.
    bodies: Vec<Arc<Graph>>,
}

/// `CUgraphNodeParams` of a node with a condition.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Node {
    kind: c_int,
    reserved: [c_int; 3],
    condition: u64,
    when: c_int,
    count: c_uint,
    /// Where the driver says which graphs the bodies are.
    bodies: u64,
    context: u64,
}

const CONDITIONAL: c_int = 13;

impl Driver {
    /// A graph of whose bodies nothing changes any more.
    pub fn closed(&self, graph: &Graph) -> Result<Graph> {
        graph.map(&mut |operation| match operation {
            Operation::Nested(nested) if nested.bodies.is_empty() => {
                let close = |&body: &u64| {
                    let body = self.closed(self.graphs.get(body)?)?;
                    let allowed = body.operations().all(|(_, operation)| is_allowed(&operation));
                    match allowed {
                        true => Ok(Arc::new(body)),
                        false => Err(Status::NotSupported.because(
                            "a body of a condition has other nodes than kernels, copies, fills and graphs of such",
                        )),
                    }
                };
                let bodies = nested.open.iter().map(close).collect::<Result<_>>()?;
                Ok(Operation::Nested(Nested { bodies, ..nested.clone() }))
            }
            other => Ok(other.clone()),
        })
    }

    /// The conditions of a graph are what they are when it begins.
    pub fn reset_conditions(&mut self, graph: &Graph) {
        for (_, operation) in graph.operations() {
            let Operation::Nested(nested) = operation else { continue };
            if let Ok(condition) = self.conditions.get_mut(nested.condition) {
                condition.value = condition.default.unwrap_or(condition.value);
            }
            nested.bodies.iter().for_each(|body| self.reset_conditions(body));
        }
    }

    /// A graph goes, and the bodies of its nodes with it.
    pub fn forget_bodies(&mut self, graph: &Graph) {
        for (_, operation) in graph.operations() {
            let Operation::Nested(nested) = operation else { continue };
            for &body in nested.open.iter() {
                if let Ok(body) = self.graphs.remove(body) {
                    self.forget_bodies(&body);
                }
            }
        }
    }

    /// What kernels set.
    pub fn set_condition(&mut self, condition: u64, value: u32) -> Result {
        self.conditions.get_mut(condition)?.value = value;
        Ok(())
    }

    /// Does what a node has for the number at hand.
    pub fn nested(&mut self, nested: &Nested, work: &Work) -> Result {
        loop {
            let value = match nested.when {
                When::Always => 1,
                _ => self.conditions.get(nested.condition)?.value,
            };
            let chosen = match nested.when {
                When::Always => Some(0),
                When::If => Some(usize::from(value == 0)),
                When::While => (value != 0).then_some(0),
                When::Switch => Some(value as usize),
            };
            let Some(body) = chosen.and_then(|n| nested.bodies.get(n)) else { return Ok(()) };
            for (device, operation) in body.operations() {
                self.perform(Queued { device, operation, work: work.clone() })?;
            }
            if nested.when != When::While {
                return Ok(());
            }
        }
    }
}

fn is_allowed(operation: &Operation) -> bool {
    matches!(operation, Operation::Launch(_) | Operation::Copy(_) | Operation::Fill(_) | Operation::Nested(_))
}

pub fn create(driver: &mut Driver, handle: Out<u64>, graph: u64, _: u64, default: c_uint, flags: c_uint) -> Result {
    driver.graphs.get(graph)?;
    if flags > 1 {
        return Err(Status::InvalidValue.because(format!("{flags} are no flags of a condition")));
    }
    let default = (flags == 1).then_some(default);
    let made = driver.conditions.add(Condition { value: default.unwrap_or(0), default });
    handle.set(made)
}

/// Adds a node of the one kind that has no function of its own.
pub fn add_node(driver: &mut Driver, handle: Out<u64>, graph: u64, _: In<u64>, _: usize, node: Out<Node>) -> Result {
    let given: Node = In::from_address(node.address()).get()?;
    let invalid = |why: String| Err(Status::InvalidValue.because(why));
    if given.kind != CONDITIONAL {
        let why = format!(
            "of the nodes that cuGraphAddNode adds, those with conditions are simulated, and not {}",
            given.kind
        );
        return Err(Status::NotSupported.because(why));
    }
    let (when, most) = match given.when {
        0 => (When::If, 2),
        1 => (When::While, 1),
        2 => (When::Switch, 1 << 16),
        other => return invalid(format!("{other} is no kind of a condition")),
    };
    if given.count == 0 || given.count > most {
        return invalid(format!("a node of this kind has 1 to {most} bodies, not {}", given.count));
    }
    driver.conditions.get(given.condition)?;
    driver.graphs.get(graph)?;
    let open: Arc<[u64]> = (0..given.count).map(|_| driver.graphs.add(Graph::default())).collect();
    let bodies = open.as_ptr().expose_provenance() as u64;
    let nested = Nested { when, condition: given.condition, open, bodies: Vec::new() };
    graphs::add(driver, handle, graph, Some(Operation::Nested(nested)))?;
    node.set(Node { bodies, ..given })
}

pub fn add_node_with_edges(
    driver: &mut Driver,
    handle: Out<u64>,
    graph: u64,
    dependencies: In<u64>,
    _: In<u64>,
    count: usize,
    node: Out<Node>,
) -> Result {
    add_node(driver, handle, graph, dependencies, count, node)
}

/// Adds a graph as it is now.
pub fn add_graph(driver: &mut Driver, handle: Out<u64>, graph: u64, _: In<u64>, _: usize, child: u64) -> Result {
    let body = driver.closed(driver.graphs.get(child)?)?;
    let nested = Nested { when: When::Always, condition: 0, open: Arc::from([]), bodies: vec![Arc::new(body)] };
    graphs::add(driver, handle, graph, Some(Operation::Nested(nested)))
}

/// Captures a stream behind what a graph has.
pub fn begin_capture(
    driver: &mut Driver,
    stream: u64,
    graph: u64,
    _: In<u64>,
    _: In<u64>,
    _: usize,
    mode: c_int,
) -> Result {
    driver.graphs.get(graph)?;
    graphs::capture_into(driver, stream, graph, mode)
}

/// Accepts the dependencies that the client names. The simulated driver runs a captured stream in
/// order, and that order keeps every dependency.
pub fn depend(driver: &mut Driver, stream: u64, _: In<u64>, _: usize, _: c_uint) -> Result {
    match driver.capture_of(stream) {
        Some(_) => Ok(()),
        None => Err(Status::IllegalState.because("the stream is not being captured")),
    }
}

pub fn depend_with_edges(
    driver: &mut Driver,
    stream: u64,
    dependencies: In<u64>,
    _: In<u64>,
    count: usize,
    flags: c_uint,
) -> Result {
    depend(driver, stream, dependencies, count, flags)
}
