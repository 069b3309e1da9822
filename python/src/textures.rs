//! How does a texture of Python become an argument? As a struct of the kernel language, which holds
//! its id, its extents and how it is sampled.

use kc::engines::EngineError;
use kc::engines::error::TextureError;
use kc::engines::texture::form::{Address, Filter, Form, Numbers};
use kc::types::{ArrayType, Element, Scalar};
use pyo3::prelude::*;

use crate::engines::Engine;
use crate::error::{Fault, Refused};

/// Whether a struct of the kernel language is a texture.
pub fn is_texture(name: &str) -> bool {
    matches!(name, "Texture1D" | "Texture2D" | "Texture3D")
}

/// What the fields of a struct of the kernel language are read from where a texture of kc or Warp
/// is given for it. None: it is no texture.
pub fn fields_of<'py>(value: &Bound<'py, PyAny>, name: &str) -> Result<Option<Bound<'py, PyAny>>, Fault> {
    let py = value.py();
    let refuse = |class: &str| Refused::new("E1005", format!("expected a `{name}`, found a `{class}`"));
    if let Ok(engine) = value.cast::<Engine>() {
        return match engine.get().texture_class(py) {
            Some(class) if class != name => Err(refuse(&class).into()),
            Some(_) => Ok(Some(value.clone())),
            None => Ok(None),
        };
    }
    let class = value.get_type();
    let of_warp = is_texture(name) && class.module()?.to_string().starts_with("warp.");
    let Some(form) = value.getattr_opt("__ctype__")?.filter(|_| of_warp) else { return Ok(None) };
    if class.name()? != name {
        return Err(refuse(&class.name()?.to_string()).into());
    }
    if !value.getattr("device")?.getattr("is_cpu")?.extract::<bool>()? {
        let refused = Refused::new("E1005", "a texture of Warp in the memory of a GPU can only be read by Warp");
        return Err(refused.help(format!("make one with `kc.{name}`, of the same texels")).into());
    }
    Ok(Some(form.call0()?))
}

/// A form that there can be. `modes`: the filters of texels and of levels, then what is beside each
/// axis.
pub fn form(
    extents: &[i64],
    channels: i64,
    dtype: &str,
    modes: [i64; 5],
    normalized: bool,
    levels: i64,
) -> Result<Form, EngineError> {
    let numbers = Numbers::ALL.into_iter().find(|numbers| numbers.name() == dtype);
    let numbers = numbers.ok_or_else(|| TextureError::Numbers { name: dtype.to_string() })?;
    let mut form = Form { normalized, levels, ..Form::new(extents, channels, numbers) };
    (form.filter, form.level_filter) = (Filter::of_number(modes[0])?, Filter::of_number(modes[1])?);
    for (address, &mode) in form.address.iter_mut().zip(&modes[2..]) {
        *address = Address::of_number(mode)?;
    }
    form.check()?;
    Ok(form)
}

/// The type of an array of numbers.
pub fn array_of(texels: &Bound<'_, PyAny>, scalar: Scalar) -> PyResult<ArrayType> {
    let ndim: u8 = texels.getattr("ndim")?.extract()?;
    Ok(ArrayType { element: Element::Scalar(scalar), ndim })
}
