//! What do operations on tiles mean?
//!
//! A tile is an array of fixed shape that belongs to a block of threads. To a kernel the block is
//! one thing that computes: all its threads have the same values in their variables, and a tile
//! operation is done once, by all of them together.
//!
//! A tile expression is a function from an index to an element ([`Elements`]):
//! `a * b + tile_load(x, ...)` computes each element from those of `a`, `b` and `x` and is kept
//! nowhere in between. What needs an expression more than once, or elsewhere, gets it in a variable
//! ([`Body::kept`]). Loops over the elements are made here, in the typed tree; nothing after the
//! checker knows operations on tiles.
//!
//! A variable is an array of the block, and assigning it sets the elements. Where the array is, so
//! that those of a loop are new in each iteration, is decided when all of the function is known
//! ([`homes`]).
//!
//! A product is a chain of fused multiply-adds over the inner index, upward; scans go through the
//! elements upward, in row-major order; `fold` says in which order sums do.
//!
//! | file | question |
//! |---|---|
//! | `arguments` | which shapes, offsets and types were given? |
//! | `elements` | what are the elements of an expression, and which loops compute them? |
//! | `filled` | tiles made of nothing but numbers |
//! | `memory` | tiles from arrays and to arrays |
//! | `map` | functions and operators, element by element |
//! | `shape` | views: the same elements under other indices; parts |
//! | `part` | parts of views that are no plain parts of a variable |
//! | `pass` | what does a function get of a view? |
//! | `fold` | in which order does one value come of many elements? |
//! | `reduce` | sums, extrema, scans |
//! | `matmul` | products of matrices |
//! | `solve` | sorting, factors, systems of equations |
//! | `fourier` | Fourier transforms |
//! | `random` | random numbers |
//! | `print` | how is a tile written for people? |
//! | `queries` | walks through trees by the threads of a block together |
//! | `lanes` | what threads of a block have each for themselves |
//! | `warp` | what threads of a warp tell each other |
//! | `stack` | stacks of a block |
//! | `assign` | variables of tiles |
//! | `number_for_tile` | what is said where a number represents a tile, or a tile for a number |
//! | `homes` | where the arrays of variables stand |

mod arguments;
mod assign;
pub(in crate::check) mod elements;
mod filled;
mod fold;
mod fourier;
pub(super) mod homes;
mod last_block;
mod map;
mod matmul;
mod memory;
mod number_for_tile;
mod part;
mod pass;
mod print;
mod queries;
mod random;
mod reduce;
mod shape;
mod solve;
mod stack;
mod threads;
mod warp;

use super::calls::call::Given;
use crate::check::body::Body;
use crate::check::types::value::{Operand, Res};
use crate::source::Span;

pub(crate) use elements::tile_type;
use map::Scalars;
pub use matmul::precision_kept;
use reduce::{Extremum, Scan};
use solve::{System, Triangle};
use warp::Shuffle;

/// Whether an argument says where something is kept.
fn is_storage(given: &Given) -> bool {
    given.keyword() == Some("storage")
}

impl Body<'_, '_> {
    /// A call of a built-in on tiles; None for every other name.
    pub fn tile_builtin(&mut self, name: &str, given: &[Given], span: Span) -> Option<Res<Operand>> {
        let before = self.statement.pending.len();
        let tiles = name.starts_with("tile_") || name.ends_with("_next_tiled");
        let together = tiles && !threads::BY_THREAD.contains(&name);
        if together {
            self.together(true, span);
        }
        let result = self.tile_operation(name, given, span);
        match result {
            None => self.statement.pending.truncate(before),
            Some(_) if together => self.together(false, span),
            Some(_) => {}
        }
        result
    }

