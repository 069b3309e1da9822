//! What does the handle of a texture point to, and who owns it? Texels in a regular grid of up to
//! three dimensions, and how they are sampled: what `wp.Texture1D` and its kin are.
//!
//! - [`form`]: which forms of textures are there?
//! - [`levels`]: what are the texels of lower levels of detail?

pub mod form;
pub mod levels;

use std::mem::offset_of;

use super::device::{Engine, Kind, Piece, Pieces};
use super::error::{EngineError, TextureError};
use super::layout::TextureHeader;
use super::memory::{Block, Source, address_of, address_of_value, bytes_of, bytes_of_slice, bytes_of_slice_mut};
use super::registry::{Range, Registration, ranges_of};
use crate::abi::ArrayDescriptor;
use form::Form;

/// A texture. Its handle is the address of a [`TextureHeader`].
#[derive(Debug)]
pub struct Texture {
    registration: Registration,
    header: Box<TextureHeader>,
    form: Form,
    texels: Texels,
}

#[derive(Debug)]
enum Texels {
    /// All levels, one after the other.
    Owned(Vec<Block>),
    /// One level of float32, whose gradients kernels may write.
    Lent(Source<f32>),
}

/// A texture as kernels see it with other texels of the same form: for one launch.
pub struct TextureView {
    registration: Registration,
    header: Box<TextureHeader>,
}

impl Texture {
    /// A texture of a copy of texels: row after row, the channels of a texel together. Lower levels
    /// of detail are computed. Of no bytes at all, its texels are 0.
    pub fn new(form: Form, texels: &[u8]) -> Result<Texture, EngineError> {
        let levels = form.check()?;
        let total = levels.iter().try_fold(0usize, |sum, level| sum.checked_add(form.bytes_of(*level)?));
        let total = total.ok_or(TextureError::TooLarge { bytes: u128::MAX })?;
        let first = form.bytes_of(form.size()).unwrap_or(usize::MAX);
        if !texels.is_empty() && texels.len() != first {
            return Err(TextureError::Bytes { needed: first, given: texels.len() }.into());
        }
        let mut blocks = Vec::new();
        let count = total.div_ceil(size_of::<Block>());
        blocks.try_reserve_exact(count).map_err(|_| TextureError::TooLarge { bytes: total as u128 })?;
        blocks.resize(count, Block::default());
        if !texels.is_empty() {
            let memory = &mut bytes_of_slice_mut(&mut blocks)[..total];
            memory[..first].copy_from_slice(texels);
            levels::fill(&form, &levels, memory);
        }
        Ok(Texture::of(form, Texels::Owned(blocks)))
    }

    /// A texture of the caller's array of numbers, of the extents of the form, the last axis first.
    /// It is read in place where it has one level of float32, and else copied.
    ///
    /// # Safety
    ///
    /// As [`Source::external`].
    pub unsafe fn of_array(form: Form, array: &ArrayDescriptor) -> Result<Texture, EngineError> {
        form.check()?;
        let mut step = form.numbers.size() as i64;
        for axis in (0..(array.ndim.max(0) as usize).min(array.shape.len())).rev() {
            if array.shape[axis] > 1 && i64::from(array.strides[axis]) != step {
                return Err(TextureError::Gaps.into());
            }
            step = step.saturating_mul(i64::from(array.shape[axis]));
        }
        let flat = |size: i64| {
            let extent =
                i32::try_from(step / size).map_err(|_| TextureError::TooLarge { bytes: step.unsigned_abs().into() })?;
            let mut flat = ArrayDescriptor { ndim: 1, ..*array };
            (flat.shape[0], flat.strides[0]) = (extent, size as i32);
            Ok::<_, EngineError>(flat)
        };
        if form.is_read_in_place() {
            // SAFETY: the caller's promise; the elements lie one after the other.
            return Texture::lent(form, unsafe { Source::external(&flat(4)?, "texels") }?);
        }
        // SAFETY: the same.
        let bytes: Source<u8> = unsafe { Source::external(&flat(1)?, "texels") }?;
        Texture::new(form, bytes.as_slice())
    }

    /// A texture with one level of float32 that reads numbers in place.
    pub fn lent(form: Form, texels: Source<f32>) -> Result<Texture, EngineError> {
        form.check()?;
        if !form.is_read_in_place() {
            return Err(TextureError::InPlace.into());
        }
        let needed = form.bytes_of(form.size()).unwrap_or(usize::MAX);
        if texels.bytes().len() != needed {
            return Err(TextureError::Bytes { needed, given: texels.bytes().len() }.into());
        }
        Ok(Texture::of(form, Texels::Lent(texels)))
    }

    fn of(form: Form, texels: Texels) -> Texture {
        let form = form.resolved();
        let (registration, header) = (Registration::default(), Box::new(form.header()));
        let mut texture = Texture { registration, header, form, texels };
        texture.publish();
        texture
    }

