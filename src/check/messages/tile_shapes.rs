//! Findings about the shapes, axes and indices of tiles.

use crate::diag::{Code, Diagnostic, counted};
use crate::limits::MAX_LOCAL_ELEMENTS;
use crate::source::Span;

/// A tile has no dimension, or more than 4.
pub(in crate::check) fn rank(given: usize, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0319, "a tile has 1 to 4 dimensions").label(at, format!("{given} given"))
}

/// A dimension of a tile has no elements.
pub(in crate::check) fn empty_dimension(extent: i128, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0319, "each dimension of a tile has at least one element")
        .label(at, format!("a dimension of {extent}"))
}

/// A tile has too many elements.
pub(in crate::check) fn too_large(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0319, "this tile is too large").label(at, format!("more than {MAX_LOCAL_ELEMENTS} elements"))
}

/// The offset of a tile has another number of dimensions than the array.
pub(in crate::check) fn offset(given: usize, rank: usize, at: Span) -> Diagnostic {
    Diagnostic::new(
        Code::E0319,
        format!("the offset has {} for {}", counted(given, "number"), counted(rank, "dimension")),
    )
    .label(at, "one for each dimension")
}

/// A tile operation gets several axes, or none.
pub(in crate::check) fn one_axis(given: usize, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0319, "one axis is needed").label(at, format!("{given} given"))
}

/// A tile does not have this axis.
pub(in crate::check) fn no_axis(axis: i128, rank: usize, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0319, format!("axis {axis} of a tile of {}", counted(rank, "dimension")))
        .label(at, "there is none")
}

/// The shapes of two tiles do not fit.
pub(in crate::check) fn do_not_fit(left: &str, right: &str) -> Diagnostic {
    Diagnostic::new(Code::E0319, format!("the shapes {left} and {right} do not fit"))
}

/// The tile of `tile_arange` has no elements.
pub(in crate::check) fn empty_arange(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0319, "this tile has no elements").label(at, "the stop comes before the start")
}

/// A Fourier transform is called for a tile of one dimension.
pub(in crate::check) fn lines_of_transform(name: &str, shape: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0319, format!("`{name}` takes two dimensions or more, not {shape}"))
        .label(at, "give it a first dimension of 1")
}

/// The factors of a product of matrices do not fit.
pub(in crate::check) fn product(a: &str, b: &str, columns: u32, rows: u32, left: Span, right: Span) -> Diagnostic {
    Diagnostic::new(Code::E0319, format!("the product of {a} and {b} is not defined"))
        .label(left, format!("{columns} columns"))
        .label(right, format!("{rows} rows"))
}

/// A product of matrices is added to a tile of another shape.
pub(in crate::check) fn product_into(rows: u32, columns: u32, shape: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0319, format!("a product of shape ({rows}, {columns}) does not fit {shape}"))
        .label(at, "another shape")
}

/// A tile has another number of dimensions than the array.
pub(in crate::check) fn does_not_fit_array(rank: usize, array: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0319, format!("a tile of {} does not fit `{array}`", counted(rank, "dimension")))
        .label(at, "array and tile have equally many dimensions")
        .help("fix dimensions of the array by indices, `a[i]`, or give the tile dimensions of 1")
}

/// The indices of a load are no tile of `int32` of one dimension.
pub(in crate::check) fn indices_of_load(ty: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0319, "the indices are a tile of `int32` of one dimension")
        .label(at, format!("this is `{ty}`"))
}

/// The indices of a load are not as many as the tile's elements along the axis.
pub(in crate::check) fn number_of_indices(given: usize, extent: usize, axis: usize, at: Span) -> Diagnostic {
    Diagnostic::new(
        Code::E0319,
        format!("{} for {} along axis {axis}", counted(given, "index"), counted(extent, "element")),
    )
    .label(at, "one for each")
}

/// There are more indices than the tile has dimensions.
pub(in crate::check) fn too_many_indices(given: usize, rank: usize, tile: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0305, format!("{} for a tile of {}", counted(given, "index"), counted(rank, "dimension")))
        .label(at, format!("the tile is `{tile}`"))
}

/// A slice of a tile has no elements.
pub(in crate::check) fn empty_view(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0319, "this view has no elements").label(at, "an empty slice")
}

/// A view has a shape and slices.
pub(in crate::check) fn shape_beside_slice(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0319, "`shape` stands beside a slice, which says how many elements there are")
        .label(at, "leave it away")
}

