//! What is a graph? What a stream was asked to do while it was captured, or what was added node by
//! node, to be done as often as it is launched. Nodes are added after those that they depend on:
//! their order is one of those that the graph allows.

use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Arc;

use crate::copies::{self, Fill};
use crate::driver::Driver;
use crate::objects::References;
use crate::pointers::{In, Out};
use crate::status::{Result, Status};
use crate::streams::{HostFunction, Operation};

#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The device of each node, and what it does there; some do nothing.
    nodes: Vec<(usize, Option<Operation>)>,
    /// The client's objects that it keeps alive, by their handles.
    pub objects: HashMap<u64, References>,
}

impl Graph {
    pub fn add(&mut self, device: usize, operation: Operation) {
        self.nodes.push((device, Some(operation)));
    }

    pub fn operations(&self) -> impl Iterator<Item = (usize, Operation)> {
        self.nodes.iter().filter_map(|(device, operation)| Some((*device, operation.clone()?)))
    }

    /// The same graph with other operations.
    pub fn map(&self, change: &mut dyn FnMut(&Operation) -> Result<Operation>) -> Result<Graph> {
        let node = |(device, operation): &(usize, Option<Operation>)| {
            Ok((*device, operation.as_ref().map(&mut *change).transpose()?))
        };
        let nodes = self.nodes.iter().map(node).collect::<Result<_>>()?;
        Ok(Graph { nodes, objects: self.objects.clone() })
    }

    /// Has a node do something else of the same kind.
    fn change(&mut self, handle: u64, operation: Operation) -> Result {
        let node = self.nodes.get_mut((handle & NUMBER) as usize);
        let old = node.and_then(|(_, operation)| operation.as_mut());
        let same =
            |old: &&mut Operation| std::mem::discriminant::<Operation>(old) == std::mem::discriminant(&operation);
        match old.filter(same) {
            Some(old) => *old = operation,
            None => return Err(Status::InvalidValue.because(format!("{handle:#x} is no such node of the graph"))),
        }
        Ok(())
    }
}

/// The part of a node's handle that is its place in its graph.
const NUMBER: u64 = (1 << 20) - 1;

/// A handle of a node. No graph has more of them.
fn node(graph: u64, number: usize) -> Result<u64> {
    match number as u64 {
        number if number <= NUMBER => Ok(graph << 20 | number),
        _ => Err(Status::OutOfMemory.because(format!("a graph has {} nodes at most", NUMBER + 1))),
    }
}

pub fn begin(driver: &mut Driver, stream: u64, mode: c_int) -> Result {
    can_capture(driver, stream, mode)?;
    let graph = driver.graphs.add(Graph::default());
    capture_into(driver, stream, graph, mode)
}

fn can_capture(driver: &Driver, stream: u64, mode: c_int) -> Result {
    if !(0..=2).contains(&mode) {
        return Err(Status::InvalidValue.into());
    }
    driver.device_of_stream(stream)?;
    if stream <= 2 {
        return Err(Status::CaptureUnsupported.because("the default stream cannot be captured; make one"));
    }
    if driver.capture_of(stream).is_some() {
        return Err(Status::IllegalState.because("the stream is being captured already"));
    }
    Ok(())
}

/// Begins to add what a stream is asked for to a graph.
pub fn capture_into(driver: &mut Driver, stream: u64, graph: u64, mode: c_int) -> Result {
    can_capture(driver, stream, mode)?;
    let stream = driver.streams.get_mut(stream)?;
    (stream.capture, stream.leads) = (Some(graph), true);
    Ok(())
}

pub fn begin_old(driver: &mut Driver, stream: u64) -> Result {
    begin(driver, stream, 0)
}

pub fn end(driver: &mut Driver, stream: u64, graph: Out<u64>) -> Result {
    let found = driver.streams.get_mut(stream)?;
    let Some(captured) = found.capture.filter(|_| found.leads) else {
        return Err(Status::IllegalState.because("no capture began in this stream"));
    };
    // Those that joined in are captured no longer.
    for (_, stream) in driver.streams.iter_mut() {
        if stream.capture == Some(captured) {
            (stream.capture, stream.leads) = (None, false);
        }
    }
    graph.set(captured)
}

