//! What do the threads of a block do together? All of them come to each of these; what they did
//! before, all see behind it.

use super::calls::Arguments;
use super::expr::operate;
use super::number::{Kind, Number, U32};
use super::value::{Composite, Form, Type, Value, View, row_major};
use super::{Lanes, Machine, Mask, Result, Stop, builtins, threads};

fn fault<T>(text: impl Into<String>) -> Result<T> {
    Err(Stop::Fault(text.into()))
}

/// Threads of a warp.
const WARP: usize = 32;

/// What all threads do with one value, by element.
pub fn elementwise(op: &str, a: &Value, b: &Value) -> Result<Value> {
    let (shape, left, right) = match (a, b) {
        (Value::Tile(a), Value::Tile(b)) if a.shape == b.shape => (&a.shape, a.elements(), b.elements()),
        (Value::Tile(a), Value::Tile(b)) => {
            return Err(Stop::Meaningless(format!("`{op}` of tiles of {:?} and {:?}", a.shape, b.shape)));
        }
        (Value::Tile(a), b) => (&a.shape, a.elements(), vec![b.clone(); a.shape.iter().product()]),
        (a, Value::Tile(b)) => (&b.shape, vec![a.clone(); b.shape.iter().product()], b.elements()),
        _ => return fault(format!("`{op}` of {a:?} and {b:?}")),
    };
    let elements = left.iter().zip(&right).map(|(a, b)| operate(op, a, b)).collect::<Result<Vec<_>>>()?;
    tile(shape.clone(), elements)
}

fn tile(shape: Vec<usize>, elements: Vec<Value>) -> Result<Value> {
    let element = Type::of(&elements[0])?;
    Ok(Value::Tile(View::new(shape, element, elements)))
}

impl Machine {
    pub(super) fn is_collective(&self, name: &str) -> bool {
        let of_threads = ["sync", "zeros", "tile", "untile", "ballot", "match"];
        of_threads.contains(&name) || name.starts_with("tile_") || name.starts_with("shuffle")
    }

    pub(super) fn collective(&mut self, name: &str, args: &Arguments, mask: Mask) -> Result<Lanes> {
        self.together(name, mask)?;
        let found = self.done_together(name, args, mask);
        self.meet();
        found
    }

    fn done_together(&mut self, name: &str, args: &Arguments, mask: Mask) -> Result<Lanes> {
        let lane = threads(mask).next().unwrap_or_default();
        let one = |position: usize, name: &str| args.one(position, name, lane).cloned();
        let dtype = |position: usize| match args.get(position, "dtype") {
            Some(values) => values[lane].ty(),
            None => Ok(Type::Number(Kind::F32)),
        };
        let made = match name {
            "sync" => Value::Unset,
            "zeros" | "tile_zeros" => Value::Tile(View::filled(one(0, "shape")?.extents()?, dtype(1)?.zero())?),
            "tile_ones" => {
                let one_of = |n: Number| Number {
                    int: i128::from(!n.kind.is_float()),
                    float: f64::from(u8::from(n.kind.is_float())),
                    ..n
                };
                let Value::Number(zero) = dtype(1)?.zero() else { return fault("ones of composites") };
                Value::Tile(View::filled(one(0, "shape")?.extents()?, Value::Number(one_of(zero)))?)
            }
            "tile_full" => Value::Tile(View::filled(one(0, "shape")?.extents()?, one(1, "value")?)?),
            "tile_from_thread" => {
                let from = one(2, "thread_idx")?.int()? as usize;
                Value::Tile(View::filled(one(0, "shape")?.extents()?, args.one(1, "value", from)?.clone())?)
            }
            "tile_arange" => {
                let (stop, Type::Number(kind)) = (one(0, "stop")?.int()?, dtype(usize::MAX)?) else {
                    return fault("a range");
                };
                let number = |n: i128| Value::Number(Number::int(super::number::I32, n).cast(kind));
                tile(vec![stop as usize], (0..stop).map(number).collect())?
            }
            "tile" => self.tile_of_threads(args, mask)?,
            "untile" => return self.untile(one(0, "a")?.view()?, mask),
            "tile_sum" | "tile_min" | "tile_max" => {
                folded(name, one(0, "a")?.view()?, args.get(1, "axis").map(|a| a[lane].int()).transpose()?)?
            }
            "tile_dot" => folded("tile_sum", elementwise("*", &one(0, "a")?, &one(1, "b")?)?.view()?, None)?,
            "tile_scan_inclusive" | "tile_scan_exclusive" => {
                scanned(name == "tile_scan_inclusive", one(0, "a")?.view()?)?
            }
            "tile_transpose" => {
                let Value::Tile(mut view) = one(0, "a")? else { return fault("a tile") };
                view.shape.reverse();
                view.strides.reverse();
                Value::Tile(view)
            }
            "tile_reshape" => {
                let (Value::Tile(view), shape) = (one(0, "a")?, one(1, "shape")?.extents()?) else {
                    return fault("a tile");
                };
                Value::Tile(View { strides: row_major(&shape), shape, ..view })
            }
            "tile_extract" => {
                return self.each(mask, |lane| {
                    let index: Vec<i128> = args.plain[1..].iter().map(|i| i[lane].int()).collect::<Result<_>>()?;
                    let view = args.plain[0][lane].view()?;
                    self.load(view, true, view.place(&index)?, lane)
                });
            }
            "tile_map" => self.mapped(args, lane, mask)?,
            "tile_matmul" => product(one(0, "a")?.view()?, one(1, "b")?.view()?, args.plain.get(2).map(|c| &c[lane]))?,
            "tile_load" => {
                let (array, shape) = (one(0, "a")?, one(1, "shape")?.extents()?);
                moved(array.view()?, &shape, &offset(args, 2, lane)?, |array, at| match at {
                    Some(at) => Ok(array.memory.borrow().elements[at].clone()),
                    None => Ok(array.element.zero()),
                })
                .and_then(|elements| tile(shape.clone(), elements))?
            }
            "tile_store" | "tile_atomic_add" => {
                let (array, from) = (one(0, "a")?, one(1, "t")?);
                let mut elements = from.view()?.elements().into_iter();
                let add = name == "tile_atomic_add";
                moved(array.view()?, &from.view()?.shape, &offset(args, 2, lane)?, |array, at| {
                    let value = elements.next().unwrap_or(Value::Unset);
                    if let Some(at) = at {
                        let mut memory = array.memory.borrow_mut();
                        let new = if add { operate("+", &memory.elements[at], &value)? } else { value };
                        memory.elements[at] = new;
                    }
                    Ok(Value::Unset)
                })?;
                Value::Unset
            }
            "tile_scatter_add" | "tile_scatter_masked" => {
                self.scatter(name == "tile_scatter_add", args, mask)?;
                Value::Unset
            }
            "ballot" | "match" => {
                let values = args.plain.first().map_or(&[][..], |values| values);
                return self.each(mask, |lane| {
                    let mut bits = 0u32;
                    for (n, other) in
                        (lane / WARP * WARP..).take(WARP).enumerate().filter(|(_, t)| mask >> t & 1 == 1 && *t < 64)
                    {
                        let counts = match name {
                            "ballot" => values[other].is_true()?,
                            _ => values[other].int()? == values[lane].int()?,
                        };
                        bits |= u32::from(counts) << n;
                    }
                    Ok(Value::Number(Number::int(U32, bits.into())))
                });
            }
            _ if name.starts_with("shuffle") => return self.shuffled(name, args, mask),
            _ => return fault(format!("there is no `{name}`")),
        };
        Ok(self.all(made))
    }