    fn tile_operation(&mut self, name: &str, given: &[Given], span: Span) -> Option<Res<Operand>> {
        Some(match name {
            "tile_zeros" | "tile_empty" => self.tile_constant(name, None, given, span),
            // An array of the block, as CUDA's kernels have.
            "zeros" if given.iter().any(is_storage) => self.shared_array(given, span),
            "tile_ones" => self.tile_constant(name, Some(1), given, span),
            "tile_full" => self.tile_full(given, span),
            "tile_arange" => self.tile_arange(given, span),
            "tile_load" => self.tile_load(given, span),
            "tile_load_indexed" => self.tile_load_indexed(given, span),
            "tile_store" => self.tile_store(given, span),
            "tile_store_indexed" => self.tile_store_indexed(given, span),
            "tile_atomic_add" => self.tile_atomic_add(given, span),
            "tile_atomic_add_indexed" => self.tile_atomic_add_indexed(given, span),
            "tile_map" => self.tile_map(given, span),
            "tile_astype" => self.tile_astype(given, span),
            "tile_axpy" => self.tile_axpy(given, span),
            "tile_view" => self.tile_view(given, span),
            "tile_squeeze" => self.tile_squeeze(given, span),
            "tile_reshape" => self.tile_reshape(given, span),
            "tile_transpose" => self.tile_transpose(given, span),
            "tile_broadcast" => self.tile_broadcast(given, span),
            "tile_assign" => self.tile_assign(given, span),
            "tile_extract" => self.tile_extract(given, span),
            "tile_sum" => self.tile_sum(given, span),
            "tile_dot" => self.tile_dot(given, span),
            "tile_reduce" => self.tile_reduce(given, span),
            "tile_min" => self.tile_extremum(Extremum::Min, given, span),
            "tile_max" => self.tile_extremum(Extremum::Max, given, span),
            "tile_argmin" => self.tile_arg(Extremum::Min, given, span),
            "tile_argmax" => self.tile_arg(Extremum::Max, given, span),
            "tile_scan_inclusive" => self.tile_scan(name, Scan::Sum { exclusive: false }, given, span),
            "tile_scan_exclusive" => self.tile_scan(name, Scan::Sum { exclusive: true }, given, span),
            "tile_scan_min_inclusive" => self.tile_scan(name, Scan::Extremum(Extremum::Min), given, span),
            "tile_scan_max_inclusive" => self.tile_scan(name, Scan::Extremum(Extremum::Max), given, span),
            "tile_matmul" => self.tile_matmul(given, span),
            "tile_sort" => self.tile_sort(given, span),
            "tile_cholesky" => self.tile_cholesky(false, given, span),
            "tile_cholesky_inplace" => self.tile_cholesky(true, given, span),
            "tile_lower_solve" => self.tile_solve(System::Triangle(Triangle::Lower), false, given, span),
            "tile_lower_solve_inplace" => self.tile_solve(System::Triangle(Triangle::Lower), true, given, span),
            "tile_upper_solve" => self.tile_solve(System::Triangle(Triangle::Upper), false, given, span),
            "tile_upper_solve_inplace" => self.tile_solve(System::Triangle(Triangle::Upper), true, given, span),
            "tile_cholesky_solve" => self.tile_solve(System::Cholesky, false, given, span),
            "tile_cholesky_solve_inplace" => self.tile_solve(System::Cholesky, true, given, span),
            "tile_fft" => self.tile_fft(false, given, span),
            "tile_ifft" => self.tile_fft(true, given, span),
            "tile_randi" => self.tile_random(false, given, span),
            "tile_randf" => self.tile_random(true, given, span),
            "tile" => self.tile_of_threads(given, span),
            "untile" => self.untile(given, span),
            "tile_from_thread" => self.tile_from_thread(given, span),
            "tile_scatter_add" => self.tile_scatter(true, given, span),
            "tile_scatter_masked" => self.tile_scatter(false, given, span),
            "tile_stack" => self.tile_stack(given, span),
            "tile_stack_push" => self.tile_stack_push(given, span),
            "tile_stack_pop" => self.tile_stack_pop(given, span),
            "tile_stack_clear" => self.tile_stack_clear(given, span),
            "tile_stack_count" => self.tile_stack_count(given, span),
            "tile_bvh_query_next" => self.tile_query_next("tile_bvh_query_next", "_tile_bvh_query_next", given, span),
            "bvh_query_next_tiled" => self.tile_query_next("bvh_query_next_tiled", "_tile_bvh_query_next", given, span),
            "tile_mesh_query_aabb_next" => {
                self.tile_query_next("tile_mesh_query_aabb_next", "_tile_mesh_query_aabb_next", given, span)
            }
            "mesh_query_aabb_next_tiled" => {
                self.tile_query_next("mesh_query_aabb_next_tiled", "_tile_mesh_query_aabb_next", given, span)
            }
            "tile_diag_add" => self.tile_diag_add(given, span),
            "lane" => self.thread_in_block_number(given, span),
            "sync" => self.sync(given, span),
            "shuffle" => self.shuffle(Shuffle::From, given, span),
            "shuffle_up" => self.shuffle(Shuffle::Up, given, span),
            "shuffle_down" => self.shuffle(Shuffle::Down, given, span),
            "shuffle_xor" => self.shuffle(Shuffle::Xor, given, span),
            "ballot" => self.ballot(given, span),
            "match" => self.match_value(given, span),
            // Outside tiles these are functions and operators of their own.
            "neg" | "add" | "sub" | "mul" | "div" | "where" if given.iter().any(|g| self.is_tile(&g.operand)) => {
                self.tile_function(Scalars::of(name), given, span)
            }
            _ => return None,
        })
    }
}