    pub fn form(&self) -> &Form {
        &self.form
    }

    /// The texels of the first level.
    pub fn first_level(&self) -> &[u8] {
        &self.all_levels()[..self.form.bytes_of(self.form.size()).unwrap_or(0)]
    }

    /// Other texels. On an error they are as they were.
    pub fn write(&mut self, texels: &[u8]) -> Result<(), EngineError> {
        if self.form.levels != 1 {
            return Err(TextureError::Fixed.into());
        }
        let needed = self.first_level().len();
        if texels.len() != needed {
            return Err(TextureError::Bytes { needed, given: texels.len() }.into());
        }
        match &mut self.texels {
            Texels::Owned(blocks) => bytes_of_slice_mut(blocks)[..needed].copy_from_slice(texels),
            Texels::Lent(source) => match source.owned_mut() {
                Some(numbers) => bytes_of_slice_mut(numbers).copy_from_slice(texels),
                None => return Err(TextureError::InPlace.into()),
            },
        }
        Ok(())
    }

    /// Says where the gradients of texels that are read in place are; 0: there are none.
    ///
    /// # Safety
    ///
    /// As [`Source::set_gradient`].
    pub unsafe fn set_gradients(&mut self, address: u64) {
        let changed = match &mut self.texels {
            // SAFETY: the caller's promise.
            Texels::Lent(source) => unsafe { source.set_gradient(address) },
            Texels::Owned(_) => false,
        };
        if changed {
            self.publish();
        }
    }

    /// The texture with other numbers of as many, which have gradients where the descriptor names
    /// them. A texture that owns its texels is seen as it is.
    ///
    /// # Safety
    ///
    /// The array and its gradients live as long as the view, and so does the texture.
    pub unsafe fn view(&self, texels: ArrayDescriptor) -> TextureView {
        let mut view = TextureView { registration: Registration::default(), header: Box::new(*self.header) };
        if let Texels::Lent(_) = self.texels {
            (view.header.data, view.header.grad) = (texels.data, texels.grad);
            view.header.levels[0] = texels.data;
        }
        let id = view.id();
        let mut ranges = vec![Range { piece: None, start: id, bytes: size_of::<TextureHeader>() as u64 }];
        let bytes = self.first_level().len() as u64;
        let places = [
            (offset_of!(TextureHeader, data), view.header.data),
            (offset_of!(TextureHeader, levels), view.header.data),
            (offset_of!(TextureHeader, grad), view.header.grad),
        ];
        let there = places.iter().filter(|(_, start)| *start != 0);
        ranges.extend(there.map(|&(slot, start)| Range { piece: Some(slot as u32), start, bytes }));
        view.registration.publish(id, Kind::Texture, ranges);
        view
    }

    /// A texture of the same texels, which stay as they are now.
    pub fn frozen(&self) -> Result<Texture, EngineError> {
        let texels = match &self.texels {
            Texels::Owned(blocks) => Texels::Owned(blocks.clone()),
            Texels::Lent(source) => Texels::Lent(Source::owned(source.as_slice().to_vec(), "texels")?),
        };
        Ok(Texture::of(self.form, texels))
    }

    fn all_levels(&self) -> &[u8] {
        match &self.texels {
            Texels::Owned(blocks) => bytes_of_slice(blocks),
            Texels::Lent(source) => source.bytes(),
        }
    }

    fn publish(&mut self) {
        let (data, grad) = match &self.texels {
            Texels::Owned(blocks) => (address_of(blocks), 0),
            Texels::Lent(source) => (source.address(), source.descriptor().grad),
        };
        (self.header.data, self.header.grad) = (data, grad);
        for level in 0..self.form.levels as usize {
            self.header.levels[level] = data + self.header.offsets[level];
        }
        let ranges = ranges_of(self);
        self.registration.publish(self.id(), Kind::Texture, ranges);
    }
}

impl TextureView {
    /// The handle.
    pub fn id(&self) -> u64 {
        address_of_value(&*self.header)
    }
}

impl Engine for Texture {
    fn id(&self) -> u64 {
        address_of_value(&*self.header)
    }

    fn kind(&self) -> Kind {
        Kind::Texture
    }

    fn header(&self) -> &[u8] {
        bytes_of(&*self.header)
    }

    fn pieces(&self) -> Vec<Piece<'_>> {
        let mut pieces = Pieces::default();
        let all = self.all_levels();
        pieces.read(offset_of!(TextureHeader, data), all);
        for level in 0..self.form.levels as usize {
            let from = self.header.offsets[level] as usize;
            pieces.read(offset_of!(TextureHeader, levels) + 8 * level, &all[from..]);
        }
        if let Texels::Lent(source) = &self.texels {
            pieces.gradient(offset_of!(TextureHeader, grad), source);
        }
        pieces.finish()
    }
}

#[cfg(test)]
mod tests;