    fn shuffled(&self, name: &str, args: &Arguments, mask: Mask) -> Result<Lanes> {
        let (Some(values), Some(by)) = (args.plain.first(), args.plain.get(1)) else { return fault("a shuffle") };
        self.each(mask, |lane| {
            let (own, by) = ((lane % WARP) as i128, by[lane].int()?);
            let other = match name {
                "shuffle" => by.rem_euclid(WARP as i128),
                "shuffle_up" => own - by,
                "shuffle_down" => own + by,
                _ => own ^ by,
            };
            let there = (lane - lane % WARP) as i128 + other;
            let exists = (0..WARP as i128).contains(&other) && there < 64 && mask >> there & 1 == 1;
            Ok(values[if exists { there as usize } else { lane }].clone())
        })
    }

    fn tile_of_threads(&self, args: &Arguments, mask: Mask) -> Result<Value> {
        let Some(values) = args.plain.first() else { return fault("a value") };
        let first = &values[threads(mask).next().unwrap_or_default()];
        let whole = match args.get(1, "preserve_type") {
            Some(whole) => whole[0].is_true()?,
            None => false,
        };
        // An element for each thread there is: the last block may have fewer.
        let all: Vec<Value> = threads(mask).map(|lane| values[lane].clone()).collect();
        let size = all.len();
        match first {
            Value::Composite(composite) if !whole => {
                let mut shape = match composite.form {
                    Form::Matrix(r, c) => vec![r, c],
                    form => vec![form.len()],
                };
                let part = |n: usize, value: &Value| match value {
                    Value::Composite(c) => Ok(Value::Number(c.numbers[n])),
                    other => fault(format!("a composite, not {other:?}")),
                };
                let elements = (0..composite.numbers.len()).flat_map(|n| all.iter().map(move |v| part(n, v)));
                let elements = elements.collect::<Result<_>>()?;
                shape.push(size);
                tile(shape, elements)
            }
            Value::Unset => fault("a tile of what was not assigned"),
            _ => tile(vec![size], all),
        }
    }

    fn untile(&self, view: &View, mask: Mask) -> Result<Lanes> {
        let elements = view.elements();
        let size = threads(mask).count();
        self.each(mask, |lane| match view.shape[..] {
            [n] if n == size => Ok(elements[lane].clone()),
            [n, threads] if threads == size => {
                let numbers = (0..n).map(|k| elements[k * size + lane].number()).collect::<Result<_>>()?;
                Ok(Value::Composite(Composite { form: Form::Vector(n), numbers }))
            }
            _ => Err(Stop::Meaningless("a tile without an element for each thread".to_string())),
        })
    }