/// A view has an index for each dimension of the tile.
pub(in crate::check) fn view_of_element(given: usize, rank: usize, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0319, format!("{given} of {} leave nothing of the tile", counted(rank, "index")))
        .label(at, "`wp.tile_extract` gives an element")
}

/// A view has another number of dimensions than its shape.
pub(in crate::check) fn rank_of_view(given: usize, rank: usize, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0319, format!("a view of {} of a tile of {rank}", counted(given, "dimension")))
        .label(at, "equally many are needed")
}

/// A part of a tile at constant offsets is not inside the tile.
pub(in crate::check) fn part_leaves_tile(axis: usize, part: u32, whole: u32, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0319, format!("the part leaves the tile along axis {axis}"))
        .label(at, format!("{part} of {whole} elements from here"))
}

/// An axis is left away that has several elements.
pub(in crate::check) fn squeezed(axis: i128, shape: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0319, format!("axis {axis} of {shape} is not 1")).label(at, "only dimensions of 1 can go")
}

/// A tile is reshaped to another number of elements.
pub(in crate::check) fn reshaped(tile: &str, total: i128, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0319, format!("{tile} has {total} elements, which do not fill this shape"))
        .label(at, "another number of elements")
}

/// A tile is broadcast to a shape that it does not fit.
pub(in crate::check) fn broadcast(tile: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0319, format!("{tile} cannot be repeated to this shape"))
        .label(at, "a dimension of more than 1 stays as it is")
}

/// A part of a tile has another number of dimensions than the tile.
pub(in crate::check) fn assigned_part(part: &str, tile: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0319, format!("a part of shape {part} in a tile of shape {tile}"))
        .label(at, "equally many dimensions are needed")
}

/// Beside a tile of indices there is an index that is no whole dimension.
pub(in crate::check) fn other_dimensions(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0319, "beside a tile of indices the other dimensions are whole")
        .label(at, "write `:` for them")
}

/// The indices of a tile are no tile of integers of one dimension.
pub(in crate::check) fn indices(ty: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0319, "the indices are a tile of integers of one dimension")
        .label(at, format!("this is `{ty}`"))
}

/// `tile_extract` is called with fewer indices than dimensions.
pub(in crate::check) fn too_few_indices(given: usize, rank: usize, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0319, format!("{} for a tile of {}", counted(given, "index"), counted(rank, "dimension")))
        .label(at, "one for each dimension")
}

/// `tile_extract` is called with an index for an element that has no parts.
pub(in crate::check) fn index_of_element(ty: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0304, format!("`{ty}` cannot be indexed")).label(at, "one index too many")
}

/// `tile_extract` is called with an index outside the components of an element.
pub(in crate::check) fn outside_element(index: i128, count: i128, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0306, format!("index {index} is outside {count} components")).label(at, "out of range")
}

/// `tile_sort` is called for a tile of several dimensions.
pub(in crate::check) fn sorted(shape: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0319, format!("`tile_sort` takes one dimension, not {shape}"))
        .label(at, "reshape it: `wp.tile_reshape(t, shape=-1)`")
}

/// A solver is called for a matrix that is not square.
pub(in crate::check) fn not_square(name: &str, shape: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0319, format!("`{name}` takes a square matrix, not {shape}"))
        .label(at, "as many columns as rows")
}

/// The right side of equations has another number of rows.
pub(in crate::check) fn right_side(shape: &str, equations: u32, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0319, format!("a right side of shape {shape} for {equations} equations"))
        .label(at, format!("{equations} rows are needed"))
}

/// A vector is no diagonal of a matrix.
pub(in crate::check) fn diagonal(vector: &str, matrix: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0319, format!("`{vector}` is no diagonal of `{matrix}`"))
        .label(at, "one number for each row of a square matrix")
}

/// An operation on matrices is called for a tile of another number of dimensions.
pub(in crate::check) fn not_a_matrix(name: &str, shape: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0319, format!("`{name}` takes two dimensions, not {shape}")).label(at, "not a matrix")
}

/// The last dimension of the tile of `untile` is not `block_dim`.
pub(in crate::check) fn untiled(threads: u32, last: u32, shape: &str, at: Span) -> Diagnostic {
    let message = format!("`untile` takes a tile whose last dimension is `block_dim`, {threads}, not {shape}");
    Diagnostic::new(Code::E0319, message).label(at, format!("the last dimension is {last}"))
}