pub fn is_capturing(driver: &mut Driver, stream: u64, status: Out<c_int>) -> Result {
    driver.device_of_stream(stream)?;
    status.set(c_int::from(driver.capture_of(stream).is_some()))
}

pub fn capture_info(driver: &mut Driver, stream: u64, status: Out<c_int>, id: Out<u64>) -> Result {
    let none = || Out::at(0);
    capture_info_2(driver, stream, status, id, none(), Out::at(0), Out::at(0))
}

pub fn capture_info_2(
    driver: &mut Driver,
    stream: u64,
    status: Out<c_int>,
    id: Out<u64>,
    graph: Out<u64>,
    dependencies: Out<u64>,
    count: Out<usize>,
) -> Result {
    driver.device_of_stream(stream)?;
    let captured = driver.capture_of(stream);
    status.set(c_int::from(captured.is_some()))?;
    if let Some(captured) = captured {
        id.set_if_wanted(captured >> 4);
        graph.set_if_wanted(captured);
        dependencies.set_if_wanted(0);
        count.set_if_wanted(0);
    }
    Ok(())
}

pub fn capture_info_3(
    driver: &mut Driver,
    stream: u64,
    status: Out<c_int>,
    id: Out<u64>,
    graph: Out<u64>,
    dependencies: Out<u64>,
    edges: Out<u64>,
    count: Out<usize>,
) -> Result {
    edges.set_if_wanted(0);
    capture_info_2(driver, stream, status, id, graph, dependencies, count)
}

/// What may happen during captures does not depend on the mode here.
pub fn exchange_mode(_: &mut Driver, mode: Out<c_int>) -> Result {
    mode.set(0)
}

pub fn create(driver: &mut Driver, graph: Out<u64>, _: c_uint) -> Result {
    let made = driver.graphs.add(Graph::default());
    graph.set(made)
}

pub fn copy(driver: &mut Driver, graph: Out<u64>, original: u64) -> Result {
    let copy = driver.closed(driver.graphs.get(original)?)?;
    let made = driver.graphs.add(copy);
    graph.set(made)
}

/// The node of a copied graph that was copied from `original`.
pub fn node_of_copy(driver: &mut Driver, found: Out<u64>, original: u64, copy: u64) -> Result {
    let (number, of_graph) = ((original & NUMBER) as usize, original & !NUMBER);
    let is_known = driver.graphs.iter().any(|(graph, _)| graph << 20 == of_graph);
    if !is_known {
        return Err(Status::InvalidValue.because(format!("{original:#x} is no node of a graph")));
    }
    match number < driver.graphs.get(copy)?.nodes.len() {
        true => found.set(node(copy, number)?),
        false => Err(Status::InvalidValue.because(format!("the copy has no node for {original:#x}"))),
    }
}

pub fn destroy(driver: &mut Driver, graph: u64) -> Result {
    let graph = driver.graphs.remove(graph)?;
    driver.forget_bodies(&graph);
    Ok(())
}

pub fn nodes(driver: &mut Driver, graph: u64, nodes: Out<u64>, count: Out<usize>) -> Result {
    let all = driver.graphs.get(graph)?.nodes.len();
    if nodes.is_wanted() {
        for n in 0..all {
            nodes.set_at(n, node(graph, n)?)?;
        }
    }
    count.set(all)
}

pub fn instantiate(driver: &mut Driver, instance: Out<u64>, graph: u64, _: u64) -> Result {
    let copy = driver.closed(driver.graphs.get(graph)?)?;
    let made = driver.instances.add(copy);
    instance.set(made)
}

pub fn instantiate_old(
    driver: &mut Driver,
    instance: Out<u64>,
    graph: u64,
    error: Out<u64>,
    log: Out<c_char>,
    bytes: usize,
) -> Result {
    error.set_if_wanted(0);
    if log.is_wanted() && bytes > 0 {
        log.set_text("", bytes)?;
    }
    instantiate(driver, instance, graph, 0)
}