    /// One thread after the other.
    fn scatter(&self, adds: bool, args: &Arguments, mask: Mask) -> Result<()> {
        let rank = args.one(0, "a", threads(mask).next().unwrap_or_default())?.view()?.shape.len();
        for lane in threads(mask) {
            if !args.one(rank + 2, "has_value", lane)?.is_true()? {
                continue;
            }
            let view = args.one(0, "a", lane)?.view()?;
            let index: Vec<i128> = (1..=rank).map(|n| args.one(n, "", lane)?.int()).collect::<Result<_>>()?;
            let (at, value) = (view.place(&index)?, args.one(rank + 1, "value", lane)?.clone());
            if adds {
                self.update(view, true, at, lane, |old| operate("+", old, &value))?;
            } else {
                self.store(view, true, at, lane, value)?;
            }
        }
        Ok(())
    }

    /// The function once for each element.
    fn mapped(&mut self, args: &Arguments, lane: usize, mask: Mask) -> Result<Value> {
        let tiles: Vec<Value> = args.plain[1..].iter().map(|values| values[lane].clone()).collect();
        let Some(Value::Tile(first)) = tiles.first() else { return fault("a tile") };
        let count = first.shape.iter().product();
        let mut elements = Vec::new();
        for n in 0..count {
            let plain = tiles.iter().map(|tile| match tile {
                Value::Tile(view) => self.all(view.elements()[n].clone()),
                other => self.all(other.clone()),
            });
            let call = Arguments { plain: plain.collect(), named: Vec::new() };
            elements.push(self.apply(&args.plain[0][lane].clone(), &call, mask)?.swap_remove(lane));
        }
        tile(first.shape.clone(), elements)
    }
}

fn offset(args: &Arguments, position: usize, lane: usize) -> Result<Vec<i128>> {
    match args.get(position, "offset") {
        None => Ok(vec![0; 4]),
        Some(values) => match &values[lane] {
            Value::Tuple(items) => items.iter().map(Value::int).collect(),
            other => Ok(vec![other.int()?]),
        },
    }
}

/// Goes through the elements of a part of an array, those outside of it too.
fn moved(
    array: &View,
    shape: &[usize],
    offset: &[i128],
    mut what: impl FnMut(&View, Option<usize>) -> Result<Value>,
) -> Result<Vec<Value>> {
    let mut found = Vec::new();
    for n in 0..shape.iter().product::<usize>() {
        let mut rest = n;
        let mut index = vec![0; shape.len()];
        for dim in (0..shape.len()).rev() {
            index[dim] = (rest % shape[dim]) as i128 + offset[dim];
            rest /= shape[dim];
        }
        let inside = index.iter().zip(&array.shape).all(|(&i, &extent)| i >= 0 && i < extent as i128);
        found.push(what(array, if inside { Some(array.place(&index)?) } else { None })?);
    }
    Ok(found)
}

fn folded(name: &str, view: &View, axis: Option<i128>) -> Result<Value> {
    let fold = |values: &[Value]| {
        let mut values = values.iter();
        let first = values.next().cloned().unwrap_or(Value::Unset);
        values.try_fold(first, |sum, value| match name {
            "tile_sum" => operate("+", &sum, value),
            "tile_min" => builtins::pure("min", &[sum, value.clone()]),
            _ => builtins::pure("max", &[sum, value.clone()]),
        })
    };
    let Some(axis) = axis.map(|axis| axis as usize) else {
        return tile(vec![1], vec![fold(&view.elements())?]);
    };
    let mut rest = view.clone();
    let (extent, stride) = (rest.shape.remove(axis), rest.strides.remove(axis));
    let lines = rest.places().into_iter().map(|at| {
        let line = View { offset: at, shape: vec![extent], strides: vec![stride], ..view.clone() };
        fold(&line.elements())
    });
    let elements = lines.collect::<Result<_>>()?;
    tile(if rest.shape.is_empty() { vec![1] } else { rest.shape }, elements)
}

fn scanned(inclusive: bool, view: &View) -> Result<Value> {
    let mut sum = view.element.zero();
    let mut elements = Vec::new();
    for value in view.elements() {
        let next = operate("+", &sum, &value)?;
        elements.push(if inclusive { next.clone() } else { sum });
        sum = next;
    }
    tile(view.shape.clone(), elements)
}

/// `a b`, or added to a third tile in place.
fn product(a: &View, b: &View, to: Option<&Value>) -> Result<Value> {
    let (&[m, k], &[_, n]) = (&a.shape[..], &b.shape[..]) else { return fault("matrices") };
    let (left, right) = (a.elements(), b.elements());
    let mut elements = match to {
        Some(to) => to.view()?.elements(),
        None => vec![a.element.zero(); m * n],
    };
    for (at, sum) in elements.iter_mut().enumerate() {
        for inner in 0..k {
            let term = operate("*", &left[at / n * k + inner], &right[inner * n + at % n])?;
            *sum = operate("+", sum, &term)?;
        }
    }
    match to {
        Some(to) => {
            to.view()?.set_elements(&elements);
            Ok(Value::Unset)
        }
        None => tile(vec![m, n], elements),
    }
}