/// `CUDA_GRAPH_INSTANTIATE_PARAMS`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Parameters {
    flags: u64,
    stream: u64,
    error: u64,
    result: c_int,
}

pub fn instantiate_with(driver: &mut Driver, instance: Out<u64>, graph: u64, parameters: Out<Parameters>) -> Result {
    instantiate(driver, instance, graph, 0)?;
    parameters.set_if_wanted(Parameters { flags: 0, stream: 0, error: 0, result: 0 });
    Ok(())
}

pub fn instance_destroy(driver: &mut Driver, instance: u64) -> Result {
    driver.instances.remove(instance).map(drop)
}

pub fn upload(driver: &mut Driver, instance: u64, stream: u64) -> Result {
    driver.device_of_stream(stream)?;
    driver.instances.get(instance).map(drop)
}

pub fn launch(driver: &mut Driver, instance: u64, stream: u64) -> Result {
    driver.device_of_stream(stream)?;
    let graph = driver.instances.get(instance)?;
    let mut operations: Vec<_> = graph.operations().collect();
    if let Some((device, _)) = operations.iter().find(|(_, operation)| matches!(operation, Operation::Nested(_))) {
        operations.insert(0, (*device, Operation::Begin(Arc::new(graph.clone()))));
    }
    match driver.capture_of(stream) {
        Some(graph) => {
            let graph = driver.graphs.get_mut(graph)?;
            operations.into_iter().for_each(|(device, operation)| graph.add(device, operation));
        }
        // One after the other, as one of the orders that the graph allows.
        None => operations.into_iter().for_each(|(device, operation)| driver.enqueue(stream, device, operation)),
    }
    Ok(())
}

/// `CUgraphExecUpdateResultInfo`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Updated {
    result: c_int,
    node: u64,
    from: u64,
}

/// A graph of the same form takes the place of what is launched.
pub fn update(driver: &mut Driver, instance: u64, graph: u64, result: Out<Updated>) -> Result {
    const TOPOLOGY_CHANGED: c_int = 2;
    let new = driver.closed(driver.graphs.get(graph)?)?;
    let old = driver.instances.get_mut(instance)?;
    let kind = |(_, operation): &(usize, Option<Operation>)| operation.as_ref().map(std::mem::discriminant);
    let same = old.nodes.iter().map(kind).eq(new.nodes.iter().map(kind));
    if !same {
        result.set_if_wanted(Updated { result: TOPOLOGY_CHANGED, node: 0, from: 0 });
        return Err(Status::GraphUpdate.because("the graph has other nodes than the one that was instantiated"));
    }
    *old = new;
    result.set_if_wanted(Updated { result: 0, node: 0, from: 0 });
    Ok(())
}

/// Adds a node; its handle.
pub fn add(driver: &mut Driver, handle: Out<u64>, graph: u64, operation: Option<Operation>) -> Result {
    let device = driver.working()?;
    let found = driver.graphs.get_mut(graph)?;
    let made = node(graph, found.nodes.len())?;
    found.nodes.push((device, operation));
    handle.set(made)
}

/// `CUDA_KERNEL_NODE_PARAMS` up to version 1.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PlainKernel {
    function: u64,
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared: c_uint,
    params: In<In<u8>>,
    extra: In<usize>,
}

/// `CUDA_KERNEL_NODE_PARAMS`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Kernel {
    plain: PlainKernel,
    /// A kernel of a library, instead of the function.
    kernel: u64,
    context: u64,
}

/// What a node launches.
fn launch_of(driver: &Driver, plain: &PlainKernel, kernel: u64) -> Result<Operation> {
    let &PlainKernel { function, grid, block, shared, params, extra } = plain;
    let function = if function == 0 { kernel } else { function };
    let form = kc::sim::Form::new(grid, block, shared);
    driver.prepare(function, form, params, extra).map(Operation::Launch)
}

pub fn add_plain_kernel(
    driver: &mut Driver,
    handle: Out<u64>,
    graph: u64,
    _: In<u64>,
    _: usize,
    kernel: In<PlainKernel>,
) -> Result {
    let operation = launch_of(driver, &kernel.get()?, 0)?;
    add(driver, handle, graph, Some(operation))
}

pub fn add_kernel(
    driver: &mut Driver,
    handle: Out<u64>,
    graph: u64,
    _: In<u64>,
    _: usize,
    kernel: In<Kernel>,
) -> Result {
    let Kernel { plain, kernel, .. } = kernel.get()?;
    let operation = launch_of(driver, &plain, kernel)?;
    add(driver, handle, graph, Some(operation))
}

pub fn set_plain_kernel(driver: &mut Driver, instance: u64, node: u64, kernel: In<PlainKernel>) -> Result {
    let operation = launch_of(driver, &kernel.get()?, 0)?;
    driver.instances.get_mut(instance)?.change(node, operation)
}

pub fn set_kernel(driver: &mut Driver, instance: u64, node: u64, kernel: In<Kernel>) -> Result {
    let Kernel { plain, kernel, .. } = kernel.get()?;
    let operation = launch_of(driver, &plain, kernel)?;
    driver.instances.get_mut(instance)?.change(node, operation)
}

pub fn add_copy(
    driver: &mut Driver,
    handle: Out<u64>,
    graph: u64,
    _: In<u64>,
    _: usize,
    volume: In<copies::Volume>,
    _: u64,
) -> Result {
    let copy = copies::of_volume(driver, &volume.get()?)?;
    add(driver, handle, graph, Some(Operation::Copy(copy)))
}

pub fn set_copy(driver: &mut Driver, instance: u64, node: u64, volume: In<copies::Volume>, _: u64) -> Result {
    let copy = copies::of_volume(driver, &volume.get()?)?;
    driver.instances.get_mut(instance)?.change(node, Operation::Copy(copy))
}

/// `CUDA_MEMSET_NODE_PARAMS`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Set {
    to: u64,
    pitch: usize,
    value: c_uint,
    size: c_uint,
    width: usize,
    height: usize,
}

fn fill_of(set: &Set) -> Result<Operation> {
    let &Set { to, pitch, value, size, width, height } = set;
    if !matches!(size, 1 | 2 | 4) {
        return Err(Status::InvalidValue.because(format!("elements have 1, 2 or 4 bytes, not {size}")));
    }
    let (width, height) = (width as u64, height as u64);
    Ok(Operation::Fill(Fill { to, pitch: pitch as u64, size: size.into(), value, width, height }))
}

pub fn add_fill(
    driver: &mut Driver,
    handle: Out<u64>,
    graph: u64,
    _: In<u64>,
    _: usize,
    set: In<Set>,
    _: u64,
) -> Result {
    let operation = fill_of(&set.get()?)?;
    add(driver, handle, graph, Some(operation))
}

pub fn set_fill(driver: &mut Driver, instance: u64, node: u64, set: In<Set>, _: u64) -> Result {
    let operation = fill_of(&set.get()?)?;
    driver.instances.get_mut(instance)?.change(node, operation)
}

/// `CUDA_HOST_NODE_PARAMS`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Host {
    function: Option<extern "C" fn(*mut c_void)>,
    data: *mut c_void,
}

pub fn add_host(driver: &mut Driver, handle: Out<u64>, graph: u64, _: In<u64>, _: usize, host: In<Host>) -> Result {
    let Host { function, data } = host.get()?;
    let function = function.ok_or_else(|| Status::InvalidValue.because("the function is null"))?;
    let operation = Operation::Host(HostFunction::Plain(function, data.expose_provenance()));
    add(driver, handle, graph, Some(operation))
}

pub fn add_empty(driver: &mut Driver, handle: Out<u64>, graph: u64, _: In<u64>, _: usize) -> Result {
    add(driver, handle, graph, None)
}
